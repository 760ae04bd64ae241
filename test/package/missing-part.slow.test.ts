/**
 * Runs the installed command without the demo packages, in the folder of a running demo. It must name the missing
 * package.
 */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { saveDemoNote } from '../../src/cli/demo/running-demo.ts';
import { installCommand, type Installation } from './installed-command.ts';

const database = '127.0.0.1:5432/ledger_indexer';

let installation: Installation;
let page: Server;
beforeEach(async () => {
  installation = installCommand();
  page = createServer((_request, response) => response.end(JSON.stringify({ state: 'live', database })));
  await once(page.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  page.close();
  installation[Symbol.dispose]();
});

/** Records a running demo. This test process serves its page, and its database counts as embedded. */
function demoRuns(): void {
  const httpUrl = `http://127.0.0.1:${String((page.address() as AddressInfo).port)}`;
  const dataDir = join(installation.folder, '.data');
  mkdirSync(dataDir, { mode: 0o700 });
  const embedded = { embeddedLedger: true, embeddedDatabase: true, live: true };
  saveDemoNote(dataDir, { pid: process.pid, httpUrl, ledgerUrl: httpUrl, database, schema: 'ledger', ...embedded });
}

const command = (...argv: readonly string[]) => installation.run(argv, { INDEXER_DATA_DIR: '.data' });

const postgresMissing =
  /DEMO_PART_MISSING[^]*package ledger-indexer-postgres is not installed[^]*npm pack --workspace packages\/embedded-postgres/;

describe('installation without the demo packages', () => {
  it.each([['demo-info'], ['status'], ['check']])(
    'rejects `%s` with the missing package name while a demo runs',
    async (verb) => {
      demoRuns();
      const { code, text } = await command(verb);
      expect(text).toMatch(postgresMissing);
      expect(code).toBe(78);
    },
  );

  it('rejects `demo-info` with DEMO_NOT_FOUND if no demo runs', async () => {
    const { code, text } = await command('demo-info');
    expect(text).toContain('DEMO_NOT_FOUND');
    expect(code).toBe(69);
  });

  it('rejects `sandbox` with the command that builds its package', async () => {
    const { code, text } = await command('sandbox', '--port', '0');
    expect(text).toMatch(
      /package ledger-indexer-sandbox is not installed[^]*npm pack --workspace packages\/ledger-sandbox/,
    );
    expect(text).not.toContain('releases/download');
    expect(code).toBe(78);
  });
});
