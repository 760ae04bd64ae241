/** A batch may be committed after its session has failed. The reported state must not become `live` because of it. */
import { expect, it } from 'vitest';
import { CheckpointWatch } from './tiers/checkpoint-watch.ts';
import { openChaosServer } from './databases.ts';
import { historyOf, endAfter } from './history/history.ts';
import { startLife } from './tiers/indexer-life.ts';
import { ledgerErrors } from './model/ledger-errors.ts';
import { ModelLedger, refuse, type StreamOutcome } from './model/model-ledger.ts';
import { WireFaults } from './faults/wire-faults.ts';
import { pause } from '../support/wait-for.ts';

const lateMs = 300;

/** Delays the reply to the next batch. */
function delayNextCommit(wires: WireFaults): Promise<void> {
  let committing: number | undefined;
  return wires.arm('postgres', (unit, connection, done) => {
    if (unit.direction === 'up' && unit.type === 'B' && unit.bytes.includes('move-checkpoint')) committing = connection;
    if (unit.direction === 'up' || connection !== committing) return undefined;
    done();
    return { act: 'freeze', ms: lateMs, end: 'thaw' };
  });
}

it('the indexer stays parked when a pending batch is committed', async () => {
  const databaseUrl = process.env['TEST_DATABASE_URL'];
  await using server = await openChaosServer(databaseUrl === '' ? undefined : databaseUrl);
  const database = await server.lend();
  const history = historyOf(3, { updates: 30 });
  await using ledger = await ModelLedger.start(history, 10);
  await using watch = await CheckpointWatch.over(database);
  const wires = new WireFaults();
  const life = await startLife({ ledgerUrl: ledger.url, databaseUrl: database.url, taps: wires.taps });
  const seeded = endAfter(history, 10);
  expect(await watch.reaches(seeded, 20_000, life)).toBe(true);

  const delayed = delayNextCommit(wires);
  const denied = ledger.arm({
    at: 'updates',
    after: 1,
    act: async ({ socket }): Promise<StreamOutcome> => {
      // Waits until the only sent frame is on its way to the database.
      await delayed;
      refuse(socket, ledgerErrors.denied);
      return 'over';
    },
  });
  ledger.grow(12);
  await denied;
  await pause(2 * lateMs);

  expect(await watch.checkpoint()).toBeGreaterThan(seeded);
  expect(life.parked()).toBe(true);
  await life.stop();
}, 120_000);
