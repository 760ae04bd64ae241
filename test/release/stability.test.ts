/** The stability page names existing interfaces and supported versions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../docs/pages.ts';
import type { InterfaceRecord } from './interface/surface.ts';

const readFile = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = readFile('docs/reference/stability.md');
const { engines, exports } = JSON.parse(readFile('package.json')) as {
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, object>>;
};

/** Cells of a table below a heading, without its head. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const section = page.split(`## ${heading}\n`)[1]?.split(/^## /m)[0] ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const covered = rowsBelow('Covered');
const coveredNames = covered.map(([name = '']) => name.replaceAll('`', ''));
const supported = new Map(rowsBelow('Supported versions').map(([name = '', versions = '']) => [name, versions]));

describe('stability page', () => {
  it('links each covered interface to a page of the documentation', () => {
    expect(covered.length).toBeGreaterThan(10);
    for (const [name, , reference = ''] of covered) expect(reference, name).toMatch(/^\[[^\]]+\]\([\w./#-]+\.md/);
  });

  it('covers every interface that is recorded, and every export of the npm package', () => {
    const { surfaces } = JSON.parse(readFile('test/release/public-interface.json')) as InterfaceRecord;
    const pageNames: Readonly<Record<string, string>> = {
      endpoints: 'HTTP',
      library: 'library: ledger-indexer, /read, /testing; output of codegen',
      'SQL of explore and pqs': 'SQL of explore, pqs and pqs_multisync',
      'SQL of typed': 'SQL of typed and derived',
      'SQL of derived': 'SQL of typed and derived',
    };
    const recordedNames = Object.keys(surfaces).map((title) => pageNames[title] ?? title);
    expect(recordedNames.length).toBeGreaterThan(8);
    expect(recordedNames.filter((name) => !coveredNames.includes(name))).toEqual([]);
    expect(Object.keys(exports)).toEqual(['.', './read', './testing']);
  });

  it('names the versions that the project requires and tests', () => {
    expect(supported.get('Node')).toBe(`${engines.node.replace('>=', '')} or newer`);
    const [, releases = ''] =
      /conformance suite covers \(([^)]+)\)/.exec(readFile('docs/reference/participant-releases.md')) ?? [];
    const minors = releases.split(', ').map((release) => release.replace(/\.\d+$/, ''));
    expect(minors.length).toBeGreaterThan(3);
    expect(supported.get('participant')).toMatch(new RegExp(`^${minors.at(0) ?? ''} to ${minors.at(-1) ?? ''};`));
    const [, oldest, newest] = /^(\d+) to (\d+);/.exec(supported.get('Postgres') ?? '') ?? [];
    expect(readFile('docs/how-to/run/tune-postgres.md')).toContain(`Postgres ${oldest ?? ''} or newer`);
    expect(readFile('scripts/postgres-matrix')).toContain(newest);
  });
});
