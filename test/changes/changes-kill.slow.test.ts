/** A client of `/changes` receives every change once and in order while the indexer is killed repeatedly. */
import { expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { listen } from './listener.ts';

/** Number of SIGKILLs. A chaos run sets a higher number. */
const kills = Number(process.env['CHANGES_KILLS'] ?? 4);

it(`/changes sends every change once over ${String(kills)} SIGKILLs`, { timeout: 60_000 + kills * 5_000 }, async () => {
  const world = await HistoryWorld.open(60);
  const port = await freePort();
  const { LEDGER_URL: ledgerUrl = '', DATABASE_URL: databaseUrl = '' } = world.env();
  const env = { INDEXER_HTTP_PORT: String(port), INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '3' };
  const start = (): Daemon => startDaemon({ ledgerUrl, databaseUrl, schema: 'ledger', env });
  const changes = `http://127.0.0.1:${String(port)}/changes`;
  let daemon = start();
  await daemon.http();
  const everything = listen(`${changes}?after=0`);
  const created = listen(`${changes}?after=0&event_type=created`);
  try {
    for (let killed = 0; killed < kills; killed += 1) {
      world.grow(15);
      // At varying moments: during the start, a write or a response.
      await pause(100 + ((killed * 397) % 1_100));
      await daemon.kill();
      daemon = start();
      await daemon.http();
    }
    world.grow(15);
    const end = world.sandbox.ledger.ledgerEnd();
    await waitFor('everything is stored', async () => ((await world.checkpoint()) >= end ? true : undefined));
    const stored = async (where: string): Promise<readonly string[]> => {
      const text = `select "offset" || '-' || node_id as id from explore.events where ${where} order by "offset", node_id`;
      return (await query(databaseUrl, text)).map(({ id }) => String(id));
    };
    const [all, creates] = [await stored('true'), await stored(`event_type = 'created'`)];
    await waitFor('everything is heard', () => (everything.ids.length >= all.length ? true : undefined));
    await waitFor('creates are heard', () => (created.ids.length >= creates.length ? true : undefined));
    expect(everything.ids).toEqual(all);
    expect(created.ids).toEqual(creates);
  } finally {
    everything.close();
    created.close();
    await daemon.kill();
    await world.close();
  }
});
