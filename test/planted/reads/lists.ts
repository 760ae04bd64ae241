/**
 * Bugs in reading lists of active contracts: stale or rejected continuation tokens, rows that were read before the
 * rejection, request parameters, and the interpretation of a rejection.
 */
import type { PlantedArea } from '../planted.ts';

const test = 'faults/continuation-tokens.test.ts';

export const lists: PlantedArea = {
  name: 'lists',
  defects: [
    {
      name: 'a rejected token is sent again forever',
      file: 'src/pipeline/seed.ts',
      line: "  'LEDGER_CONTINUATION_TOKEN_INVALID',\n  'LEDGER_PRUNED',",
      instead: "  'LEDGER_PRUNED',",
      test,
      only: 'is discarded with its entries if the ledger does not recognize it',
    },
    {
      name: 'a seed continues with its token at another offset',
      file: 'src/pipeline/seed.ts',
      line: 'return { offset: seedOffset, token: seedToken, written: seedContracts };',
      instead:
        "return { offset: typeof offsetSource === 'number' ? offsetSource : await offsetSource(), token: seedToken, written: seedContracts };",
      test,
    },
    {
      name: 'a seed that starts over keeps the stale token',
      file: 'src/store/write/stream-row.ts',
      line: "'seed_offset = $2, seed_token = null, seed_contracts = 0,",
      instead: "'seed_offset = $2, seed_contracts = 0,",
      test,
    },
    {
      name: 'lifetimes of an abandoned seed stay',
      file: 'migrations/0012_redactor_bounds.sql',
      line: 'truncate contracts, live, ended,',
      instead: 'truncate contracts, ended,',
      test,
    },
    {
      name: 'an unfinished seed continues under another filter',
      file: 'src/store/write/stream-row.ts',
      line: 'const seedState = { seeded: row.seeded_at !== null, checkpoint, seedContracts };',
      instead: 'const seedState = { seeded: row.seeded_at !== null, checkpoint, seedContracts: 0 };',
      test,
    },
    {
      name: 'reassignments in flight are requested of no participant',
      file: 'src/ledger/api/request-format.ts',
      line: '...(isReleaseSince(release, inFlightOmittedSince) ? { includeIncompleteReassignments: true } : {}),',
      instead: '',
      test: 'faults/in-flight.slow.test.ts',
      only: 'in-flight reassignments of participant 3.7',
      fast: { test: 'ledger/api/request-format.test.ts' },
    },
    {
      name: 'a pre-release is older than its release',
      file: 'src/ledger/api/release.ts',
      line: '/^v?(\\d{1,4})\\.(\\d{1,4})(?![\\d])/u',
      instead: '/^v?(\\d{1,4})\\.(\\d{1,4})(?:\\.\\d+)?$/u',
      test: 'ledger/api/release.test.ts',
    },
    {
      name: 'an interrupted seed continues with the token of another version',
      file: 'src/pipeline/seed.ts',
      line: 'if (seedRelease === source.release) return',
      instead: 'return',
      test: 'pipeline/seed.test.ts',
      only: 'was upgraded',
    },
    {
      name: 'a list that two versions sent is accepted',
      file: 'src/pipeline/seed.ts',
      line: 'if (version === before) return undefined;',
      instead: 'if (version !== undefined) return undefined;',
      test: 'pipeline/seed.test.ts',
      only: 'while the list was read',
    },
    {
      name: 'reassignments in flight pass for pruned updates',
      file: 'src/pipeline/proof/in-flight.ts',
      line: 'if (pruned === undefined || offset < pruned) return refusalError;',
      instead: 'if (pruned !== undefined) return refusalError;',
      test: 'pipeline/seed.test.ts',
      only: 'rejected as pruned',
    },
    {
      name: 'a seed that was requested without them is not reported as doubtful',
      file: 'src/ledger/api/release.ts',
      line: 'if (seedHasInFlight === true) return false;',
      instead: 'if (seedHasInFlight !== null) return false;',
      test: 'ledger/api/release.test.ts',
    },
  ],
};
