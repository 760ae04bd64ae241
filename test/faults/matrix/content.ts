/** Faults in the contents of updates that are hard to store. */
import type { Fault } from './fault.ts';

export const contentFaults: readonly Fault[] = [
  {
    id: 'D01',
    fault: 'NUL or lone surrogates in a payload',
    indexer: 'Stores them escaped and marked; they are read back exactly',
    tests: {
      'test/store/lossless.test.ts': ['is stored escaped and returned unchanged with %s'],
      'test/model/escape.test.ts': ['escapes exactly the texts that jsonb rejects'],
    },
  },
  {
    id: 'D02',
    fault: 'NUL or lone surrogates in ids and names',
    indexer: 'Escapes ids of commands and workflows; refuses a party with NUL by its offset',
    tests: {
      'test/store/lossless.test.ts': ['keeps an escaped NUL or lone surrogate in the command id and workflow id'],
      'test/e2e/quarantine.slow.test.ts': [
        'parks the indexer and is reported with its offset unless quarantine is allowed',
      ],
    },
  },
  {
    id: 'D03',
    fault: 'Numbers that JavaScript cannot hold',
    indexer: 'Keeps the text of payloads; refuses offsets beyond 2^53',
    tests: {
      'test/store/lossless.test.ts': ['keeps all digits of the number %s'],
      'test/ledger/frames/decode.test.ts': [
        'rejects offsets from 2^53, which JavaScript numbers cannot represent exactly',
      ],
    },
  },
  {
    id: 'D04',
    fault: 'Keys such as `__proto__`',
    indexer: 'Treats them as ordinary keys',
    tests: {
      'test/ledger/frames/raw-json.test.ts': ['as an ordinary key and leaves Object.prototype unchanged'],
    },
  },
  {
    id: 'D05',
    fault: 'Nesting 100,000 deep',
    indexer: 'Stores it escaped, without recursion',
    tests: {
      'test/ledger/frames/raw-json.test.ts': ['does not parse payloads, so the depth of a payload is unlimited'],
      'test/store/lossless.test.ts': ['is stored escaped and returned unchanged with %s'],
    },
  },
  {
    id: 'D06',
    fault: 'A duplicate key in an object',
    indexer: 'Uses the last one, as every JSON parser',
    tests: {
      'test/store/lossless.test.ts': ['keeps the last value of duplicate keys'],
    },
  },
  {
    id: 'D07',
    fault: 'Long texts, all of Unicode',
    indexer: 'Stores them; no index is on free text',
    tests: {
      'test/store/lossless.test.ts': ['is returned unchanged with 9,000 characters from all parts of Unicode'],
    },
  },
  {
    id: 'D08',
    fault: 'A text longer than 255 MiB',
    indexer: 'Postgres refuses it, so the update stops the stream or is quarantined',
    untested: 'takes more memory than the tests may use; `LEDGER_MAX_FRAME_BYTES` is at most 256 MiB unless it is set',
  },
  {
    id: 'D09',
    fault: 'An update with very many events',
    indexer: 'Writes one transaction, never split',
    tests: {
      'test/store/lossless.test.ts': ['is stored with all 20,000 events'],
    },
  },
  {
    id: 'D10',
    fault: 'Times with microseconds, years 1 and 9999',
    indexer: 'Stores them exactly',
    tests: {
      'test/store/lossless.test.ts': ['keeps microseconds, years 1 and 9999, and a traffic cost beyond 2^53'],
    },
  },
  {
    id: 'D11',
    fault: 'Names that are SQL, very long, or right-to-left',
    indexer: 'Uses them as values, never as part of a statement',
    tests: {
      'test/security/hostile-names.slow.test.ts': ['are escaped in view names, and the views can be read'],
      'test/store/lossless.test.ts': ['keeps special characters in names of parties, templates and choices'],
    },
  },
  {
    id: 'D12',
    fault: 'An update that Postgres or the decoder refuses',
    indexer:
      'Finds it by writing update by update; stops the stream, or quarantines the complete update and stores it later',
    tests: {
      'test/e2e/quarantine.slow.test.ts': ['is quarantined if INDEXER_QUARANTINE is set, and stored by a later retry'],
    },
  },
  {
    id: 'D13',
    fault: 'An update, or the list of active contracts, has a key twice',
    indexer: 'Names offset or contract and key; stops the stream, or quarantines the complete update',
    tests: {
      'test/faults/repeated-keys.long.test.ts': [
        'parks the indexer with its offset and the key: %s',
        'is quarantined with INDEXER_QUARANTINE, and later updates are stored',
        'parks the indexer with its number and contract if it occurs twice in %s',
      ],
    },
  },
  {
    id: 'D14',
    fault: 'Fields and events that a newer participant sends',
    indexer: 'Stores them raw or skips them; logs each name once and counts it',
    tests: {
      'test/faults/unknown.slow.test.ts': ['is stored raw or ignored, and logged once and counted by name'],
      'test/ledger/frames/unknown-fields.test.ts': ['are reported in every type of message'],
      'test/faults/unknown-future.slow.test.ts': [
        'is indexed with all known content, and its unknown content is counted',
        'parks the indexer while it rejects requests, and is followed again later',
      ],
    },
  },
];
