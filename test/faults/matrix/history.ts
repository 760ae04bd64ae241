/** Faults in the history of the ledger. */
import type { Fault } from './fault.ts';

export const historyFaults: readonly Fault[] = [
  {
    id: 'H01',
    fault: 'The participant was reset',
    indexer: 'Parks with both remedies; deletes nothing',
    tests: {
      'test/history/parks.long.test.ts': [
        'parks at once while it is empty, and names both ways out',
        'parks when it has overtaken our checkpoint',
      ],
    },
  },
  {
    id: 'H02',
    fault: 'Another participant at the same URL',
    indexer: 'Parks and names both',
    tests: {
      'test/history/parks.long.test.ts': ['parks and names both'],
    },
  },
  {
    id: 'H03',
    fault: 'The participant was restored and has assigned the offsets again',
    indexer: 'Parks with the last offset at which both agree',
    tests: {
      'test/history/parks.long.test.ts': [
        'parks with the command that goes back to where both agree, and that command resolves it',
        'parks when only the last update is another one',
      ],
      'test/history/restored.long.test.ts': [
        'without an update at our newest offset, with later ones: parks, and reset resolves it',
        'with updates after our newest one, where it had reported none: parks, and reset resolves it',
      ],
    },
  },
  {
    id: 'H04',
    fault: 'Pruned past the checkpoint',
    indexer: 'Parks; `reseed` continues and records the gap, which ends at the pruned offset',
    tests: {
      'test/history/parks.long.test.ts': [
        'parks an indexer that falls behind it during a stream, and keeps earlier updates',
      ],
      'test/history/reseed.long.test.ts': [
        'is bridged by reseed: active contracts are right, the history stays, the gap is recorded',
        'is the pruned offset: every later update is followed',
      ],
    },
  },
  {
    id: 'H05',
    fault: 'Pruning comes near the checkpoint',
    indexer: 'Reports the distance',
    tests: {
      'test/history/parks.long.test.ts': ['has its distance from the checkpoint in /status before it gets there'],
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
        'records a contract that moves to another synchronizer and back as active on one at a time',
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
        'fall between two synchronizers; order, resume and the newest time per synchronizer stay right',
      ],
    },
  },
  {
    id: 'H10',
    fault: 'The end of a contract whose begin was never seen',
    indexer: 'Stores the event, invents no contract',
    tests: {
      'test/history/followed.slow.test.ts': [
        'have archives that are stored as events, and no contract is invented for them',
      ],
    },
  },
];
