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
  let committingConnection: number | undefined;
  return wires.arm('postgres', (unit, connection, callback) => {
    if (unit.direction === 'up' && unit.type === 'B' && unit.bytes.includes('move-checkpoint'))
      committingConnection = connection;
    if (unit.direction === 'up' || connection !== committingConnection) return undefined;
    callback();
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
  const indexerLife = await startLife({ ledgerUrl: ledger.url, databaseUrl: database.url, taps: wires.taps });
  const seededOffset = endAfter(history, 10);
  expect(await watch.reaches(seededOffset, 20_000, indexerLife)).toBe(true);

  const whenDelayed = delayNextCommit(wires);
  const deniedFault = ledger.arm({
    at: 'updates',
    after: 1,
    act: async ({ socket }): Promise<StreamOutcome> => {
      // Waits until the only sent frame is on its way to the database.
      await whenDelayed;
      refuse(socket, ledgerErrors.denied);
      return 'over';
    },
  });
  ledger.grow(12);
  await deniedFault;
  await pause(2 * lateMs);

  expect(await watch.checkpoint()).toBeGreaterThan(seededOffset);
  expect(indexerLife.parked()).toBe(true);
  await indexerLife.stop();
}, 120_000);
