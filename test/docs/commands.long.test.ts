/**
 * Runs the commands and queries of README.md, CONTRIBUTING.md and docs, against a ledger with traffic and an indexed
 * database. Commands that this test does not run are listed with a reason. Needs the built program.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startLedgerIndexer, type LedgerIndexer } from '../../src/testing/ledger-indexer.ts';
import { assertBuilt } from '../e2e/runs/daemon.ts';
import { compiled, darOf } from '../../packages/ledger-sandbox/test/packages/dars.ts';
import { queryPages } from './documented.ts';
import { blocksOf, isThere, pages, root, type Block } from './pages.ts';
import { commandsOf, elsewhere, inPlace, notRun, reasonNotToRun, type ShellContext } from './shell.ts';

const blocks = pages().flatMap(blocksOf);
const isElsewhere = ({ path }: Block): boolean => [...elsewhere.keys()].some((page) => path.startsWith(page));
const shell = blocks.filter((block) => block.language === 'sh' && !isElsewhere(block));

let sandbox: Sandbox;
let spare: Sandbox;
let on: LedgerIndexer;
let place: ShellContext;

beforeAll(async () => {
  assertBuilt();
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  spare = await startSandbox({ admin: true });
  for (const { ledger } of [sandbox, spare]) {
    generateHistory(ledger, { seed: 5, updates: 600, startAt: Date.now() - 3_000_000, gapMs: 1_000 });
  }
  const env = { LEDGER_INTERFACES: demoInterfaces.join(','), INDEXER_START: 'genesis' };
  on = await startLedgerIndexer({ ledgerUrl: sandbox.url, env });
  await on.waitFor(sandbox.ledger.ledgerEnd());
  place = await placeFor(on);
});
afterAll(async () => {
  await on.stop();
  await Promise.all([sandbox.close(), spare.close()]);
  await rm(place.folder, { recursive: true, force: true });
});

async function placeFor({ ledgerUrl, databaseUrl, httpUrl, query }: LedgerIndexer): Promise<ShellContext> {
  const folder = await mkdtemp(join(tmpdir(), 'documented-commands-'));
  const party = [...sandbox.parties.all()].find((known) => known.startsWith('alice::')) ?? '';
  const template = 'model-tests:Iou:Iou';
  const [found] = await query<Pick<ShellContext, 'offset' | 'exercise' | 'archived'>>(`
    select "offset", "offset" || ':' || node_id as exercise, contract_id as archived
      from explore.exercises where consuming order by "offset" desc limit 1`);
  if (found === undefined) throw new Error('the ledger has no exercises');
  await writeFiles(folder, party, template);
  return { ledgerUrl, spareUrl: spare.url, databaseUrl, httpUrl, folder, party, template, ...found };
}

/** Writes the files that the commands name, and adds the program to the path. */
async function writeFiles(folder: string, party: string, template: string): Promise<void> {
  const createArguments = { issuer: party, owner: party, currency: 'USD', amount: '1.0', observers: [] };
  const commands = [{ CreateCommand: { templateId: `#${template}`, createArguments } }];
  const submission = { userId: 'ops', commandId: 'documented', actAs: [party], commands };
  const { archive } = compiled({ name: 'iou', version: '1.0.0', templates: ['Iou'] });
  await mkdir(join(folder, 'ledger'));
  const bin = join(folder, 'ledger-indexer');
  await Promise.all([
    writeFile(join(folder, 'commands.json'), JSON.stringify(submission)),
    writeFile(join(folder, 'iou-1.0.0.dar'), darOf({ 'iou-1.0.0.dalf': archive })),
    writeFile(join(folder, 'analyst.txt'), 'a password of an analyst\n'),
    writeFile(join(folder, 'wallet.txt'), 'a password of a wallet\n'),
    writeFile(join(folder, 'grafana.txt'), 'a password of Grafana\n'),
    writeFile(join(folder, 'pqs-url'), `${on.databaseUrl}\n`),
    ...['migrator', 'writer', 'redactor', 'reader'].map((role) =>
      writeFile(join(folder, 'ledger', role), `a password of the ${role}\n`),
    ),
    writeFile(bin, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/main.js')}' "$@"\n`),
  ]);
  await chmod(bin, 0o755);
}

/** Runs the script in a shell, in the folder with the files. */
async function runInShell(script: string): Promise<void> {
  const { folder, ledgerUrl, databaseUrl, httpUrl } = place;
  const env = {
    PATH: [folder, process.env['PATH']].join(delimiter),
    HOME: folder,
    // Without this variable, some builds of bash assume a remote login and read the startup files of the user.
    SHLVL: '1',
    LEDGER_URL: ledgerUrl,
    DATABASE_URL: databaseUrl,
    INDEXER_HTTP_PORT: new URL(httpUrl).port,
    LEDGER_INTERFACES: demoInterfaces.join(','),
  };
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env, timeout: 110_000 });
}

describe('shell commands of the documentation', () => {
  const runnable = shell.flatMap((block) => {
    const commands = commandsOf(block).filter((command) => reasonNotToRun(block.path, command) === undefined);
    return commands.length === 0 ? [] : [{ name: `${block.path}:${String(block.line)}`, commands }];
  });

  it.each(runnable)('succeed: $name', { timeout: 120_000 }, async ({ commands }) => {
    // Correct a failing command on its page, or list it in shell.ts with a reason.
    await runInShell(commands.map((command) => inPlace(command, place)).join('\n'));
  });

  it('exist on a page if shell.ts excludes them from the run', () => {
    const listed = shell.flatMap((block) => commandsOf(block).map((command) => reasonNotToRun(block.path, command)));
    expect(notRun.filter((entry) => !listed.includes(entry))).toEqual([]);
    for (const test of elsewhere.values()) expect(isThere(test), test).toBe(true);
  });
});

describe('queries of the documentation', () => {
  const queries = blocks
    .filter((block) => block.language === 'sql' && !(block.path in testedElsewhere) && !isElsewhere(block))
    .map((block) => ({ ...block, name: `${block.path}:${String(block.line)}` }));

  it.each(queries)('succeed: $name', async ({ text }) => {
    await on.query(text);
  });
});

describe('TypeScript examples of the documentation', () => {
  const marked = '<!-- runs as a test -->';
  const examples = pages().flatMap((page) =>
    blocksOf(page).filter(({ language, line }) => {
      return language === 'ts' && page.text.split('\n')[line - 3] === marked;
    }),
  );

  it('exist on at least one page', () => {
    expect(examples).not.toHaveLength(0);
  });

  it.each(examples)('return the documented rows: $path:$line', async ({ path, line, text }) => {
    const [, expected = ''] = /^\/\/ (.+)$/m.exec(text) ?? [];
    const file = join(import.meta.dirname, `zz-example-${path.replaceAll(/\W/g, '-')}-${String(line)}.ts`);
    const module = text.replaceAll("'ledger-indexer/testing'", "'../../src/testing/ledger-indexer.ts'");
    await writeFile(file, `${module}\nexport const shown = rows;\n`);
    try {
      const { shown } = (await import(file)) as { shown: unknown };
      // The comment has the format that Node prints: keys without quotes.
      const json = expected.replaceAll(/(\w+):/g, '"$1":').replaceAll("'", '"');
      expect(shown).toEqual(JSON.parse(json));
    } finally {
      await rm(file);
    }
  });
});

/** Pages whose queries another test runs, with that test. */
const testedElsewhere: Readonly<Record<string, string>> = {
  ...Object.fromEntries(queryPages.map((page) => [page, 'test/read/sql-doc.slow.test.ts'])),
  'README.md': 'test/read/sql-doc.slow.test.ts',
};
