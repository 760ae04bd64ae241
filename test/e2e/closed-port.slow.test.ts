/** A closed port at the start: one log line per attempt, with the address and the remedy. */
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { createTestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { startDaemon, type Daemon } from './runs/daemon.ts';

const usualMessages = new Set(['ledger-indexer starts', 'starting', 'this process holds the writer lock', 'status']);

interface Line {
  readonly msg: string;
  readonly level: string;
  readonly err?: { readonly code: string; readonly message: string; readonly remedy: string };
}

async function linesOf(daemon: Daemon): Promise<readonly Line[]> {
  const lines = (): readonly Line[] =>
    daemon
      .output()
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as Line);
  await waitFor('two tries', () => (lines().filter(({ level }) => level === 'warn').length >= 2 ? true : undefined));
  return lines().filter(({ msg }) => !usualMessages.has(msg) && !msg.startsWith('listening'));
}

/** Returns a port that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('indexer with a closed port', () => {
  it.each(['database', 'ledger'] as const)('logs one line per attempt to connect to the %s', async (side) => {
    await using sandbox = await startSandbox();
    await using database = await createTestDatabase();
    const port = await closedPort();
    const [databaseUrl, ledgerUrl] =
      side === 'database'
        ? [`postgres://nobody:x@127.0.0.1:${String(port)}/none`, sandbox.url]
        : [database.url, `http://127.0.0.1:${String(port)}`];
    await using daemon = startDaemon({ databaseUrl, ledgerUrl, schema: 'ledger' });
    const lines = await linesOf(daemon);
    const errorStageName = side === 'database' ? 'store' : 'ledger';
    expect(new Set(lines.map(({ msg }) => msg))).toEqual(new Set([`${errorStageName} failed, trying again`]));
    for (const { err } of lines) {
      expect(err?.code).toBe(`${errorStageName.toUpperCase()}_UNREACHABLE`);
      expect(err?.message).toContain(`127.0.0.1:${String(port)}`);
      expect(err?.message).toContain('ECONNREFUSED');
      expect(err?.remedy).toMatch(/start|check/);
    }
  });
});
