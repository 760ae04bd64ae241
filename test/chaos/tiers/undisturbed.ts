/** The reference for all other runs. It is the same history, indexed without faults. */
import { CheckpointWatch } from './checkpoint-watch.ts';
import type { ChaosDatabase } from '../databases.ts';
import { offsetAfter, type History } from '../history/history.ts';
import { startLife } from './indexer-life.ts';
import { ModelLedger } from '../model/model-ledger.ts';
import { outcomeOf, type RunOutcome } from '../model/oracle.ts';

/** @param undisturbedCount number of items visible before the indexer follows: the items that are seeded */
export async function runUndisturbed(
  database: ChaosDatabase,
  history: History,
  undisturbedCount: number,
): Promise<RunOutcome> {
  await using ledger = await ModelLedger.start(history, undisturbedCount);
  ledger.onFollow = () => {
    ledger.grow(history.items.length);
  };
  await using watch = await CheckpointWatch.over(database);
  const indexerLife = await startLife({ ledgerUrl: ledger.url, databaseUrl: database.url });
  const hasReached = await watch.reaches(offsetAfter(history, history.items.length), 60_000, indexerLife);
  await indexerLife.stop();
  if (!hasReached)
    throw new Error(`the undisturbed run did not get to the end: ${indexerLife.log.slice(-3).join(' ')}`);
  return outcomeOf(database, history);
}
