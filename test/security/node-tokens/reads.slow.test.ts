/** Users of the participant read exactly what the participant lets them read, whatever their statements try. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../../support/database.ts';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { waitFor } from '../../support/wait-for.ts';
import { canReadAs, NodeWorld } from './world.ts';

const eventIds = `select "offset" || '-' || node_id from explore.events order by "offset", node_id`;

describe('a token of the participant', needs(limitsSkipReason), () => {
  let world: NodeWorld;
  let [alice, bob]: readonly string[] = [];
  let aliceToken: string;
  let bobToken: string;

  beforeAll(async () => {
    world = await NodeWorld.open();
    [alice, bob] = await world.parties(2);
    aliceToken = await world.user('alice-user', canReadAs(alice ?? ''));
    bobToken = await world.user('bob-user', { kind: { CanActAs: { value: { party: bob ?? '' } } } });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const seenBy = async (token: string) => (await world.rows(token, eventIds)).map(([id]) => id);

  it('returns the events of the parties of its user, over /changes and /query', async () => {
    for (const [token, party] of [
      [aliceToken, alice],
      [bobToken, bob],
    ] as const) {
      const visible = await world.visible(party ?? '');
      expect(visible.length).toBeGreaterThan(10);
      expect(await seenBy(token)).toEqual(visible);
      const stream = world.listen(token);
      await waitFor('all changes', () => (stream.ids.length >= visible.length ? true : undefined));
      expect(stream.ids).toEqual(visible);
    }
  });

  it('returns everything to a user that may read as any party, and nothing to one without parties', async () => {
    const [{ n } = {}] = await world.sql('select count(*)::int as n from explore.events');
    const readsAll = await world.user('auditor', { kind: { CanReadAsAnyParty: { value: {} } } });
    expect(await seenBy(readsAll)).toHaveLength(Number(n));
    expect(await world.rows(readsAll, 'select count(*) from explore.activity')).not.toEqual([['0']]);
    const admin = await world.user('operator', { kind: { ParticipantAdmin: { value: {} } } });
    expect(await seenBy(admin)).toEqual([]);
    const both = await world.user('both', canReadAs(alice ?? ''), canReadAs(bob ?? ''));
    expect(await seenBy(both)).toEqual(await world.visible(alice ?? '', bob ?? ''));
  });

  it('keeps users apart whose requests run at the same time', async () => {
    const expected = new Map([
      [aliceToken, await world.visible(alice ?? '')],
      [bobToken, await world.visible(bob ?? '')],
    ]);
    const lists = await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        const token = index % 2 === 0 ? aliceToken : bobToken;
        const answer = await world.ask(token, eventIds);
        return { token, answer };
      }),
    );
    const shown = lists.filter(({ answer }) => answer.status === 200);
    // At most three statements of a user run at the same time.
    expect(shown.length).toBeGreaterThan(3);
    for (const { token, answer } of shown) {
      expect((JSON.parse(answer.text) as { rows: string[][] }).rows.flat()).toEqual(expected.get(token));
    }
  });

  it('explains and searches as its user', async () => {
    const [foreign] = await world.sql(
      `select "offset" from explore.events group by 1 having not bool_or(parties @> array['${alice}']) limit 1`,
    );
    const offset = String(foreign?.['offset']);
    expect((await world.ask(aliceToken, offset, '/query/explain', 'id')).status).toBe(400);
    const readsAll = await world.user('explainer', { kind: { CanReadAsAnyParty: { value: {} } } });
    expect((await world.ask(readsAll, offset, '/query/explain', 'id')).status).toBe(200);
    const [own] = await world.visible(alice ?? '');
    expect((await world.ask(aliceToken, own?.split('-')[0] ?? '', '/query/explain', 'id')).status).toBe(200);
    expect((await world.ask(aliceToken, '::', '/query/search', 'text')).status).toBe(200);
  });

  it.each([
    ['another role', `select set_config('role', 'none', true), (select count(*) from explore.events)`],
    ['the owner', `select set_config('role', 'postgres', true), (select count(*) from explore.events)`],
    ['a setting of parties', `select set_config('ledger.parties', '{a}', true), (select count(*) from explore.events)`],
    ['row security', `select set_config('row_security', 'off', true), (select count(*) from explore.events)`],
    [
      'the search path',
      `select set_config('search_path', 'pg_temp, ledger', true), (select count(*) from explore.events)`,
    ],
    [
      'a nested statement',
      `select query_to_xml('set role none', true, true, ''), (select count(*) from explore.events)`,
    ],
    [
      'a nested function',
      `select query_to_xml('create function pg_temp.session_parties() returns text[] language sql as $$select array[1]::text[]$$', true, true, ''), (select count(*) from explore.events)`,
    ],
    [
      'a nested row',
      `select query_to_xml('insert into ledger.node_sessions select pg_current_xact_id(), array[1], true', true, true, ''), (select count(*) from explore.events)`,
    ],
  ])('does not show more after a statement that changes %s', async (_, statement) => {
    const { status, text } = await world.ask(aliceToken, statement);
    if (status !== 200) return;
    const { rows } = JSON.parse(text) as { rows: string[][] };
    expect(rows.map((row) => row.at(-1))).toEqual([String((await world.visible(alice ?? '')).length)]);
  });

  it.each([
    ['a second statement', `select 1; select count(*) from explore.events`],
    ['a commit', `commit`],
    ['a new transaction', `select 1; commit; begin; select 1`],
    ['set role', `set role postgres`],
    ['a temporary table', `create temp table node_sessions as select 1`],
    ['a writing clause', `with w as (delete from ledger.node_sessions returning *) select * from w`],
    [
      'a new session row',
      `with w as (insert into ledger.node_sessions values (pg_current_xact_id(), '{a}', true) returning *) select * from w`,
    ],
    ['a query plan', `explain select * from explore.events`],
  ])('refuses %s', async (_, statement) => {
    expect((await world.ask(aliceToken, statement)).status).toBe(400);
  });

  it('returns no rows of sessions, and no statements of other users', async () => {
    expect(await world.ask(aliceToken, 'select * from ledger.node_sessions')).toMatchObject({ status: 200 });
    expect(await world.rows(aliceToken, 'select * from ledger.node_sessions')).toEqual([]);
    expect(await world.rows(aliceToken, 'select session_parties()')).toEqual([[`{${alice}}`]]);
    const slow = world.rows(bobToken, `select pg_sleep(1.5)`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const sessions = await world.rows(aliceToken, `select query from pg_stat_activity where usename = current_user`);
    expect(sessions.length).toBeGreaterThan(1);
    expect(new Set(sessions.flat())).toEqual(new Set(['']));
    await slow;
    await world.sql(`alter role "${world.role}" set track_activities = on`);
    expect(await world.ask(aliceToken, 'select 1')).toMatchObject({
      status: 503,
      text: expect.stringContaining('NODE_READER_REFUSED') as string,
    });
    await world.grant();
  });

  it('leaves no row behind, and its login sees nothing without a row', async () => {
    await world.ask(aliceToken, 'select 1/0');
    await world.ask(aliceToken, 'select 1');
    expect(await world.sql('select * from ledger.node_sessions')).toEqual([]);
    const url = `${world.history.database.url}?options=-c%20role%3D${world.role}`;
    expect(await query(url, 'select count(*)::int as n from explore.events')).toEqual([{ n: 0 }]);
  });

  it('ignores a row that is older than the transaction', async () => {
    // A dump that is restored on another server may contain ids of transactions that come there later.
    const [{ next } = {}] = await world.sql(
      `select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 40)::text as next`,
    );
    await world.sql(
      `insert into ledger.node_sessions select (${String(next)} + i)::text::xid8, '{}', true from generate_series(-39, 200) i`,
    );
    const carol = await world.user('carol-user');
    const role = `set local role "${world.role}"`;
    for (let attempt = 0; attempt < 60; attempt += 1) {
      const text = `begin; select pg_current_xact_id(); ${role}; select 1/(1 - count(*)::int) from (select from explore.events limit 1) e; rollback`;
      await query(world.history.database.url, text);
    }
    expect(await seenBy(carol).catch(() => [])).toEqual([]);
    await world.sql('delete from ledger.node_sessions');
  });
});
