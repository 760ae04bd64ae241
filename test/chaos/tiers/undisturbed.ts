/** The reference for all other runs. It is the same history, indexed without faults. */
import { CheckpointWatch } from './checkpoint-watch.ts';
import type { ChaosDatabase } from '../databases.ts';
import { offsetAfter, type History } from '../history/history.ts';
import { startLife } from './indexer-life.ts';
import { ModelLedger } from '../model/model-ledger.ts';
import { outcomeOf, type Outcome } from '../model/oracle.ts';

/** @param before number of items visible before the indexer follows: the items that are seeded */
export async function undisturbed(database: ChaosDatabase, history: History, before: number): Promise<Outcome> {
  await using ledger = await ModelLedger.start(history, before);
  ledger.onFollow = () => {
    ledger.grow(history.items.length);
  };
  await using watch = await CheckpointWatch.over(database);
  const life = await startLife({ ledgerUrl: ledger.url, databaseUrl: database.url });
  const reached = await watch.reaches(offsetAfter(history, history.items.length), 60_000, life);
  await life.stop();
  if (!reached) throw new Error(`the undisturbed run did not get to the end: ${life.log.slice(-3).join(' ')}`);
  return outcomeOf(database, history);
}
