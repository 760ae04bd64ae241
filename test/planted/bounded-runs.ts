/** Bugs in runs whose end offset has no transaction. Such a run must store all updates up to that offset, and end. */
import type { PlantedArea } from './planted.ts';

const test = 'faults/bounded-ends.test.ts';

export const boundedRuns: PlantedArea = {
  name: 'bounded-runs',
  defects: [
    {
      name: 'the stream is requested up to one offset before the end',
      file: 'src/ledger/api/request-format.ts',
      line: 'return endInclusive === undefined ? request : { ...request, endInclusive };',
      instead: 'return endInclusive === undefined ? request : { ...request, endInclusive: endInclusive - 1 };',
      test,
    },
    {
      name: 'an end without an update is taken for reached, and the checkpoint stays before it',
      file: 'src/pipeline/follow/follow.ts',
      line: 'if (this.#from >= offset) return true;',
      instead: 'if (offset > 0) return true;',
      test,
    },
    {
      name: 'a range of a single offset is never requested',
      file: 'src/pipeline/intake/bound.ts',
      line: 'if (end > checkpoint) return end;',
      instead: 'if (end > checkpoint + 1) return end;',
      test,
    },
    {
      name: 'the update at the end is taken for one past it',
      file: 'src/pipeline/follow/offset-order.ts',
      line: 'if (end !== undefined && offset > end) return',
      instead: 'if (end !== undefined && offset >= end) return',
      test,
    },
    {
      name: 'a topology update does not move the checkpoint',
      file: 'src/model/batch.ts',
      line: 'this.offset = Math.max(this.offset, update.offset);',
      instead: "if (update.kind !== 'topology') this.offset = Math.max(this.offset, update.offset);",
      test,
    },
  ],
};
