/** Faults of the process. */
import type { Fault } from './fault.ts';

export const processFaults: readonly Fault[] = [
  {
    id: 'X01',
    fault: 'SIGKILL at any moment',
    indexer: 'Recovers at the start',
    tests: {
      'test/e2e/kill.slow.test.ts': ['stores the same rows as an uninterrupted daemon'],
    },
  },
  {
    id: 'X02',
    fault: 'SIGTERM in a batch, in a seed, while waiting, in a query that hangs; twice',
    indexer: 'Commits or rolls back, releases the lock, exits in time with 0; at once with 75',
    tests: {
      'test/ha/process.long.test.ts': [
        'ends the process with 0 during a batch, without remaining sessions',
        'ends the process with 0 during the seed, and the next start completes the seed',
        'ends the process with 0 during a retry delay',
        'ends the process during a hanging query',
        'ends the process with 75 on the second signal',
      ],
    },
  },
  {
    id: 'X03',
    fault: 'The process is frozen and wakes (SIGSTOP, a paused machine)',
    indexer: 'Another one writes after the lease; it writes nothing when it wakes',
    tests: {
      'test/e2e/takeover.long.test.ts': [
        'takes over after the lease from a frozen process, which then becomes a standby',
      ],
    },
  },
  {
    id: 'X04',
    fault: 'Two indexers of one stream',
    indexer: 'One writes, the other stands by; without the lock the epoch still lets one commit',
    tests: {
      'test/e2e/takeover.long.test.ts': ['takes over at once from a killed process'],
      'test/store/lossless.test.ts': ['rejects a batch if another writer has taken over, and changes nothing'],
    },
  },
  {
    id: 'X05',
    fault: 'The writer disappears in the middle of a batch, its locks held',
    indexer: 'The new holder of the lock ends its session',
    tests: {
      'test/e2e/takeover.long.test.ts': ['takes over after the lease when the connection freezes at %f of a batch'],
    },
  },
  {
    id: 'X06',
    fault: 'The event loop is blocked for longer than the lease',
    indexer: 'As frozen',
    tests: {
      'test/e2e/takeover.long.test.ts': [
        'takes over from a process whose event loop is blocked for longer than the lease',
      ],
    },
  },
  {
    id: 'X07',
    fault: 'Little memory, much to read',
    indexer: 'Waits for Postgres instead of queueing',
    tests: {
      'test/faults/process.long.test.ts': ['stays below 300 MiB while the ledger sends 400 MB'],
    },
  },
  {
    id: 'X08',
    fault: 'An uncaught error: a bug',
    indexer: 'Exits with 70, printing only its kind and location',
    tests: {
      'test/faults/process.long.test.ts': ['ends the process with 70 without printing a secret'],
    },
  },
  {
    id: 'X09',
    fault: 'The wall clock jumps',
    indexer: 'Nothing: waits and leases use the monotonic clock',
    tests: {
      'test/faults/process.long.test.ts': ['does not change the stored rows'],
    },
  },
  {
    id: 'X10',
    fault: 'The reader of the log is gone',
    indexer: 'Continues without it',
    tests: {
      'test/ha/process.long.test.ts': ['continues when its output pipe is closed, and stops on SIGTERM'],
    },
  },
  {
    id: 'X11',
    fault: 'No file descriptor is left, the disk of the log is full',
    indexer: 'Retries sockets; continues without the log',
    untested: 'a limit low enough to matter also stops the test that sets it',
  },
  {
    id: 'X12',
    fault: 'The HTTP port is taken',
    indexer: 'Exits with 78 before requesting the lock',
    tests: {
      'test/ha/process.long.test.ts': ['does not change the database if the HTTP port is in use'],
    },
  },
  {
    id: 'X13',
    fault: 'Two streams in one database, one failing',
    indexer: 'The other one is not affected',
    tests: {
      'test/faults/process.long.test.ts': ['are independent: the second continues while the first is parked'],
    },
  },
  {
    id: 'X14',
    fault: 'A new release starts while the old one runs',
    indexer: 'Takes over when the old one stops; the old one changes no newer schema',
    tests: {
      'test/ha/process.long.test.ts': ['exits with SCHEMA_NEWER if a newer release has migrated the schema'],
    },
  },
];
