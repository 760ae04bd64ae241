/** The causes as a table: docs have it, and no code of a running indexer is forgotten. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ledgerCodes } from '../../../src/errors/ledger-codes.ts';
import { storeCodes } from '../../../src/errors/store-codes.ts';
import { streamCodes } from '../../../src/errors/stream-codes.ts';
import { root } from '../../docs/pages.ts';
import { allCauses } from './causes.ts';
import { elsewhere } from './elsewhere.ts';
import { causesMarkdown, tableIn } from './table.ts';

it('is in docs/runbook.md: npm run chaos -- --tier causes', () => {
  expect(tableIn(readFileSync(join(root, 'docs/runbook.md'), 'utf8'))).toBe(causesMarkdown(allCauses));
});

it('has each code of a running indexer, or says where it is provoked', () => {
  const provoked = new Set(allCauses.flatMap(({ soon, later }) => [soon.code, later?.code]));
  const codes = Object.keys({ ...ledgerCodes, ...storeCodes, ...streamCodes });
  const expected = codes.filter((code) => !provoked.has(code as never));
  expect(Object.keys(elsewhere).sort()).toEqual(expected.sort());
});

it('names tests that there are', () => {
  const named = Object.values(elsewhere).flatMap((text) => text.match(/^test\/[\w./-]+/)?.[0] ?? []);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(join(root, path.replace(/[:;]$/, ''))))).toEqual([]);
});
