/** A database that was filled before the read side existed has, once migrated, the counts and sums of one filled today. */
import { expect, it } from 'vitest';
import { decodeUpdate } from '../../src/ledger/frames/decode.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { migrate, migrationFiles } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import * as frames from '../support/frames.ts';
import { randomHistory } from './random-history.ts';
import { identity } from '../support/schemas.ts';

const history = randomHistory(11, 300);

it('counts what is stored already as the writer would have', async () => {
  await using created = await createTestDatabase();
  const open = (schema: string): ReturnType<typeof openDatabase> =>
    openDatabase({ url: created.url, schema, statementTimeoutMs: 60_000, applicationName: 'test upgrade' });
  const today = open('today');
  await migrate(today);
  const session = await openSession(today, identity);
  await session.publishSeed(0, 'genesis');
  const batch = session.newBatch(0);
  for (const update of history) batch.add(decodeUpdate(frames.text(update)));
  await session.writeBatch(batch, 0);
  await today.close();

  const old = open('old');
  const files = await migrationFiles();
  await migrate(
    old,
    files.filter(({ id }) => id < '0003'),
  );
  const tables = await query(
    created.url,
    `select c.relname as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'old'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_migrations' group by 1`,
  );
  for (const { name, columns } of tables) {
    const which = name === 'activity_hourly' ? 'where template_pk <> 0' : '';
    const [table, list] = [String(name), String(columns)];
    await query(created.url, `insert into old.${table} (${list}) select ${list} from today.${table} ${which}`);
  }
  await migrate(old);
  await old.close();
  const sums = await query(
    created.url,
    `select sum(transactions) > 0 and sum(paid_traffic_cost) > 0 and sum(delay_seconds) > 0 as counted
       from old.activity_hourly where template_pk = 0`,
  );
  expect(sums).toEqual([{ counted: true }]);
  expect(await digestOf(created.url, 'old')).toBe(await digestOf(created.url, 'today'));
});
