/** Faults of Postgres. */
import type { Fault } from './fault.ts';

export const postgresFaults: readonly Fault[] = [
  {
    id: 'S01',
    fault: 'Sessions are ended, idle or active',
    indexer: 'Retries; the process continues',
    tests: {
      'test/store/connection/database.test.ts': [
        'works again after its backend ended in the middle of a transaction',
        'works again after its backend ended while it was idle',
      ],
      'test/e2e/disturbed.long.test.ts': ['stores the same rows when Postgres repeatedly ends all its connections'],
    },
  },
  {
    id: 'S02',
    fault: 'The response to a commit is lost, or the commit is',
    indexer: 'Reads the checkpoint again; both are harmless',
    tests: {
      'test/chaos/campaign.long.test.ts': ['the indexer stores the same rows after faults of many kinds'],
    },
  },
  {
    id: 'S03',
    fault: 'The connection breaks at any message',
    indexer: 'As S02',
    tests: {
      'test/chaos/campaign.long.test.ts': [
        'the indexer stores the same rows when it is killed before every fortieth message of both connections',
      ],
    },
  },
  {
    id: 'S04',
    fault: 'A synchronous standby is gone, commits wait',
    indexer: 'Ends them at the time limit with an unknown result, as a lost response',
    untested: 'the setting is of the complete server; a lost response (S02) is the same to the indexer',
  },
  {
    id: 'S05',
    fault: 'Postgres crashes and loses confirmed commits',
    indexer: 'Continues from what is left',
    untested: 'only `npm run chaos -- --tier servers` may kill servers',
  },
  {
    id: 'S06',
    fault: 'Failover to a lagging standby',
    indexer: 'Finds the new primary, continues from its checkpoint',
    tests: {
      'test/ha/failover.slow.test.ts': [
        'connects to the primary, and to the promoted standby after the primary has crashed',
      ],
    },
  },
  {
    id: 'S07',
    fault: 'Read-only, or in recovery',
    indexer: 'Tries the next host, or waits',
    tests: {
      'test/ha/postgres.long.test.ts': ['waits while the database is read-only, and resumes automatically'],
    },
  },
  {
    id: 'S08',
    fault: 'No connection is left',
    indexer: 'Waits',
    tests: {
      'test/ha/postgres.long.test.ts': ['waits while its role has no free connections, and resumes automatically'],
    },
  },
  {
    id: 'S09',
    fault: 'Deadlock, conflict, lock or statement limit',
    indexer: 'Retries the complete batch; at the third statement limit writes update by update; quarantines nothing',
    tests: {
      'test/store/connection/store-error.test.ts': ['with SQLSTATE %s is %s, class %s, exit code %i'],
      'test/store/connection/database.test.ts': ['ends a statement at the statement timeout'],
      'test/faults/repeated-keys.long.test.ts': [
        'succeeds when its lock is released, and batches are full again after the searched range',
      ],
    },
  },
  {
    id: 'S10',
    fault: 'A transaction becomes idle',
    indexer: 'The server ends it within the lease; its locks are free',
    tests: {
      'test/ha/postgres.long.test.ts': [
        'that becomes idle is ended by the server within the lease, and its locks are released',
      ],
    },
  },
  {
    id: 'S11',
    fault: 'The disk is full',
    indexer: 'Waits, retries every 30 s; quarantines nothing',
    tests: {
      'test/ha/disk-full.long.test.ts': [
        'makes the indexer wait, and when space is freed it stores the same rows as without the fault',
      ],
      'test/pipeline/retry/retry.test.ts': ['waits half a minute for a full disk'],
    },
  },
  {
    id: 'S12',
    fault: 'The disk of the write-ahead log is full',
    indexer: 'Postgres stops; as not reachable',
    untested: 'it ends the server of all tests; to the indexer it is a server that is down',
  },
  {
    id: 'S13',
    fault: 'A frozen connection',
    indexer: 'Limits on both sides end it',
    tests: {
      'test/store/connection/database.test.ts': [
        'fails five seconds after the statement timeout if the connection is frozen',
        'cancels a query that hangs on a frozen connection, and closes within the time limit',
      ],
    },
  },
  {
    id: 'S14',
    fault: 'A commit that did not commit, after a swallowed failure',
    indexer: 'Detects it by the response',
    tests: {
      'test/store/connection/database.test.ts': ['is rejected if a statement failed and the callback ignored it'],
    },
  },
  {
    id: 'S15',
    fault: 'Columns or tables are changed by hand',
    indexer: 'Parks, writes nothing',
    tests: {
      'test/ha/postgres.long.test.ts': [
        'parks when a column is missing, writes nothing, and leaves the lock to a working writer',
      ],
    },
  },
  {
    id: 'S16',
    fault: 'The schema is of a newer release',
    indexer: 'Exits with 78, changes nothing',
    tests: {
      'test/e2e/bad-input.slow.test.ts': [
        'ends the program with 78 when a newer version created the schema, and the schema is not changed',
      ],
    },
  },
  {
    id: 'S17',
    fault: 'A migration meets active readers',
    indexer: 'Times out after five seconds, so that others do not wait',
    tests: {
      'test/ha/postgres.long.test.ts': [
        'that waits for a reader of the table fails after five seconds, so that it does not block others',
      ],
    },
  },
  {
    id: 'S18',
    fault: 'Rows are changed by hand',
    indexer: '`verify` names them',
    tests: {
      'test/verify/verify.slow.test.ts': ['a contract whose lifetime was ended', 'missing rows and additional rows'],
    },
  },
  {
    id: 'S19',
    fault: 'A standby waits for days',
    indexer: 'Holds no snapshot while waiting, so vacuum continues',
    tests: {
      'test/store/writer-lock.slow.test.ts': [
        'uses one connection for any number of attempts, and is held for longer than a lease',
      ],
    },
  },
  {
    id: 'S20',
    fault: 'The database was restored from an older copy',
    indexer: 'Continues from the checkpoint of the copy',
    untested: 'as S05 and S06: rows and checkpoint went back together',
  },
  {
    id: 'S21',
    fault: 'A pooler that shares sessions',
    indexer: 'Parks before anything is written',
    tests: {
      'test/ha/pooler.outside.test.ts': ['is rejected in %s mode, with a remedy'],
    },
  },
  {
    id: 'S22',
    fault: 'The password changes',
    indexer: 'Retries every 10 s for five minutes, then parks; reads `DATABASE_URL_FILE` again',
    tests: {
      'test/ha/postgres.long.test.ts': [
        'retries at long intervals after its password was changed, and resumes after it is changed back',
        'reads a changed password from the file that contains its URL',
      ],
    },
  },
  {
    id: 'S23',
    fault: 'A database that is not UTF8, or is missing',
    indexer: 'Exits with 78; parks',
    tests: {
      'test/e2e/bad-input.slow.test.ts': [
        'ends the program with 78 when its encoding is not UTF8, and nothing is created in it',
        'parks the indexer when the database does not exist',
      ],
    },
  },
  {
    id: 'S24',
    fault: 'Certificates that do not match',
    indexer: 'Refuses them, never ignores them',
    tests: {
      'test/store/connection/postgres-tls.slow.test.ts': [
        'is rejected if the certificate is for another host',
        'is rejected if only another authority or the public authorities are trusted',
      ],
    },
  },
];
