/** The installed command, without the packages of the demo, in the folder where a demo runs: it says which part it lacks. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noteDemo } from '../../src/cli/demo/running-demo.ts';
import { linkDependencies } from './app.ts';

const project = join(import.meta.dirname, '../..');
const database = '127.0.0.1:5432/ledger_indexer';

let folder: string;
let page: Server;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-part-'));
  const installed = join(folder, 'node_modules/ledger-indexer');
  mkdirSync(installed, { recursive: true });
  for (const name of ['dist', 'migrations', 'scripts', 'package.json']) {
    cpSync(join(project, name), join(installed, name), { recursive: true });
  }
  linkDependencies(folder);
  page = createServer((_request, response) => response.end(JSON.stringify({ state: 'live', database })));
  await once(page.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  page.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The demo of this test process: it answers for itself, and its database is an embedded one. */
function demoRuns(): void {
  const httpUrl = `http://127.0.0.1:${String((page.address() as AddressInfo).port)}`;
  const dataDir = join(folder, '.data');
  mkdirSync(dataDir, { mode: 0o700 });
  const embedded = { embeddedLedger: true, embeddedDatabase: true, live: true };
  noteDemo(dataDir, { pid: process.pid, httpUrl, ledgerUrl: httpUrl, database, schema: 'ledger', ...embedded });
}

async function command(...argv: readonly string[]): Promise<{ code: number | null; text: string }> {
  const main = join(folder, 'node_modules/ledger-indexer/dist/main.js');
  const env = { PATH: process.env['PATH'], INDEXER_DATA_DIR: '.data' };
  const child = spawn(process.execPath, [main, ...argv], { cwd: folder, env });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

const postgresMissing =
  /DEMO_PART_MISSING[^]*package ledger-indexer-postgres is not installed[^]*npm pack --workspace packages\/embedded-postgres/;

describe('a command that is installed without the parts of the demo', () => {
  it.each([['connect'], ['status'], ['check']])('`%s` names the missing part where a demo runs', async (verb) => {
    demoRuns();
    const { code, text } = await command(verb);
    expect(text).toMatch(postgresMissing);
    expect(code).toBe(78);
  });

  it('`connect` finds no demo where none runs', async () => {
    const { code, text } = await command('connect');
    expect(text).toContain('DEMO_NOT_FOUND');
    expect(code).toBe(69);
  });

  it('`sandbox` names no release, but how a clone makes its package', async () => {
    const { code, text } = await command('sandbox', '--port', '0');
    expect(text).toMatch(
      /package ledger-indexer-sandbox is not installed[^]*npm pack --workspace packages\/ledger-sandbox/,
    );
    expect(text).not.toContain('releases/download');
    expect(code).toBe(78);
  });
});
