/** Filtered clients of `/changes` and a filtered webhook receive every matching change while the indexer is killed. */
import { expect, it } from 'vitest';
import { freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { query } from '../support/database.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { runCommand } from '../support/run-command.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { groupByContract, sortPlaces, startReceiver } from '../webhooks/receiver.ts';
import { listen } from './listener.ts';

/** Number of SIGKILLs. A chaos run sets a higher number. */
const killTotal = Number(process.env['SUBSCRIPTION_KILLS'] ?? 5);
/** Time limit for what is left after the last kill, milliseconds: the more kills, the more updates. */
const restMs = 40_000 + killTotal * 1_000;
const role = `subscribed_${String(process.pid)}`;
const holding = 'splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding';
const large = "instrument_id = 'Amulet' and amount > 100";

/** Subscriptions, and the condition on rows `n` of the named events that they should receive. */
const streams: readonly (readonly [parameters: Readonly<Record<string, string>>, condition: string])[] = [
  [{ event: 'transfer.*' }, `n.event like 'transfer.%'`],
  [{ event: '*', where: large }, `n.instrument_id = 'Amulet' and n.amount > 100`],
  [
    { event: 'holding.locked', interface: holding, where: 'view.amount > 50' },
    `n.event = 'holding.locked' and n.amount > 50`,
  ],
];

async function named(url: string, condition: string): Promise<readonly string[]> {
  const rows = await query(
    url,
    `select distinct n."offset", n.node_id from explore.token_event_names(0, 1000000) n where ${condition} order by 1, 2`,
  );
  return rows.map((row) => `${String(row['offset'])}-${String(row['node_id'])}`);
}

it(
  `filtered subscriptions receive every matching change over ${String(killTotal)} SIGKILLs`,
  { timeout: 120_000 + killTotal * 6_000 },
  async () => {
    const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    await using database = await createMigratedDatabase();
    await using receiver = await startReceiver();
    const steps = new Steps(sandbox.ledger, 7);
    let at = Date.UTC(2026, 0, 5, 8) * 1_000;
    const grow = (updates: number): void => {
      for (let count = 0; count < updates; count += 1) steps.step((at += 1_100_000));
    };
    grow(200);
    const port = await freePort();
    const start = (): Daemon =>
      startDaemon({
        ledgerUrl: sandbox.url,
        databaseUrl: database.url,
        schema: 'ledger',
        env: {
          INDEXER_HTTP_PORT: String(port),
          INDEXER_START: 'genesis',
          INDEXER_BATCH_UPDATES: '5',
          INDEXER_WEBHOOK_NETWORKS: 'loopback',
          LEDGER_INTERFACES: 'tokens',
        },
      });
    let daemon = start();
    await daemon.http();
    const env = { LEDGER_URL: sandbox.url, DATABASE_URL: database.url };
    await runCommand(grantReaderCommand, [role], env);
    receiver.name = 'filtered';
    const lines: string[] = [];
    const url = `${receiver.url}/filtered`;
    const args = ['add', 'filtered', '--url', url, '--role', role, '--after', '0', '--event', '*', '--where', large];
    await runCommand(webhookCommand, args, env, { print: (line) => lines.push(line) });
    receiver.secret = /whsec_\S+/.exec(lines.join('\n'))?.[0] ?? '';
    const changes = `http://127.0.0.1:${String(port)}/changes?after=0&unseen=allow`;
    const listeners = streams.map(([parameters]) => listen(`${changes}&${String(new URLSearchParams(parameters))}`));
    try {
      for (let killCount = 0; killCount < killTotal; killCount += 1) {
        grow(60);
        // At varying moments: during the start, a write or a response.
        await pause(100 + ((killCount * 397) % 1_100));
        await daemon.kill();
        daemon = start();
        await daemon.http();
      }
      grow(60);
      const end = sandbox.ledger.ledgerEnd();
      const isStored = async (): Promise<true | undefined> => {
        const [row] = await query(database.url, 'select checkpoint::int from ledger.stream');
        return Number(row?.['checkpoint']) >= end ? true : undefined;
      };
      await waitFor('everything is stored', isStored, restMs);
      for (const [index, [, condition]] of streams.entries()) {
        const expected = await named(database.url, condition);
        const listener = listeners[index];
        const hasAll = (): true | undefined => ((listener?.ids.length ?? 0) >= expected.length ? true : undefined);
        await waitFor('all changes', hasAll, restMs);
        expect(listener?.ids).toEqual(expected);
        expect(expected.length).toBeGreaterThan(20);
      }
      const expected = await named(database.url, streams[1]?.[1] ?? 'false');
      const places = (): readonly string[] => [...new Set(receiver.taken.map(({ place }) => place))];
      await waitFor('all deliveries', () => (places().length >= expected.length ? true : undefined), restMs);
      expect(sortPlaces(places())).toEqual(expected);
      expect(new Set(receiver.taken.map(({ id }) => id)).size).toBe(expected.length);
      for (const found of groupByContract(receiver.taken).values()) expect(found).toEqual(sortPlaces(found));
      process.stdout.write(
        `${String(killTotal)} kills: ${String(expected.length)} deliveries, ${String(receiver.taken.length - expected.length)} twice\n`,
      );
    } finally {
      for (const listener of listeners) listener.close();
      await daemon.kill();
      await sandbox.close();
      await database.drop();
      await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
    }
  },
);
