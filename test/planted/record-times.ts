/** Bugs in the handling of decreasing record times, which occur because one synchronizer is behind another. */
import type { PlantedArea } from './planted.ts';

const test = 'read/falling-times.test.ts';

export const recordTimes: PlantedArea = {
  name: 'record-times',
  defects: [
    {
      name: 'the newest time of the checkpoint is that of the last batch',
      file: 'src/store/write/stream-row.ts',
      line: 'checkpoint_record_time = greatest(checkpoint_record_time, $6),',
      instead: 'checkpoint_record_time = coalesce($6, checkpoint_record_time),',
      test,
    },
    {
      name: 'the last time of a batch counts as the newest',
      file: 'src/store/write/stream-row.ts',
      line: '.sort((a, b) => (a < b ? 1 : -1));',
      instead: '.reverse();',
      test,
    },
    {
      name: 'updates recorded before the hour of the one before are counted in its hour',
      file: 'src/model/activity.ts',
      line: 'if (hour !== this.#hour) this.#enter(hour);',
      instead: 'if (!(hour <= this.#hour)) this.#enter(hour);',
      test,
    },
    {
      name: 'the offset of a time is the highest one with an earlier time',
      file: 'migrations/read/20_read_paths.sql',
      line: 'order by u.effective_at desc, u."offset" desc limit 1;',
      instead: 'order by u."offset" desc limit 1;',
      test,
    },
    {
      name: 'the reported record time of a batch is that of its last synchronizer',
      file: 'src/pipeline/intake/batch-builder.ts',
      line: 'recordTimeMs: recordTimesMs.length === 0 ? undefined : Math.max(...recordTimesMs),',
      instead: 'recordTimeMs: recordTimesMs.at(-1),',
      test,
    },
    {
      name: 'the lag is that of the last batch',
      file: 'src/observe/figures/lag.ts',
      line: 'this.#recordTimeMs = Math.max(recordTimeMs, this.#recordTimeMs ?? recordTimeMs);',
      instead: 'this.#recordTimeMs = recordTimeMs;',
      test: 'observe/health/verdict.test.ts',
      only: 'slower synchronizer',
    },
  ],
};
