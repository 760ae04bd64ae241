/** The ledger of the demo, and the indexer that stores its updates with the settings of the demo. */
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { messagesOf, startChild, type Child, type MessageOfKind } from '../child.ts';
import { printStatus } from '../figures/terminal.ts';
import { startIndexerProcess } from '../indexer-process.ts';
import { withClient } from '../postgres.ts';
import type { LedgerLength, LedgerMessage, LedgerPlan, MeasurementMessage } from './ledger-messages.ts';
import { startOfTraffic } from './traffic.ts';
import type { ProjectionSetting } from './user-projections.ts';

/** Interfaces that the demo stores; see `withDemoDefaults` in src/cli/follow/run-indexer.ts. */
const demoInterfaces = 'tokens';
const ledgerHeapMiB = 4_096;
/** Maximum time that the indexer needs for views and interfaces after the last update. */
const viewsLimitMs = 120_000;

export interface DemoPlan {
  readonly updates: number;
  readonly projections: ProjectionSetting;
  /** Updates per second after the month; default: as fast as the indexer stores them. */
  readonly pace?: number;
  /** Whether the indexer serves `/api`. */
  readonly api?: boolean;
}

export interface DemoRun {
  readonly indexer: Child;
  /** Base URL of the HTTP endpoints of the indexer. */
  readonly httpUrl: string;
  /** The ledger before its traffic begins. */
  readonly month: LedgerLength;
  /** Resolves to the next message of the ledger of a kind, or to the one that has already arrived. */
  readonly message: MessageOfKind<LedgerMessage>;
  readonly send: (message: MeasurementMessage) => void;
  /** Time that the indexer has spent in the transactions of projections, seconds. */
  readonly projectionSeconds: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** Starts both, with a migrated database. */
export async function startDemo(
  databaseUrl: string,
  { updates, projections, pace, api = false }: DemoPlan,
): Promise<DemoRun> {
  printStatus(`generating the month before ${String(updates)} updates`);
  const plan: LedgerPlan = { updates, startAtMs: startOfTraffic(updates, Date.now()), pace };
  const ledger = startChild({
    file: 'answers/ledger.js',
    args: [JSON.stringify(plan)],
    nodeArgs: [`--max-old-space-size=${String(ledgerHeapMiB)}`],
  });
  const message = messagesOf<LedgerMessage>(ledger);
  const { url: ledgerUrl, month } = await message('listening');
  const port = String(await freePort());
  const env = {
    LEDGER_INTERFACES: demoInterfaces,
    INDEXER_PROJECTIONS: projections,
    INDEXER_HTTP_PORT: port,
    INDEXER_API: String(api),
  };
  const httpUrl = `http://127.0.0.1:${port}`;
  const indexer = startIndexerProcess({ variant: { name: 'demo', env }, ledgerUrl, databaseUrl, start: 'genesis' });
  return {
    indexer,
    httpUrl,
    month,
    message,
    send: (sent) => {
      if (ledger.process.connected) ledger.process.send(sent);
    },
    projectionSeconds: () => projectionSeconds(`${httpUrl}/metrics`),
    stop: async () => {
      await indexer.stop();
      await ledger.stop();
    },
  };
}

async function projectionSeconds(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  const values = text.matchAll(/^indexer_projection_seconds_total\{.*\} (\S+)$/gm);
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Waits for typed views and for interface views, which the indexer makes in the background. */
export function untilViewsExist(databaseUrl: string, { indexer }: DemoRun): Promise<void> {
  printStatus('waiting for views');
  const end = performance.now() + viewsLimitMs;
  return withClient(databaseUrl, async (client) => {
    for (;;) {
      const { rows } = await Promise.race([
        client.query<{ ready: boolean }>(
          `select (select count(*) > 0 from pg_views where schemaname = 'typed')
                  and not exists (select from explore.interface_coverage where state = 'backfilling') as ready`,
        ),
        indexer.died,
      ]);
      if (rows[0]?.ready === true) return;
      if (performance.now() > end)
        throw new Error('the indexer did not create the typed views, or not all interface views');
      await sleep(200);
    }
  });
}
