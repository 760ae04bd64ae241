/** Bugs by which a history backfill after a filter extension loses rows, adds them twice, or stores wrong values. */
import type { PlantedArea } from './planted.ts';

const range = 'src/store/history/earlier-range.ts';
const lifetimes = 'src/store/history/earlier-lifetimes.ts';
const test = 'history/extend-filter-history.long.test.ts';
const allRowsTest = 'filter extend --with-history stores the rows of a fresh index with the wider filter';
const killedTestName = 'filter extend --with-history stores all rows after kills within and between offset ranges';
const disturbedTest = 'history/extend-filter-history-disturbed.long.test.ts';

export const history: PlantedArea = {
  name: 'history',
  defects: [
    {
      name: 'the progress is committed before the rows',
      file: range,
      line: `    await refuseQuarantined(client, range);
`,
      instead: `    await refuseQuarantined(client, range);
    await client.query('update filter_additions set from_offset = $1 where from_offset > $1', [from]);
    await client.query('commit; begin');
`,
      test: disturbedTest,
      only: killedTestName,
    },
    {
      name: 'an update that was counted under the previous filter is counted again',
      file: range,
      line: 'await subtractActivity(client, { above: from, upTo: to });',
      instead: 'await Promise.resolve(subtractActivity);',
      test,
      only: allRowsTest,
    },
    {
      name: 'a contract ends with the last of its ends',
      file: lifetimes,
      line: 'order by e.ended_offset limit 1) f),',
      instead: 'order by e.ended_offset desc limit 1) f),',
      test,
      only: allRowsTest,
    },
    {
      name: 'a contract that ended after its range stays active forever',
      file: lifetimes,
      line: 'await endActivations(client);',
      instead: 'await Promise.resolve(endActivations);',
      test,
      only: allRowsTest,
    },
    {
      name: 'the first update of a range is missing from every range',
      file: 'src/pipeline/earlier.ts',
      line: 'const updates = await earlierUpdates(connected.parts, { from, to, most: 4 * targetUpdates }, stop);',
      instead:
        'const updates = await earlierUpdates(connected.parts, { from: from + 1, to, most: 4 * targetUpdates }, stop);',
      test,
      only: allRowsTest,
    },
    {
      name: 'contracts that are active where history begins are not requested',
      file: 'src/pipeline/earlier.ts',
      line: 'const isCompleteFromBegin = beginOffset === 0 || (dueJob.completeFrom ?? Infinity) <= beginOffset;',
      instead: 'const isCompleteFromBegin = beginOffset >= 0 || (dueJob.completeFrom ?? Infinity) <= beginOffset;',
      test,
      only: 'filter extend --with-history adds history back to the pruned offset or the seed',
    },
  ],
};
