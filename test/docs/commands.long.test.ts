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
import { blocksOf, pathExists, pages, root, type Block } from './pages.ts';
import {
  commandsOf,
  otherCommandTests,
  withContext,
  skippedCommands,
  skipReasonFor,
  type ShellContext,
} from './shell.ts';

const blocks = pages().flatMap(blocksOf);
const isTestedElsewhere = ({ path }: Block): boolean =>
  [...otherCommandTests.keys()].some((page) => path.startsWith(page));
const shell = blocks.filter((block) => block.language === 'sh' && !isTestedElsewhere(block));

let sandbox: Sandbox;
let spareSandbox: Sandbox;
let startedIndexer: LedgerIndexer;
let shellContext: ShellContext;

beforeAll(async () => {
  assertBuilt();
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  spareSandbox = await startSandbox({ admin: true });
  for (const { ledger } of [sandbox, spareSandbox]) {
    generateHistory(ledger, { seed: 5, updates: 600, startAt: Date.now() - 3_000_000, gapMs: 1_000 });
  }
  const env = { LEDGER_INTERFACES: demoInterfaces.join(','), INDEXER_START: 'genesis' };
  startedIndexer = await startLedgerIndexer({ ledgerUrl: sandbox.url, env });
  await startedIndexer.waitFor(sandbox.ledger.ledgerEnd());
  shellContext = await placeFor(startedIndexer);
});
afterAll(async () => {
  await startedIndexer.stop();
  await Promise.all([sandbox.close(), spareSandbox.close()]);
  await rm(shellContext.folder, { recursive: true, force: true });
});

async function placeFor({ ledgerUrl, databaseUrl, httpUrl, query }: LedgerIndexer): Promise<ShellContext> {
  const folder = await mkdtemp(join(tmpdir(), 'documented-commands-'));
  const party = [...sandbox.parties.all()].find((partyId) => partyId.startsWith('alice::')) ?? '';
  const template = 'model-tests:Iou:Iou';
  const [contextRow] = await query<Pick<ShellContext, 'offset' | 'exercise' | 'archived'>>(`
    select "offset", "offset" || ':' || node_id as exercise, contract_id as archived
      from explore.exercises where consuming order by "offset" desc limit 1`);
  if (contextRow === undefined) throw new Error('the ledger has no exercises');
  await writeFiles(folder, party, template);
  return { ledgerUrl, spareUrl: spareSandbox.url, databaseUrl, httpUrl, folder, party, template, ...contextRow };
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
    writeFile(join(folder, 'customers.csv'), `party,label\n${party},Alice Ltd\n`),
    writeFile(join(folder, 'analyst.txt'), 'a password of an analyst\n'),
    writeFile(join(folder, 'wallet.txt'), 'a password of a wallet\n'),
    writeFile(join(folder, 'grafana.txt'), 'a password of Grafana\n'),
    writeFile(join(folder, 'pqs-url'), `${startedIndexer.databaseUrl}\n`),
    ...['migrator', 'writer', 'redactor', 'reader'].map((role) =>
      writeFile(join(folder, 'ledger', role), `a password of the ${role}\n`),
    ),
    writeFile(bin, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/main.js')}' "$@"\n`),
  ]);
  await chmod(bin, 0o755);
}

/** Runs the script in a shell, in the folder with the files. */
async function runInShell(script: string): Promise<void> {
  const { folder, ledgerUrl, databaseUrl, httpUrl } = shellContext;
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
    const commands = commandsOf(block).filter((command) => skipReasonFor(block.path, command) === undefined);
    return commands.length === 0 ? [] : [{ name: `${block.path}:${String(block.line)}`, commands }];
  });

  it.each(runnable)('succeed: $name', { timeout: 120_000 }, async ({ commands }) => {
    // Correct a failing command on its page, or list it in shell.ts with a reason.
    await runInShell(commands.map((command) => withContext(command, shellContext)).join('\n'));
  });

  it('exist on a page if shell.ts excludes them from the run', () => {
    const listedCommands = shell.flatMap((block) =>
      commandsOf(block).map((command) => skipReasonFor(block.path, command)),
    );
    expect(skippedCommands.filter((entry) => !listedCommands.includes(entry))).toEqual([]);
    for (const test of otherCommandTests.values()) expect(pathExists(test), test).toBe(true);
  });
});

describe('queries of the documentation', () => {
  const queries = blocks
    .filter((block) => block.language === 'sql' && !(block.path in otherTestByCommand) && !isTestedElsewhere(block))
    .map((block) => ({ ...block, name: `${block.path}:${String(block.line)}` }));

  it.each(queries)('succeed: $name', async ({ text }) => {
    // The bounds of a projection are parameters.
    await startedIndexer.query(text.replace(/:from\b/, '0').replace(/:to\b/, '100'));
  });
});

describe('TypeScript examples of the documentation', () => {
  const testMarker = '<!-- runs as a test -->';
  const examples = pages().flatMap((page) =>
    blocksOf(page).filter(({ language, line }) => {
      return language === 'ts' && page.text.split('\n')[line - 3] === testMarker;
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
      const { shown: shownText } = (await import(file)) as { shown: unknown };
      // The comment has the format that Node prints: keys without quotes.
      const json = expected.replaceAll(/(\w+):/g, '"$1":').replaceAll("'", '"');
      expect(shownText).toEqual(JSON.parse(json));
    } finally {
      await rm(file);
    }
  });
});

/** Pages whose queries another test runs, with that test. */
const otherTestByCommand: Readonly<Record<string, string>> = {
  ...Object.fromEntries(queryPages.map((page) => [page, 'test/read/sql-doc.slow.test.ts'])),
  'README.md': 'test/read/sql-doc.slow.test.ts',
};
