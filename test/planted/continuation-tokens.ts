/** Continuation tokens of a seed that was cut: stale ones, refused ones, and rows that were read before them. */
import type { PlantedArea } from './planted.ts';

const test = 'faults/continuation-tokens.test.ts';

export const continuationTokens: PlantedArea = {
  name: 'continuation-tokens',
  defects: [
    {
      name: 'a token that is refused is sent again for ever',
      file: 'src/pipeline/seed.ts',
      line: "  'LEDGER_CONTINUATION_TOKEN_INVALID',\n  'LEDGER_PRUNED',",
      instead: "  'LEDGER_PRUNED',",
      test,
      only: 'that the ledger does not know any more',
    },
    {
      name: 'a seed goes on with its token at another offset',
      file: 'src/pipeline/seed.ts',
      line: 'return { offset: seedOffset, token: seedToken, written: seedContracts };',
      instead: 'return { offset: ledgerEnd, token: seedToken, written: seedContracts };',
      test,
    },
    {
      name: 'a seed that starts over keeps the stale token',
      file: 'src/store/write/stream-row.ts',
      line: "'seed_offset = $2, seed_token = null, seed_contracts = 0',",
      instead: "'seed_offset = $2, seed_contracts = 0',",
      test,
    },
    {
      name: 'lifetimes of a seed that was given up stay',
      file: 'migrations/0009_narrower_rights.sql',
      line: 'truncate contracts, live, ended,',
      instead: 'truncate contracts, ended,',
      test,
    },
    {
      name: 'an unfinished seed goes on under another filter',
      file: 'src/store/write/stream-row.ts',
      line: 'if (row.filter_hash !== identity.filterHash) {',
      instead: 'if (row.seeded_at !== null && row.filter_hash !== identity.filterHash) {',
      test,
    },
  ],
};
