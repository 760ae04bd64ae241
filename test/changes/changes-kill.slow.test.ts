/** A client of `/changes` receives every change once and in order while the indexer is killed repeatedly. */
import { expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { listen } from './listener.ts';

/** Number of SIGKILLs. A chaos run sets a higher number. */
const killTotal = Number(process.env['CHANGES_KILLS'] ?? 4);

it(
  `/changes sends every change once over ${String(killTotal)} SIGKILLs`,
  { timeout: 60_000 + killTotal * 5_000 },
  async () => {
    const world = await HistoryWorld.open(60);
    const port = await freePort();
    const { LEDGER_URL: ledgerUrl = '', DATABASE_URL: databaseUrl = '' } = world.env();
    const env = { INDEXER_HTTP_PORT: String(port), INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '3' };
    const start = (): Daemon => startDaemon({ ledgerUrl, databaseUrl, schema: 'ledger', env });
    const changes = `http://127.0.0.1:${String(port)}/changes`;
    let daemon = start();
    await daemon.http();
    const allEventsListener = listen(`${changes}?after=0`);
    const createdListener = listen(`${changes}?after=0&event_type=created`);
    try {
      for (let killCount = 0; killCount < killTotal; killCount += 1) {
        world.grow(15);
        // At varying moments: during the start, a write or a response.
        await pause(100 + ((killCount * 397) % 1_100));
        await daemon.kill();
        daemon = start();
        await daemon.http();
      }
      world.grow(15);
      const end = world.sandbox.ledger.ledgerEnd();
      await waitFor('everything is stored', async () => ((await world.checkpoint()) >= end ? true : undefined));
      const storedEvents = async (condition: string): Promise<readonly string[]> => {
        const text = `select "offset" || '-' || node_id as id from explore.events where ${condition} order by "offset", node_id`;
        return (await query(databaseUrl, text)).map(({ id }) => String(id));
      };
      const [allEvents, creates] = [await storedEvents('true'), await storedEvents(`event_type = 'created'`)];
      await waitFor('everything is heard', () => (allEventsListener.ids.length >= allEvents.length ? true : undefined));
      await waitFor('creates are heard', () => (createdListener.ids.length >= creates.length ? true : undefined));
      expect(allEventsListener.ids).toEqual(allEvents);
      expect(createdListener.ids).toEqual(creates);
    } finally {
      allEventsListener.close();
      createdListener.close();
      await daemon.kill();
      await world.close();
    }
  },
);
