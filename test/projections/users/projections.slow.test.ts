/** Projections that users add: stored rows of a SELECT equal its computed rows, through every change of history. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pruneCommand } from '../../../src/cli/maintain/prune.ts';
import { fillNextAsReader } from '../../../src/store/projections/fill-user.ts';
import { removeOutdated } from '../../../src/store/projections/fill.ts';
import { userProjections } from '../../../src/store/projections/user-versions.ts';
import { query } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';
import { waitFor } from '../../support/wait-for.ts';
import { runVerify } from '../../verify/verify-run.ts';
import { withDatabase } from '../projected.ts';
import { contentsSql, transfersSql, UserWorld } from './world.ts';

let user: UserWorld;
beforeAll(async () => {
  user = await UserWorld.open(300);
});
afterAll(() => user.close());

async function expectEqual(name: string): Promise<void> {
  const { stored, computed } = await user.bothRows(name);
  expect(stored.length).toBeGreaterThan(0);
  expect(stored).toEqual(computed);
}

describe('a projection of a user', () => {
  it('is tried, added, stored and read', async () => {
    expect(await user.check(transfersSql)).toContain('the SELECT can be added');
    expect(await user.add('transfers', transfersSql, '--index', 'sender')).toContain('is stored in the background');
    await expectEqual('transfers');
    expect(await user.storedCount('transfers$1')).toBe(0);
    expect(await user.fill()).toEqual([]);
    const { stored } = await user.bothRows('transfers');
    expect(await user.storedCount('transfers$1')).toBe(stored.length);
    await expectEqual('transfers');
    expect(await user.projection('list')).toMatch(/^transfers  version 1  filled  at offset \d+ of \d+/);
  });

  it('has rows of ended contracts at the offset of the end', async () => {
    const ended = `select c.archived_at_offset as "offset", c.contract_id, c.status from explore.contracts c
      where c.archived_at_offset > :from and c.archived_at_offset <= :to`;
    await user.add('ended', ended);
    await user.fill();
    await expectEqual('ended');
    await user.projection('drop', 'ended');
  });

  it('is stored again after a changed SELECT, while readers use the previous rows', async () => {
    const changed = transfersSql.replace('t.amount,', 't.amount * 2 as amount,');
    const total = async () =>
      (await user.world.row('select sum(amount)::text as total from derived.transfers'))['total'];
    const before = String(await total());
    expect(await user.add('transfers', changed)).toContain('readers use the previous rows until then');
    expect(await total()).toBe(before);
    expect(await user.fill()).toEqual([]);
    expect(Number(await total())).toBeCloseTo(2 * Number(before), 5);
    expect(await user.storedCount('transfers$1')).toBe(0);
    await expectEqual('transfers');
    expect(await user.projection('refill', 'transfers')).toContain('readers use the previous rows');
    await user.fill();
    await expectEqual('transfers');
    expect(await user.projection('list')).toMatch(/version 3  filled/);
  });

  it('is computed at once after a SELECT with other columns', async () => {
    expect(await user.add('transfers', transfersSql.replace('t.amount,', ''))).toContain('its view computes all rows');
    await expectEqual('transfers');
    await user.fill();
    await expectEqual('transfers');
  });

  it('loses its rows with INDEXER_PROJECTIONS=built-in, and its view computes them', async () => {
    await user.fill('built-in');
    expect(await user.storedCount('transfers$4')).toBe(0);
    expect(await user.projection('list')).toContain('off');
    await expectEqual('transfers');
    await user.fill();
    expect(await user.storedCount('transfers$4')).toBeGreaterThan(0);
    await expectEqual('transfers');
  });

  it('is read with the rights of its role, although the writer has more', async () => {
    await user.add('readers', contentsSql);
    await query(
      user.url,
      `create or replace function derived."readers$1"(bigint, bigint) returns setof derived."readers$1" language plpgsql stable as
         $$ begin return query select $2, 1, current_user::text, null::jsonb, null::text[]; end $$`,
    );
    expect(await user.fill()).toEqual([]);
    const rows = await query(user.url, 'select distinct contract_id as role from derived."readers$1"');
    expect(rows).toEqual([{ role: user.role }]);
    await user.projection('drop', 'readers');
  });

  it('is not dropped while other objects depend on its view', async () => {
    await query(user.url, 'create view public.top as select * from derived.transfers');
    await expect(user.projection('drop', 'transfers')).rejects.toMatchObject({ code: 'PROJECTION_REFUSED' });
    await query(user.url, 'drop view public.top');
    await user.projection('drop', 'transfers');
    expect(await query(user.url, `select from ledger.projections where view_name = 'transfers'`)).toEqual([]);
    expect(await query(user.url, `select from pg_class where relnamespace = 'derived'::regnamespace`)).toEqual([]);
    await expect(user.projection('drop', 'transfers')).rejects.toMatchObject({ code: 'PROJECTION_NOT_FOUND' });
  });
});

describe('changes of history', () => {
  const endedContract = async (): Promise<{ readonly id: string; readonly offset: number }> => {
    const row = await user.world.row(
      `select ledger.id_text(e.contract_id) as id, e."offset"::int as "offset" from ledger.ended e
         join ledger.contracts c using ("offset", node_id) where c.redaction_id is null and e.ended_by = 'a'
        order by e."offset" desc limit 1`,
    );
    return { id: String(row['id']), offset: Number(row['offset']) };
  };
  const storedWith = async (table: string, id: string): Promise<unknown> =>
    (
      await query(
        user.url,
        `select count(*)::int as count from derived."${table}" where payload is not null and contract_id = '${id}'`,
      )
    )[0];

  it('reach the rows: a redaction removes them in its own transaction', async () => {
    await user.add('contents', contentsSql);
    await user.add('own_contents', contentsSql, '--no-look-ups', '--key', 'node_id', '--party-column', 'parties');
    await user.add('transfers', transfersSql);
    await user.fill();
    const { id, offset } = await endedContract();
    for (const name of ['contents', 'own_contents']) {
      const table = `${name}$1`;
      expect(await storedWith(table, id)).toEqual({ count: 1 });
      expect(await user.storedCount(table)).toBeGreaterThan(0);
    }
    await query(user.url, `select pqs.redact_contract('${id}', 'redaction')`);
    for (const name of ['contents', 'own_contents']) {
      expect(await storedWith(`${name}$1`, id)).toEqual({ count: 0 });
      await expectEqual(name);
    }
    // A row of contents may depend on earlier contracts, a row of own_contents does not.
    const later = async (table: string): Promise<unknown> =>
      (
        await user.world.row(`select count(*)::int as count from derived."${table}" where "offset" > ${String(offset)}`)
      )['count'];
    expect(await later('contents$1')).toBe(0);
    expect(await later('own_contents$1')).toBeGreaterThan(0);
    await user.fill();
    for (const name of ['contents', 'own_contents', 'transfers']) await expectEqual(name);
  });

  it('fail a range that was read before a redaction', async () => {
    await query(user.url, `update ledger.projections set covered = '{}', outdated = '{(,)}' where name = 'contents$1'`);
    await withDatabase(user.url, async (database) => {
      const [projection] = (await database.withClient((client) => userProjections(client, 'ledger'))).filter(
        ({ name }) => name === 'contents$1',
      );
      if (projection?.user === undefined) throw new Error('no projection');
      while (await removeOutdated(database, projection, 1_000));
      const slowSelect = `select c.* from (select pg_sleep(3) offset 0) s cross join lateral (${projection.select}) c`;
      const outcome = fillNextAsReader(database, { ...projection, select: slowSelect }, projection.user, 10_000).catch(
        (error: unknown) => error,
      );
      await waitFor('the range is being read', async () => {
        const { waiting } = await user.world.row(
          `select count(*)::int as waiting from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
        );
        return waiting === 1 ? true : undefined;
      });
      const { id } = await endedContract();
      await query(user.url, `select pqs.redact_contract('${id}', 'redaction while a range is read')`);
      expect(await outcome).toMatchObject({ code: 'STORE_CONFLICT' });
      expect(await storedWith('contents$1', id)).toEqual({ count: 0 });
    });
    await user.fill();
    await expectEqual('contents');
  });

  it('reach the rows: prune', async () => {
    const before = String(Math.floor((await user.world.checkpoint()) / 3));
    await user.fill();
    const places = `select array_agg(c.ctid::text order by c."offset", c.node_id) as rows from derived."contents$1" c where c."offset" > ${before}`;
    const laterRows = await user.world.row(places);
    await runCommand(pruneCommand, ['--before', before, '--yes'], user.world.env());
    for (const name of ['contents', 'own_contents', 'transfers']) await expectEqual(name);
    await user.fill();
    // With a retention, later rows would otherwise be stored again and again.
    expect(await user.world.row(places)).toEqual(laterRows);
    for (const name of ['contents', 'own_contents', 'transfers']) await expectEqual(name);
  });

  it('reach the rows: reset, and other updates afterwards', async () => {
    const to = Math.floor((await user.world.checkpoint()) * 0.8);
    await user.world.command(`reset --to ${String(to)} --yes`);
    for (const name of ['contents', 'own_contents', 'transfers']) await expectEqual(name);
    user.world.grow(30);
    await user.world.index('ledger', { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis' });
    await user.fill();
    for (const name of ['contents', 'own_contents', 'transfers']) await expectEqual(name);
  });

  it('`verify --projections` compares the rows with the SELECT', async () => {
    const { outcome, results } = await runVerify(['--projections'], user.world.env());
    expect({ outcome, findings: results[0]?.findings }).toEqual({ outcome: 'equal', findings: [] });
    await query(
      user.url,
      `update derived."transfers$1" set amount = 1 where "offset" = (select max("offset") from derived."transfers$1")`,
    );
    const changed = await runVerify(['--projections'], user.world.env());
    expect(changed.results[0]?.findings).toContainEqual(expect.objectContaining({ type: 'extra', row: 'transfers$1' }));
  });

  it('empty the tables with the storage, and keep the definitions', async () => {
    await user.world.command('reset --all --yes');
    expect(await user.storedCount('transfers$1')).toBe(0);
    expect(await query(user.url, 'select from derived.transfers')).toEqual([]);
    await user.world.index('ledger', { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis' });
    await user.fill();
    for (const name of ['contents', 'own_contents', 'transfers']) await expectEqual(name);
  });
});

it('a projection that fails is parked alone by a running indexer, and its view stays complete', async () => {
  await query(
    user.url,
    `create or replace function derived."contents$1"(bigint, bigint) returns setof derived."contents$1" language plpgsql stable as
       $$ begin if $2 < 9223372036854775807 then raise exception 'planted'; end if; return; end $$`,
  );
  await query(user.url, `insert into ledger.projection_changes (offsets) values ('(,)')`);
  await using indexer = await user.world.run('ledger', { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis' });
  user.world.grow(20);
  await waitFor('only contents is parked', async () => {
    const { projections } = await indexer.status();
    const stored = projections.find(({ name }) => name === 'transfers$1');
    const parked = projections.find(({ name }) => name === 'contents$1');
    return stored?.offsetsBehind === 0 &&
      stored.problem === null &&
      parked?.problem?.code === 'PROJECTION_SELECT_FAILED'
      ? true
      : undefined;
  });
  await indexer.reaches(user.world.sandbox.ledger.ledgerEnd());
  expect(await indexer.metric('indexer_projection_parked{name="contents$1"}')).toBe(1);
  expect(await indexer.metric('indexer_projection_parked{name="transfers$1"}')).toBe(0);
  await expectEqual('transfers');
  expect(await user.projection('list')).toMatch(/^contents .*parked: PROJECTION_SELECT_FAILED/);
});
