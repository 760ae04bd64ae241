/** Faults in the history of the ledger. */
import type { Fault } from './fault.ts';

export const historyFaults: readonly Fault[] = [
  {
    id: 'H01',
    fault: 'The participant was reset',
    indexer: 'Parks with both remedies; deletes nothing',
    tests: {
      'test/history/parks.long.test.ts': [
        'parks the indexer if the ledger is empty, and the remedy names both solutions',
        'parks the indexer if its new ledger end is past the checkpoint',
      ],
    },
  },
  {
    id: 'H02',
    fault: 'Another participant at the same URL',
    indexer: 'Parks and names both',
    tests: {
      'test/history/parks.long.test.ts': ['parks the indexer with an error that names the new participant'],
    },
  },
  {
    id: 'H03',
    fault: 'The participant was restored and has assigned the offsets again',
    indexer: 'Parks with the last offset at which both agree',
    tests: {
      'test/history/parks.long.test.ts': [
        'parks the indexer until it is reset to the newest common offset',
        'parks the indexer if only the last update differs',
      ],
      'test/history/restored.long.test.ts': [
        'parks the indexer until reset --to if it lacks only the newest stored update',
        'parks the indexer until reset --to if it has a new update below the checkpoint',
      ],
    },
  },
  {
    id: 'H04',
    fault: 'Pruned past the checkpoint',
    indexer: 'Parks; `reseed` continues and records the gap, which ends at the pruned offset',
    tests: {
      'test/history/parks.long.test.ts': ['parks the indexer if it passes the checkpoint, and stored updates are kept'],
      'test/history/reseed.long.test.ts': [
        'records the gap, corrects active contracts and keeps earlier history',
        'ends the gap at the pruned offset, and every later update is stored',
      ],
    },
  },
  {
    id: 'H05',
    fault: 'Pruning comes near the checkpoint',
    indexer: 'Reports the distance',
    tests: {
      'test/history/parks.long.test.ts': ['is reported as its distance from the checkpoint in a metric'],
    },
  },
  {
    id: 'H06',
    fault: 'A package is upgraded',
    indexer: 'Stores payloads as before; views get the new fields',
    tests: {
      'test/read/typed/typed-views.test.ts': [
        'appends the fields of the next version with null in earlier rows, and keeps dependent views',
      ],
    },
  },
  {
    id: 'H07',
    fault: 'An interface view fails, a package cannot be read',
    indexer: 'Stores the contract with the status of the view; continues without typed views',
    tests: {
      'test/verify/plain-frame.test.ts': ['is equal for ledger and database: %s'],
      'test/read/typed/typed-failures.slow.test.ts': [
        'is reported once if missing on the participant, and read after the next start',
      ],
    },
  },
  {
    id: 'H08',
    fault: 'Contracts move between synchronizers, halves are in flight at the seed',
    indexer: 'Active on one at a time; in flight is not active',
    tests: {
      'test/model/batch.test.ts': [
        'starts a new lifetime at each assignment to another synchronizer',
        'starts no lifetime for an incomplete assignment',
      ],
    },
  },
  {
    id: 'H09',
    fault: 'Record times of two synchronizers interleave',
    indexer: 'Orders by offset alone',
    tests: {
      'test/history/followed.slow.test.ts': [
        'may decrease between updates, and the newest time per synchronizer is stored',
      ],
    },
  },
  {
    id: 'H10',
    fault: 'The end of a contract whose begin was never seen',
    indexer: 'Stores the event, invents no contract',
    tests: {
      'test/history/followed.slow.test.ts': ['are stored without adding a contract'],
    },
  },
];
