import type { PlantedArea } from './planted.ts';

const test = 'faults/refusals.long.test.ts';

export const quarantine: PlantedArea = {
  name: 'quarantine',
  defects: [
    {
      name: 'a server without memory is taken for rejected data',
      file: 'src/store/connection/store-error.ts',
      line: `'STORE_OUT_OF_RESOURCES'],`,
      instead: `'STORE_DATA_REFUSED'],`,
      test,
    },
    {
      name: 'an update that takes too long is quarantined',
      file: 'src/pipeline/follow/quarantine.ts',
      line: `'DUPLICATE_KEY',`,
      instead: `'DUPLICATE_KEY', 'STORE_STATEMENT_TIMEOUT',`,
      test,
    },
    {
      name: 'a unique index added by hand is taken for a key that the update repeats',
      file: 'src/store/write/duplicate.ts',
      line: "return constraint === (table === 'live' ? contractIndex : `${String(table)}_pkey`);",
      instead: 'return constraint !== null;',
      test,
    },
    {
      name: 'the checkpoint passes one update more than was quarantined',
      file: 'src/store/write/session.ts',
      line: 'to: update.offset, lastUpdate: undefined',
      instead: 'to: update.offset + 1, lastUpdate: undefined',
      test: 'e2e/quarantine.slow.test.ts',
    },
    {
      name: 'a rejection by an index added by hand is taken for a fault of the update',
      file: 'src/store/write/foreign-rules.ts',
      line: 'if (suspectRules.length === 0) return error;',
      instead: 'if (suspectRules.length >= 0) return error;',
      test: 'store/write/foreign-rules.test.ts',
    },
    {
      name: 'a failure of an unknown kind is taken for rejected data',
      file: 'src/store/connection/store-error.ts',
      line: `?? 'STORE_FAILED'`,
      instead: `?? 'STORE_DATA_REFUSED'`,
      test,
    },
  ],
};
