/**
 * Runs every command and query in a code block of the runbook against a running indexer. Each must succeed. If an
 * output block follows, the output must contain the names in it. Commands that change something are inline in the text,
 * so this test does not run them.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { catalogue } from '../../src/errors/catalogue.ts';
import { startDemoLedger, type DemoLedger } from '../../packages/ledger-sandbox/src/demo/demo-ledger.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';

const runbook = fileURLToPath(new URL('../../docs/runbook', import.meta.url));
const readPage = (page: string): string => readFileSync(join(runbook, page), 'utf8');
const text = readdirSync(runbook).sort().map(readPage).join('\n');
const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

interface Block {
  readonly heading: string;
  readonly language: string;
  readonly body: string;
  /** The next code block, if it contains expected output. */
  readonly expectedOutput: { readonly language: string; readonly body: string } | undefined;
}

function blocksOf(markdown: string): Block[] {
  const matches = [...markdown.matchAll(/^#{2,3} (.+)$|^```(\w+)\n([\s\S]*?)^```$/gm)];
  let heading = '';
  return matches.flatMap(([, title, language, body], index) => {
    if (title !== undefined) heading = title;
    if (language !== 'sh' && language !== 'sql') return [];
    const [, , nextLanguage = '', nextBody = ''] = matches[index + 1] ?? [];
    const expectedOutput = ['text', 'json'].includes(nextLanguage)
      ? { language: nextLanguage, body: nextBody }
      : undefined;
    return [{ heading, language, body: body ?? '', expectedOutput }];
  });
}

const blocks = blocksOf(text);
let [database, ledger, daemon]: [TestDatabase, DemoLedger, Daemon] = [] as never;
let [http, folder]: [string, string] = [] as never;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'runbook-'));
  writeFileSync(join(folder, 'ledger-indexer'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(join(folder, 'ledger-indexer'), 0o755);
  database = await createTestDatabase();
  ledger = await startDemoLedger({ seed: 1, updatesPerSecond: 20 });
  daemon = startDaemon({ ledgerUrl: ledger.url, databaseUrl: database.url, schema: 'ledger' });
  http = await daemon.http();
  await waitFor('the indexer is ready', async () => ((await fetch(`${http}/readyz`)).ok ? true : undefined));
});
afterAll(async () => {
  await daemon.kill();
  await ledger.close();
  await database.drop();
  rmSync(folder, { recursive: true });
});

async function shell(body: string): Promise<string> {
  const env = {
    PATH: `${folder}:${process.env['PATH'] ?? ''}`,
    LEDGER_URL: ledger.url,
    DATABASE_URL: database.url,
    INDEXER_HTTP_PORT: new URL(http).port,
  };
  const { stdout } = await promisify(execFile)('sh', ['-ec', body.replaceAll('http://127.0.0.1:7580', http)], { env });
  return stdout;
}

/**
 * Names that the output must contain: metrics, fields, keys of an object. Values are not compared, because they vary.
 */
function namesOf({ language, body }: { readonly language: string; readonly body: string }): string[] {
  if (language === 'json') return Object.keys(JSON.parse(body) as object).map((key) => `"${key}":`);
  return body
    .trim()
    .split('\n')
    .map((line) => /^\S*\{.*\}|^\S+/.exec(line)?.[0] ?? line);
}

describe('runbook', () => {
  it('contains more than 25 commands and queries', () => {
    expect(blocks.length).toBeGreaterThan(25);
  });

  it.each(blocks.filter(({ language }) => language === 'sh'))(
    'has a working command under $heading: $body',
    async ({ body, expectedOutput }) => {
      const output = await shell(body);
      expect(output).not.toBe('');
      for (const name of expectedOutput === undefined ? [] : namesOf(expectedOutput)) expect(output).toContain(name);
    },
  );

  it.each(blocks.filter(({ language }) => language === 'sql'))(
    'has a working query under $heading: $body',
    async ({ body }) => {
      await query(database.url, body);
    },
  );

  it('names only existing commands and flags', () => {
    const named = [...text.matchAll(/`ledger-indexer ([a-z-]+)([^`]*)`/g)];
    expect(named.length).toBeGreaterThan(20);
    for (const [match, verb = '', rest = ''] of named) {
      // The subcommands of `ledger` have flags of their own.
      if (verb === 'ledger') continue;
      const flags = [...rest.matchAll(/--([a-z-]+)/g)].map(([, flag]) => flag);
      const known = commands.find((command) => command.name === verb)?.flags.map(({ name }) => name);
      expect(known, match).toEqual(expect.arrayContaining(flags));
    }
  });

  it('names every error code that parks the indexer', () => {
    const codes = Object.entries(catalogue).flatMap(([code, { retry, retryLimit }]) =>
      retry === 'park' || retry === 'refresh-token' || retryLimit !== undefined ? [code] : [],
    );
    expect(codes.length).toBeGreaterThan(20);
    const table = readPage('codes.md');
    expect(codes.filter((code) => !table.includes(`\`${code}\``))).toEqual([]);
  });
});
