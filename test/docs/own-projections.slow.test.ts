/**
 * Runs docs/how-to/query/own-projections.md as a user does: its commands in a shell, against an indexer process, and
 * compares their output with the output on the page. The SQL is that of the page.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { turnJitOff } from '../projections/projected.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { blocksOf, pages, root, type Block } from './pages.ts';

const page = 'docs/how-to/query/own-projections.md';
const blocks = pages()
  .filter(({ path }) => path === page)
  .flatMap(blocksOf);
const role = `reports_${randomBytes(4).toString('hex')}`;

/** A block of commands, and the output that the page states for it. */
interface Step {
  readonly commands: Block;
  readonly output: string | undefined;
}

const steps: readonly Step[] = blocks.flatMap((block, index) => {
  if (block.language !== 'sh') return [];
  const next = blocks[index + 1];
  return [{ commands: block, output: next?.language === 'text' ? next.text : undefined }];
});
const receiverBlock = blocks.find(({ language }) => language === 'js')?.text ?? '';
const receivedText = blocks.findLast(
  ({ language, text }) => language === 'text' && text.startsWith('projection.'),
)?.text;

let sandbox: Sandbox;
let testDatabase: TestDatabase;
let indexer: Daemon;
let folder: string;
let receiver: ChildProcess | undefined;
let received = '';
let receiverPort: number;

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 5, updates: 600, gapMs: 400_000 });
  testDatabase = await createTestDatabase();
  await turnJitOff(testDatabase.url);
  receiverPort = await freePort();
  indexer = startDaemon({
    ledgerUrl: sandbox.url,
    databaseUrl: testDatabase.url,
    schema: 'ledger',
    env: {
      LEDGER_INTERFACES: demoInterfaces.join(','),
      INDEXER_START: 'genesis',
      INDEXER_WEBHOOK_NETWORKS: 'loopback',
    },
  });
  const end = sandbox.ledger.ledgerEnd();
  await waitFor('the history', async () => {
    const rows = await query(testDatabase.url, 'select checkpoint from ledger.stream').catch(() => []);
    return Number(rows[0]?.['checkpoint'] ?? 0) >= end ? true : undefined;
  });
  folder = await mkdtemp(join(tmpdir(), 'own-projections-'));
  const program = join(folder, 'ledger-indexer');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/main.js')}' "$@"\n`);
  await chmod(program, 0o755);
  await writeFile(join(folder, 'receiver.mjs'), receiverBlock.replace('8090', String(receiverPort)));
});
afterAll(async () => {
  if (receiver?.exitCode === null) {
    receiver.kill();
    await once(receiver, 'exit');
  }
  await indexer[Symbol.asyncDispose]();
  await sandbox.close();
  await rm(folder, { recursive: true });
  await testDatabase.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
});

function withNames(text: string): string {
  return text.replaceAll(/\breports\b/g, role).replaceAll('8090', String(receiverPort));
}

async function startReceiver(): Promise<void> {
  receiver = spawn(process.execPath, ['receiver.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  receiver.stdout?.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  await waitFor('the receiver', () => isListening(receiverPort));
}

function isListening(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(undefined));
    socket.once('connect', () => socket.destroy());
  });
}

/** Standard output of the commands. */
async function run(commands: string): Promise<string> {
  const env = {
    PATH: [folder, process.env['PATH']].join(delimiter),
    HOME: folder,
    SHLVL: '1',
    DATABASE_URL: testDatabase.url,
  };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', withNames(commands)], {
    cwd: folder,
    env,
    timeout: 60_000,
  });
  return stdout.trimEnd();
}

/** Times and secrets differ in every run. */
function withoutVarying(output: string): string {
  return output.replaceAll(/\d+\.\d\d ms/g, 'N ms').replaceAll(/whsec_\S+/g, 'whsec_…');
}

describe('the page on your own projections', () => {
  it('has the commands and the outputs that this test runs', () => {
    expect(steps.length).toBe(8);
    expect(receivedText).toBeDefined();
  });

  it.each(steps.map((step) => ({ ...step, line: step.commands.line })))(
    'states the output of the commands in line $line',
    async ({ commands, output }) => {
      if (commands.text.includes('webhook add')) await startReceiver();
      const printed = await run(commands.text);
      if (output !== undefined) expect(withoutVarying(printed)).toBe(withoutVarying(output));
      if (!commands.text.includes('webhook add')) return;
      const lines = receivedText?.split('\n') ?? [];
      await waitFor('all alerts', () => (received.split('\n').length > lines.length ? true : undefined));
      expect(received.trimEnd()).toBe(receivedText);
    },
  );
});
