/** The built program as a separate process, between two proxies, until it ends. */
import { startDaemon, type Daemon, type Exit } from '../../e2e/runs/daemon.ts';
import type { ChaosDatabase } from '../databases.ts';
import { schema } from '../databases.ts';
import type { ModelLedger } from '../model/model-ledger.ts';
import { passVerdict, WireProxy, type Tap } from '../faults/wire-proxy.ts';
import { pause } from '../../support/wait-for.ts';

/** The access token of every process. No output may contain it. */
export const token = 'chaos-token-kanari7f3e91';

const settings = {
  LEDGER_TOKEN: token,
  INDEXER_BATCH_UPDATES: '5',
  INDEXER_RETRY_MAX_DELAY: '20ms',
  POSTGRES_MIGRATE: 'never',
};

/** The proxies of a run, between its processes and both servers. */
export interface WireSession extends AsyncDisposable {
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  /** Resolves after `count` more messages, counted over both connections and directions. */
  messages(count: number): Promise<void>;
}

export async function openWires(ledger: ModelLedger, database: ChaosDatabase): Promise<WireSession> {
  const endpointOf = (url: string): { host: string; port: number } => ({
    host: new URL(url).hostname,
    port: Number(new URL(url).port),
  });
  const postgres = await WireProxy.start('postgres', endpointOf(database.url));
  const updates = await WireProxy.start('ledger', endpointOf(ledger.url));
  let remainingUnits = Number.POSITIVE_INFINITY;
  let onReached: () => void = () => undefined;
  const unitTap: Tap = () => {
    remainingUnits -= 1;
    if (remainingUnits === 0) onReached();
    return passVerdict;
  };
  postgres.tap = unitTap;
  updates.tap = unitTap;
  return {
    ledgerUrl: updates.before(ledger.url),
    databaseUrl: postgres.before(database.url),
    messages: (count) =>
      new Promise((resolve) => {
        onReached = resolve;
        remainingUnits = count;
      }),
    [Symbol.asyncDispose]: async () => {
      await postgres[Symbol.asyncDispose]();
      await updates[Symbol.asyncDispose]();
    },
  };
}

/** Starts the program behind the proxies. */
export function startProcess(wires: WireSession): Daemon {
  return startDaemon({ ledgerUrl: wires.ledgerUrl, databaseUrl: wires.databaseUrl, schema, env: settings });
}

/** Waits until the checkpoint is at least `offset`. @throws Error if it takes too long or the program ends before */
export async function waitUntilStored(database: ChaosDatabase, offset: number, daemon: Daemon): Promise<void> {
  const end = performance.now() + 30_000;
  for (;;) {
    const { rows } = await database.client.query<{ checkpoint: string | null }>(
      `select checkpoint from ${schema}.stream`,
    );
    if (Number(rows[0]?.checkpoint ?? -1) >= offset) return;
    const exit = daemon.exit();
    if (exit !== undefined) throw new Error(`it ended (${String(exit.code ?? exit.signal)}): ${tail(daemon)}`);
    if (performance.now() > end) throw new Error(`it did not get to offset ${String(offset)}: ${tail(daemon)}`);
    await pause(5);
  }
}

/** Stops the program as an operator would. @throws Error if its exit code is not 0 */
export async function stopCleanly(daemon: Daemon): Promise<void> {
  daemon.signal('SIGTERM');
  const exit = await Promise.race([daemon.exited, pause(15_000, undefined, { ref: false })]);
  if (exit?.code !== 0) throw new Error(`SIGTERM ended it with ${formatExit(exit)}: ${tail(daemon)}`);
}

function formatExit(exit: Exit | undefined): string {
  return exit === undefined ? 'nothing in 15 s' : String(exit.code ?? exit.signal);
}

function tail(daemon: Daemon): string {
  return daemon.output().trimEnd().split('\n').slice(-3).join(' ').slice(-1_500);
}
