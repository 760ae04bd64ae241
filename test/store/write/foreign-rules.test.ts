/**
 * An index, constraint or trigger of a third party rejects a valid update. The error contains the name of that object,
 * and no data of the update.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toIndexerError } from '../../../src/errors/indexer-error.ts';
import type { Database } from '../../../src/store/connection/database.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { foreignRules } from '../../../src/store/write/foreign-rules.ts';
import { openSession } from '../../../src/store/write/session.ts';
import { payloadIndex } from '../../../src/store/reads/index-advice.ts';
import type { IndexerError } from '../../../src/errors/indexer-error.ts';
import { query, type TestDatabase } from '../../support/database.ts';
import * as frames from '../../support/frames.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { identity } from '../../support/schemas.ts';
import { decodeUpdate } from '../../support/wire/decode.ts';

let testDatabase: TestDatabase;
let database: Database;

beforeEach(async () => {
  testDatabase = await createMigratedDatabase();
  database = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
  });
});
afterEach(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Writes an update with this payload and witness. Resolves to its failure with the reason. */
async function refusal(payload: frames.JsonRecord, witness = 'alice::1220'): Promise<IndexerError> {
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  const batch = session.newBatch(0);
  const event = frames.created({ offset: 1, createArgument: payload, witnessParties: [witness] });
  batch.add(decodeUpdate(frames.text(frames.transaction(1, [{ CreatedEvent: event }]))));
  const caughtError: unknown = await session.writeBatch(batch, 0).then(
    () => undefined,
    (error: unknown) => error,
  );
  return session.explained(toIndexerError(caughtError), 1);
}

const textValues = Array.from({ length: 150_000 }, (_, n) => `w${String(n)}`).join(' ');

describe('valid update', () => {
  it.each([
    [
      'a full-text index',
      `create index theirs on ledger.contracts using gin (to_tsvector('simple', payload ->> 'note'))`,
      { note: textValues },
      '54000',
      'index ledger.theirs',
      'drop index concurrently ledger.theirs',
    ],
    [
      'an index on a cast',
      `create index theirs on ledger.contracts (((payload ->> 'amount')::numeric))`,
      { amount: 'ten' },
      '22P02',
      'index ledger.theirs',
      'drop index concurrently ledger.theirs',
    ],
    [
      'a partial index',
      `create index theirs on ledger.contracts ("offset") where (payload ->> 'amount')::numeric > 1`,
      { amount: 'ten' },
      '22P02',
      'index ledger.theirs',
      'drop index concurrently ledger.theirs',
    ],
    [
      'a constraint',
      `alter table ledger.contracts add constraint theirs check (payload ->> 'amount' <> 'ten')`,
      { amount: 'ten' },
      '23514',
      'constraint theirs of ledger.contracts',
      'alter table ledger.contracts drop constraint theirs',
    ],
    [
      'a trigger',
      `create function public.refuse() returns trigger language plpgsql as $$
       begin perform (new.payload ->> 'amount')::numeric; return new; end $$;
       create trigger theirs before insert on ledger.contracts for each row execute function public.refuse()`,
      { amount: 'ten' },
      '22P02',
      'trigger theirs of ledger.contracts',
      'drop trigger theirs on ledger.contracts',
    ],
  ])(
    'is reported as STORE_CONSTRAINT if %s rejects the update',
    async (_caseName, statement, payload, sqlstate, name, removal) => {
      await query(testDatabase.url, statement);
      const error = await refusal(payload);
      expect(error).toMatchObject({ code: 'STORE_CONSTRAINT', retry: 'park', exitCode: 78, facts: { sqlstate } });
      expect(error.message).toContain(name);
      expect(error.remedy).toContain(`\`${removal}\``);
      expect(`${error.message} ${error.remedy}`).not.toContain('ten');
      // Runs the statement in the remedy unchanged.
      await query(testDatabase.url, removal);
      expect(await foreignRules(database)).toEqual([]);
    },
  );

  it('is reported with a remedy for each foreign index, but not for indexes of index create', async () => {
    const { name, definition } = payloadIndex(`payload ->> 'owner'`, 'spgist');
    await query(
      testDatabase.url,
      `set search_path to ledger; create index ${name} ${definition};
       create index theirs on contracts (((payload ->> 'amount')::numeric));
       create index "Theirs too" on contracts (((payload ->> 'price')::numeric));
       create index plain on contracts (created_at)`,
    );
    const { remedy } = await refusal({ amount: 'ten' });
    expect(remedy).toMatch(/^drop or change what refuses it: /);
    expect(remedy).toContain('`drop index concurrently ledger.theirs`');
    expect(remedy).toContain('`drop index concurrently ledger."Theirs too"`');
    expect(remedy).not.toContain(name);
    expect(remedy).not.toContain('plain');
  });
});

it('invalid value is reported as STORE_DATA_REFUSED even if the tables have foreign rules', async () => {
  await query(testDatabase.url, `create index theirs on ledger.contracts (((payload ->> 'amount')::numeric))`);
  const error = await refusal({ amount: '10' }, `Eve${String.fromCharCode(0)}::1220`);
  expect(error).toMatchObject({ code: 'STORE_DATA_REFUSED', retry: 'park', exitCode: 65 });
});

it('foreignRules() returns nothing for the migrated tables', async () => {
  expect(await foreignRules(database)).toEqual([]);
});
