/** Bugs by which `reset --to` leaves rows behind. */
import type { PlantedArea } from './planted.ts';

const file = 'src/store/history/reset.ts';
const test = 'history/reset-tables.test.ts';

export const resetArea: PlantedArea = {
  name: 'reset',
  defects: [
    {
      name: 'topology events after the offset stay',
      file: 'src/store/tables/history.ts',
      line: "    sizes: 'topology',\n    isWritten: true,\n    goesBack: true,",
      instead: "    sizes: 'topology',\n    isWritten: true,",
      test,
    },
    {
      name: 'hourly totals still count deleted rows',
      file,
      line: 'await subtractActivity(client, { above: to, upTo: lastOffset });',
      instead: '',
      test,
    },
    {
      name: 'contracts that ended after the offset are not active again',
      file,
      line: '"offset" <= $1 and ended_offset > $1',
      instead: '"offset" <= $1 and ended_offset > $1 and false',
      test,
    },
    {
      name: 'contracts whose end is undone are counted as ended',
      file,
      line: 'select template_pk, 0, 1 from ended',
      instead: 'select template_pk, 0, 0 from ended',
      test,
    },
    {
      name: 'contracts of parties that left after the offset stay unhosted',
      file,
      line: `where('unhosted_since', '>', to)`,
      instead: `where('unhosted_since', '>', to).where('offset', '>', to)`,
      test,
    },
    {
      name: 'ranges of coverage that begin after the offset stay',
      file: 'src/store/history/coverage-ranges.ts',
      line: `where('from_offset', '>', at)`,
      instead: `where('from_offset', '>', at).where('to_offset', 'is', null)`,
      test,
    },
    {
      name: 'batches of deleted updates stay',
      file,
      line: 'await truncateBatches(client, to);',
      instead: '',
      test,
    },
    {
      name: 'results of verify at later offsets stay',
      file,
      line: `await tables.deleteFrom('verifications').where('at_offset', '>', to).execute();`,
      instead: '',
      test,
    },
    {
      name: 'the stream keeps record times of deleted updates',
      file,
      line: 'checkpoint_record_time = (select max(record_time) from times),',
      instead: 'checkpoint_record_time = greatest(checkpoint_record_time, (select max(record_time) from times)),',
      test,
    },
  ],
};
