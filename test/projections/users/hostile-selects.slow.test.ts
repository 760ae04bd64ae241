/** Hostile SELECTs of users are refused, and change nothing even if they are not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../../support/database.ts';
import { hostileObjects, hostileSelects } from './hostile-selects.ts';
import { transfersSql, UserWorld } from './world.ts';

let user: UserWorld;
beforeAll(async () => {
  user = await UserWorld.open(200);
  await query(user.url, hostileObjects(user.role));
});
afterAll(() => user.close());

describe('a hostile SELECT is refused', () => {
  it.each(hostileSelects)('%s', { timeout: 120_000 }, async (_, sql, error) => {
    await expect(user.check(sql)).rejects.toThrow(error);
    expect(await query(user.url, `select from pg_class where relname like 'checked%'`)).toEqual([]);
  });
});

/** Replaces the checked function of a projection, as a SELECT that passed the checks would not. */
async function replaceSelect(body: string): Promise<void> {
  await query(
    user.url,
    `create or replace function derived."transfers$1"(bigint, bigint) returns setof derived."transfers$1" language plpgsql as $hostile$
     begin ${body} end $hostile$`,
  );
}

/** State of the database that a hostile SELECT could change, as text. */
async function state(): Promise<string> {
  const rows = await query(
    user.url,
    `select (select count(*) from ledger.contracts) as contracts, (select count(*) from ledger.updates) as updates,
            (select count(*) from pg_class) as classes, (select count(*) from pg_largeobject_metadata) as objects,
            (select last_value || ' ' || is_called from public.numbers) as numbers,
            (select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) as locks,
            (select md5(string_agg(rolname || rolsuper, ',' order by oid)) from pg_roles where rolname in ('${user.role}', 'hostile', current_user)) as roles,
            (select count(*) from public.others) as others`,
  );
  return JSON.stringify(rows);
}

/** Attacks whose effects end with the transaction, so that they do not fail. */
const harmless: readonly string[] = ['an advisory lock', 'a notification'];
/** Attacks that are tried again with smaller ranges before the projection is parked. */
const slow: readonly string[] = ['an endless loop', 'many rows'];

describe('a hostile SELECT that passed the checks changes nothing', () => {
  beforeAll(async () => {
    await user.add('transfers', transfersSql);
    await query(user.url, 'grant all on public.others, public.numbers to public');
    await query(user.url, 'grant all on schema public to public');
  });

  it.each([
    ['DML', `delete from ledger.contracts;`],
    ['DML as its own role', `insert into public.others values ('a');`],
    ['DML after leaving the role', `reset role; delete from ledger.contracts;`],
    ['another role', `perform set_config('role', session_user, true); insert into public.others values ('a');`],
    ['no role', `perform set_config('role', 'none', false); insert into public.others values ('a');`],
    [
      'a writable transaction',
      `perform set_config('transaction_read_only', 'off', true); insert into public.others values ('a');`,
    ],
    [
      'a writable subtransaction',
      `begin set local transaction_read_only = off; insert into public.others values ('a'); exception when others then insert into public.others values ('a'); end;`,
    ],
    ['DDL', 'create table public.made (a integer);'],
    ['DDL after leaving the role', 'reset role; drop table ledger.updates;'],
    ['a temporary table', 'create temporary table made (a integer); insert into made values (1);'],
    ['a role', 'reset role; create role hostile superuser;'],
    ['a commit', `insert into public.others values ('a'); commit;`],
    ['a sequence', `perform nextval('public.numbers');`],
    ['a large object', 'reset role; perform lo_create(0);'],
    ['an advisory lock', `reset role; perform pg_advisory_lock(7);`],
    ['a program', `reset role; copy public.others from program 'echo a';`],
    ['a notification', `notify ledger_offset, '1';`],
    ['an endless loop', 'loop null; end loop;'],
    [
      'many rows',
      'return query select t.* from generate_series(1, 1000000000) i, (select 1::bigint, 1, null::text, null::text, null::text, null::numeric, null::timestamptz) t;',
    ],
    [
      'rows outside the range',
      'return query select 99999999::bigint, 1, null::text, null::text, null::text, null::numeric, null::timestamptz;',
    ],
    ['an error', `raise exception 'hostile';`],
  ])('%s', { timeout: 120_000 }, async (attack, body) => {
    await user.fill();
    const before = await state();
    await replaceSelect(`${body} return;`);
    await query(
      user.url,
      `update ledger.projections set covered = '{}', outdated = '{(,)}', problem = null where name = 'transfers$1'`,
    );
    const failed = await user.fill();
    const [{ problem } = {}] = await query(
      user.url,
      `select problem from ledger.projections where name = 'transfers$1'`,
    );
    expect(await state()).toBe(before);
    const built = await query(
      user.url,
      `select name from ledger.projections where view_name is null and (not is_filled or problem is not null)`,
    );
    expect(built).toEqual([]);
    // Before Postgres 16, a read-only transaction may create large objects; it is rolled back.
    const isHarmless = [...harmless, ...slow].includes(attack) || (attack === 'a large object' && failed.length === 0);
    expect(await user.storedCount('transfers$1')).toBe(0);
    expect({ failed, problem }).toEqual({
      failed: isHarmless ? [] : ['transfers$1'],
      problem: isHarmless ? null : expect.stringMatching(/^PROJECTION_/),
    });
  });
});
