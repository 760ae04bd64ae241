/**
 * Tests errors with which Postgres rejects one update. Postgres itself raises them at a row of that update. An error
 * that is not caused by the data is retried or parks the indexer, however long it lasts. The update is never
 * quarantined or skipped.
 */
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { scriptedLedger, validUpdates } from '../e2e/runs/scripted-ledger.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';

let ledger: Awaited<ReturnType<typeof scriptedLedger>>;
/** URL of the database in which the test indexes. */
let url: string;
/** Digest of an indexer that met no error. */
let calmDigest: string;

/** Quarantine is allowed, so that an update that is not quarantined proves the rule under test. */
const run = (): Promise<IndexerRun> =>
  runIndexer({
    LEDGER_URL: ledger.url,
    DATABASE_URL: url,
    INDEXER_START: 'genesis',
    INDEXER_QUARANTINE: 'true',
  });

/** Creates an empty database with a trigger that fails at the contract of update 2. */
async function preparedDatabase(): Promise<TestDatabase> {
  const database = await createMigratedDatabase();
  ({ url } = database);
  await query(
    url,
    `create table fault (statement text);
     create function refuse() returns trigger language plpgsql as $$
     begin
       if ledger.id_text(new.contract_id) = '00b' and exists (select from public.fault) then
         execute (select statement from public.fault);
       end if;
       return new;
     end $$;
     create trigger refuse before insert on ledger.contracts for each row execute function public.refuse()`,
  );
  return database;
}

/**
 * Replaces the error in one statement, so that an indexer that retries meanwhile meets either the old or the new error.
 */
async function refuseWith(statement: string | undefined): Promise<void> {
  const next = statement === undefined ? 'select' : `insert into fault values ($fault$${statement}$fault$)`;
  await query(url, `with former as (delete from fault) ${next}`);
}

/** Raises the SQLSTATE that the server would return. Errors that a trigger can really provoke are tested separately. */
const raiseSql = (sqlstate: string): string =>
  `do $$ begin raise exception 'of the server' using errcode = '${sqlstate}'; end $$`;

beforeAll(async () => {
  ledger = await scriptedLedger(validUpdates);
  const database = await createMigratedDatabase();
  ({ url } = database);
  {
    await using indexer = await run();
    await indexer.reaches(5);
  }
  calmDigest = await digestOf(url, 'ledger');
  await database.drop();
});
afterAll(() => ledger[Symbol.asyncDispose]());

/** Waits until the failure of the update is the last reported error. */
async function failsWith(indexer: IndexerRun, code: string, messageText: string): Promise<void> {
  await waitFor(`${code} (${messageText})`, async () => {
    const { lastError } = await indexer.status();
    const { code: last, message } = (lastError ?? {}) as { readonly code?: string; readonly message?: string };
    return last === code && message?.includes(messageText) === true ? true : undefined;
  });
}

async function waitForState(indexer: IndexerRun, state: string): Promise<void> {
  await waitFor(`state ${state}`, async () => ((await indexer.status()).state === state ? true : undefined), 30_000);
}

/** Expects that nothing was quarantined, and that nothing of update 2 or later was stored. */
async function expectNoProgress(): Promise<void> {
  const [row] = await query(
    url,
    `select (select count(*)::int from ledger.quarantine) as aside, (select checkpoint::int from ledger.stream) as checkpoint,
            (select count(*)::int from ledger.updates where "offset" > 1) as updates,
            (select count(*)::int from ledger.contracts where "offset" > 1) as contracts`,
  );
  expect(row).toMatchObject({ aside: 0, updates: 0, contracts: 0 });
  expect(Number(row?.['checkpoint'])).toBeLessThan(2);
}

describe('a Postgres failure', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await preparedDatabase();
  });
  afterAll(() => database.drop());

  describe('a transient SQLSTATE', () => {
    let indexer: IndexerRun;
    beforeAll(async () => {
      await refuseWith(raiseSql('40001'));
      indexer = await run();
    });
    afterAll(() => indexer[Symbol.asyncDispose]());

    it.each([
      ['a full disk', '53100', 'STORE_FULL'],
      ['an unwritable disk', '58030', 'STORE_FULL'],
      ['no memory', '53200', 'STORE_OUT_OF_RESOURCES'],
      ['a resource limit', '53400', 'STORE_OUT_OF_RESOURCES'],
      ['no free connection', '53300', 'STORE_TOO_MANY_CONNECTIONS'],
      ['a serialization failure', '40001', 'STORE_CONFLICT'],
      ['a deadlock', '40P01', 'STORE_CONFLICT'],
      ['a rolled back transaction', '40000', 'STORE_TRANSACTION_ABORTED'],
      ['a lock that was not granted', '55P03', 'STORE_LOCKED'],
      ['a server shutdown', '57P01', 'STORE_UNREACHABLE'],
      ['a server crash', '57P02', 'STORE_UNREACHABLE'],
      ['a server start', '57P03', 'STORE_UNREACHABLE'],
      ['a broken connection', '08006', 'STORE_UNREACHABLE'],
      ['a read-only server', '25006', 'STORE_READ_ONLY'],
      ['an idle session timeout', '25P03', 'STORE_SESSION_TIMEOUT'],
    ])('is retried: %s (%s)', async (_caseName, sqlstate, code) => {
      await refuseWith(raiseSql(sqlstate));
      await failsWith(indexer, code, sqlstate);
      expect((await indexer.status()).state).not.toBe('parked');
      await expectNoProgress();
    });
  });

  it.each([
    ['a revoked right', '42501', 'STORE_NOT_PERMITTED'],
    ['a missing table', '42P01', 'STORE_SCHEMA_MISMATCH'],
    ['a refused login', '28000', 'STORE_LOGIN_REFUSED'],
    ['a dropped database', '3D000', 'STORE_DATABASE_MISSING'],
    ['a constraint added by hand', '23514', 'STORE_CONSTRAINT'],
    ['an exclusion constraint added by hand', '23P01', 'STORE_CONSTRAINT'],
    ['a trigger added by hand', 'P0001', 'STORE_FAILED'],
    ['a damaged table', 'XX001', 'STORE_FAILED'],
    ['an internal error of the server', 'XX000', 'STORE_FAILED'],
    ['a missing file of the server', '58P01', 'STORE_FAILED'],
    ['an object in use', '55006', 'STORE_FAILED'],
  ])('parks the indexer: %s (%s)', async (_caseName, sqlstate, code) => {
    await refuseWith(raiseSql(sqlstate));
    await using indexer = await run();
    await failsWith(indexer, code, sqlstate);
    await waitForState(indexer, 'parked');
    await expectNoProgress();
  });

  it.each([
    ['a terminated connection', 'select pg_terminate_backend(pg_backend_pid())', 'STORE_UNREACHABLE', ''],
    ['a lock of another session', 'lock table public.held in access exclusive mode nowait', 'STORE_LOCKED', '55P03'],
    [
      'the limit of temporary files',
      `set local temp_file_limit = 0; set local work_mem = '64kB'; select count(*) from (select g from generate_series(1, 100000) g order by -g) s`,
      'STORE_OUT_OF_RESOURCES',
      '53400',
    ],
  ])('is retried if a statement causes it: %s', async (_what, statement, code, sqlstate) => {
    await query(url, 'create table if not exists held ()');
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query('begin; lock table public.held in share mode');
    await refuseWith(statement);
    {
      await using indexer = await run();
      await failsWith(indexer, code, sqlstate);
      expect((await indexer.status()).state).not.toBe('parked');
    }
    await holder.end();
    await expectNoProgress();
  });

  it('parks the indexer with the offset if each statement is cancelled', async () => {
    await refuseWith('select pg_cancel_backend(pg_backend_pid()); select pg_sleep(5)');
    await using indexer = await run();
    await waitForState(indexer, 'parked');
    await failsWith(indexer, 'STORE_STATEMENT_TIMEOUT', 'offset 2');
    const [row] = await query(url, 'select count(*)::int as aside from ledger.quarantine');
    expect(row).toEqual({ aside: 0 });
  });

  it('parks the indexer if a unique index added by hand causes it', async () => {
    await refuseWith(undefined);
    await query(
      url,
      `create unique index theirs on ledger.contracts (template_pk) where ledger.id_text(contract_id) in ('00b', '00c')`,
    );
    {
      await using indexer = await run();
      await waitForState(indexer, 'parked');
      await failsWith(indexer, 'STORE_CONSTRAINT', 'theirs');
    }
    const [row] = await query(
      url,
      'select (select count(*)::int from ledger.quarantine) as aside, checkpoint::int from ledger.stream',
    );
    expect(row).toEqual({ aside: 0, checkpoint: 2 });
    await query(url, 'drop index ledger.theirs');
  });

  it('leaves the same rows as a run without failures', async () => {
    await refuseWith(undefined);
    await using indexer = await run();
    await indexer.reaches(5);
    expect(await digestOf(url, 'ledger')).toBe(calmDigest);
  });
});

describe('a trigger or index added by hand', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await preparedDatabase();
  });
  afterEach(() => database.drop());

  it.each([
    ['an untranslatable character', '22P05'],
    ['a number out of range', '22003'],
    ['a row larger than a limit', '54000'],
  ])('parks the indexer with the name of the trigger: %s (%s)', async (_what, sqlstate) => {
    await refuseWith(raiseSql(sqlstate));
    await using indexer = await run();
    await waitForState(indexer, 'parked');
    await failsWith(indexer, 'STORE_CONSTRAINT', 'trigger refuse of ledger.contracts');
    await expectNoProgress();
  });

  it('parks the indexer until an index on a cast is dropped', async () => {
    await query(
      url,
      `create function public.of_others(text) returns numeric language sql immutable return case when $1 = '00b' then ('x' || $1)::numeric end;
       create index theirs on ledger.contracts (public.of_others(ledger.id_text(contract_id)))`,
    );
    {
      await using indexer = await run();
      await waitForState(indexer, 'parked');
      await failsWith(indexer, 'STORE_CONSTRAINT', 'index ledger.theirs');
      await expectNoProgress();
    }
    await query(url, 'drop index ledger.theirs');
    await using indexer = await run();
    await indexer.reaches(5);
    expect(await digestOf(url, 'ledger')).toBe(calmDigest);
  });
});
