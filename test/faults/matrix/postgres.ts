/** Faults of Postgres. */
import type { Fault } from './fault.ts';

export const postgresFaults: readonly Fault[] = [
  {
    id: 'S01',
    fault: 'Sessions are ended, idle or active',
    indexer: 'Retries; the process continues',
    tests: {
      'test/store/connection/database.test.ts': [
        'works again after its backend is terminated during a transaction',
        'works again after its idle backend is terminated',
      ],
      'test/e2e/disturbed.long.test.ts': ['stores the same rows when Postgres repeatedly ends all its connections'],
    },
  },
  {
    id: 'S02',
    fault: 'The response to a commit is lost, or the commit is',
    indexer: 'Reads the checkpoint again; both are harmless',
    tests: {
      'test/chaos/campaign.long.test.ts': ['the indexer stores the same rows despite more than 40 kinds of faults'],
    },
  },
  {
    id: 'S03',
    fault: 'The connection breaks at any message',
    indexer: 'As S02',
    tests: {
      'test/chaos/campaign.long.test.ts': [
        'the indexer stores the same rows when killed before every 40th message of both connections',
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
      'test/store/connection/store-error.test.ts': ['is mapped from SQLSTATE %s to %s, retry class %s, exit code %i'],
      'test/store/connection/database.test.ts': ['cancels a statement at the statement timeout'],
      'test/faults/repeated-keys.long.test.ts': ['is retried, and updates are stored after its cause is removed'],
    },
  },
  {
    id: 'S10',
    fault: 'A transaction becomes idle',
    indexer: 'The server ends it within the lease; its locks are free',
    tests: {
      'test/ha/postgres.long.test.ts': ['is ended by the server when it is idle, and its locks are released'],
    },
  },
  {
    id: 'S11',
    fault: 'The disk is full',
    indexer: 'Waits, retries every 30 s; quarantines nothing',
    tests: {
      'test/ha/disk-full.long.test.ts': ['makes the indexer back off until space is freed, and changes no stored rows'],
      'test/pipeline/retry/retry.test.ts': ['waits half a minute if the disk is full'],
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
        'fails with STORE_UNREACHABLE if the connection is frozen',
        'cancels a query on a frozen connection when it closes',
      ],
    },
  },
  {
    id: 'S14',
    fault: 'A commit that did not commit, after a swallowed failure',
    indexer: 'Detects it by the response',
    tests: {
      'test/store/connection/database.test.ts': ['is rejected if the callback ignores a failed statement'],
    },
  },
  {
    id: 'S15',
    fault: 'Columns or tables are changed by hand',
    indexer: 'Parks, writes nothing',
    tests: {
      'test/ha/postgres.long.test.ts': ['parks without changes if a column is missing, and releases the writer lock'],
    },
  },
  {
    id: 'S16',
    fault: 'The schema is of a newer release',
    indexer: 'Exits with 78, changes nothing',
    tests: {
      'test/e2e/bad-input.slow.test.ts': ['exits with 78 and stores nothing if a newer version created the schema'],
    },
  },
  {
    id: 'S17',
    fault: 'A migration meets active readers',
    indexer: 'Times out after five seconds, so that others do not wait',
    tests: {
      'test/ha/postgres.long.test.ts': ['fails with STORE_LOCKED while a reader has locked the table'],
    },
  },
  {
    id: 'S18',
    fault: 'Rows are changed by hand',
    indexer: '`verify` names them',
    tests: {
      'test/verify/verify.slow.test.ts': [
        'reports a contract whose lifetime was ended',
        'reports missing and additional rows',
      ],
    },
  },
  {
    id: 'S19',
    fault: 'A standby waits for days',
    indexer: 'Holds no snapshot while waiting, so vacuum continues',
    tests: {
      'test/store/writer-lock.slow.test.ts': [
        'uses one connection per session, for any number of attempts and longer than a lease',
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
        'backs off after its password is changed, and resumes after the change is reverted',
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
        'exits with 78 and creates nothing if the database encoding is not UTF8',
        'parks if the database does not exist',
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
        'is rejected if the certificate authority is not trusted',
      ],
    },
  },
];
