/** Bugs in sums over more than a thousand events of one template in a batch. */
import type { PlantedArea } from '../planted.ts';

const test = 'store/large-batch.test.ts';

export const sums: PlantedArea = {
  name: 'sums',
  defects: [
    {
      name: 'the count of contracts that begin stops at a thousand per batch',
      file: 'src/model/lifetimes.ts',
      line: 'count.activated += 1;',
      instead: 'count.activated = Math.min(1000, count.activated + 1);',
      test,
    },
    {
      name: 'only the first thousand ends of a batch reach contracts of earlier batches',
      file: 'src/model/lifetimes.ts',
      line: 'for (let contract = 0; contract < this.#contracts.size; contract += 1) {',
      instead: 'for (let contract = 0; contract < Math.min(1000, this.#contracts.size); contract += 1) {',
      test,
    },
    {
      name: 'ends of earlier batches count once per template, however many they are',
      file: 'src/store/write/batch-writer.ts',
      line: 'union all select template_pk, 0, 1 from gone) c',
      instead: 'union select template_pk, 0, 1 from gone) c',
      test,
    },
    {
      name: 'only the events of the last template go into the total of an hour',
      file: 'src/model/activity.ts',
      line: 'total.totalCreates += creates;',
      instead: 'total.totalCreates = creates;',
      test,
    },
    {
      name: 'the rollup keeps the larger of two batches instead of their sum',
      file: 'src/store/write/batch-writer.ts',
      line: 'transactions = a.transactions + excluded.transactions,',
      instead: 'transactions = greatest(a.transactions, excluded.transactions),',
      test,
    },
    {
      name: 'the delay of an hour is that of its last transaction',
      file: 'src/model/activity.ts',
      line: 'row.delay += delay(effectiveTime, recordTime);',
      instead: 'row.delay = delay(effectiveTime, recordTime);',
      test,
    },
  ],
};
