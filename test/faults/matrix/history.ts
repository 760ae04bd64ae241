/** Faults in the history of the ledger. */
import type { Fault } from './fault.ts';

export const historyFaults: readonly Fault[] = [
  {
    id: 'H01',
    fault: 'The participant was reset',
    indexer: 'Parks with both remedies; deletes nothing',
    tests: {
      'test/history/parks.long.test.ts': [
        'parks the indexer at once while the ledger is empty, and the remedy names both solutions',
        'parks the indexer when its ledger end is past the checkpoint again',
      ],
    },
  },
  {
    id: 'H02',
    fault: 'Another participant at the same URL',
    indexer: 'Parks and names both',
    tests: {
      'test/history/parks.long.test.ts': ['parks the indexer with an error that names both participants'],
    },
  },
  {
    id: 'H03',
    fault: 'The participant was restored and has assigned the offsets again',
    indexer: 'Parks with the last offset at which both agree',
    tests: {
      'test/history/parks.long.test.ts': [
        'parks the indexer, and the command in the error resolves the park by rewinding to the newest common offset',
        'parks the indexer when only the last update differs',
      ],
      'test/history/restored.long.test.ts': [
        'without an update at the newest stored offset but with later ones parks the indexer, until it is reset',
        'with updates after the newest stored one, where it had none, parks the indexer, until it is reset',
      ],
    },
  },
  {
    id: 'H04',
    fault: 'Pruned past the checkpoint',
    indexer: 'Parks; `reseed` continues and records the gap, which ends at the pruned offset',
    tests: {
      'test/history/parks.long.test.ts': [
        'past the checkpoint during a stream parks the indexer, and earlier updates are kept',
      ],
      'test/history/reseed.long.test.ts': [
        'is bridged by reseed, which records the gap, corrects active contracts and keeps earlier history',
        'is the pruned offset, and every later update is stored',
      ],
    },
  },
  {
    id: 'H05',
    fault: 'Pruning comes near the checkpoint',
    indexer: 'Reports the distance',
    tests: {
      'test/history/parks.long.test.ts': ['is reported as a distance before it reaches the checkpoint'],
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
      'test/verify/plain-frame.test.ts': ['are the same on both sides: %s'],
      'test/read/typed/typed-failures.slow.test.ts': [
        'that the participant does not return is reported once, and read after the next start',
      ],
    },
  },
  {
    id: 'H08',
    fault: 'Contracts move between synchronizers, halves are in flight at the seed',
    indexer: 'Active on one at a time; in flight is not active',
    tests: {
      'test/model/batch.test.ts': [
        'records a contract that moves to another synchronizer and back as active on one synchronizer at a time',
        'does not treat an incomplete assign as evidence that the contract is active',
      ],
    },
  },
  {
    id: 'H09',
    fault: 'Record times of two synchronizers interleave',
    indexer: 'Orders by offset alone',
    tests: {
      'test/history/followed.slow.test.ts': [
        'may decrease between synchronizers, and order, resumption and the newest time per synchronizer stay correct',
      ],
    },
  },
  {
    id: 'H10',
    fault: 'The end of a contract whose begin was never seen',
    indexer: 'Stores the event, invents no contract',
    tests: {
      'test/history/followed.slow.test.ts': [
        'have archives that are stored as events, and no contract is created for them',
      ],
    },
  },
];
