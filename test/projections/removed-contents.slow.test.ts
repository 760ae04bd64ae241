/**
 * Contents that were redacted leave the projections in the transaction of the redaction, also while a range is being
 * filled and while projections are being removed. Changes that concern earlier rows are noted, whoever makes them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from 'pg';
import { fillNext, invalidate, outdateAll, outdateOthers, removeOutdated } from '../../src/store/projections/fill.ts';
import { dropStep, ProjectionJob } from '../../src/store/projections/projection-job.ts';
import { builtInProjections } from '../../src/store/projections/projections.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { compare, fillAll, turnJitOff, withDatabase } from './projected.ts';

let world: HistoryWorld;
beforeAll(async () => {
  world = await HistoryWorld.open(200);
  await turnJitOff(world.database.url);
  await world.index('ledger', { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis' });
});
afterAll(() => world.close());

const equal = { token_changes: { extra: 0, missing: 0 }, token_transfers: { extra: 0, missing: 0 } };
let redactions = 0;

/** An archived holding whose contents are still stored, and the offset of its creation. */
async function archivedHolding(): Promise<{ readonly id: string; readonly offset: number }> {
  const row = await world.row(
    `select ledger.id_text(e.contract_id) as id, e."offset"::int as "offset"
       from ledger.ended e
       join ledger.contracts c on c."offset" = e."offset" and c.node_id = e.node_id
      where c.redaction_id is null and e.ended_by = 'a'
        and e.template_pk = any (explore.token_templates('Holding', 'Holding'))
        and exists (select from explore.token_changes t where t."offset" = e."offset")
      order by e."offset" desc limit 1`,
  );
  return { id: String(row['id']), offset: Number(row['offset']) };
}

async function redact(id: string): Promise<void> {
  redactions += 1;
  await query(world.database.url, `select pqs.redact_contract('${id}', 'redaction ${String(redactions)}')`);
}

async function storedRows(offset: number): Promise<unknown> {
  return (
    await world.row(
      `select count(*)::int as count from ledger.projected_token_changes where "offset" = ${String(offset)}`,
    )
  )['count'];
}

describe('a redaction', () => {
  it('removes the rows at the offsets of the contract', async () => {
    await fillAll(world.database.url, 100);
    const { id, offset } = await archivedHolding();
    expect(await storedRows(offset)).toBeGreaterThan(0);
    await redact(id);
    expect(await storedRows(offset)).toBe(0);
    expect(await compare(world.database.url)).toMatchObject(equal);
    await fillAll(world.database.url, 100);
    expect(await compare(world.database.url)).toMatchObject(equal);
  });

  it('fails a range that was read before', async () => {
    await withDatabase(world.database.url, async (database) => {
      const [projection] = await builtInProjections('ledger');
      if (projection === undefined) throw new Error('no projection');
      await query(world.database.url, `insert into ledger.projection_changes (offsets) values ('(,)')`);
      await invalidate(database, [projection]);
      while (await removeOutdated(database, projection, 1_000));
      const { id, offset } = await archivedHolding();
      const slowSelect = `select c.* from (select pg_sleep(3) offset 0) s left join lateral (${projection.select}) c on true`;
      const outcome = fillNext(database, { ...projection, select: slowSelect }, 10_000).catch(
        (error: unknown) => error,
      );
      await waitFor('the range is being read', async () => {
        const { waiting } = await world.row(
          `select count(*)::int as waiting from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
        );
        return waiting === 1 ? true : undefined;
      });
      await redact(id);
      expect(await outcome).toMatchObject({ code: 'STORE_CONFLICT' });
      expect(await storedRows(offset)).toBe(0);
    });
    await fillAll(world.database.url, 100);
    expect(await compare(world.database.url)).toMatchObject(equal);
  });

  it('is rejected in a transaction with an older snapshot', async () => {
    const { id } = await archivedHolding();
    await expect(
      query(world.database.url, `begin isolation level repeatable read; select pqs.redact_contract('${id}', 'late')`),
    ).rejects.toThrow('Pruning and redacting need the isolation level read committed, found repeatable read');
  });

  it('removes rows of projections that are being removed', async () => {
    await fillAll(world.database.url, 100);
    const { id, offset } = await archivedHolding();
    await withDatabase(world.database.url, async (database) => {
      await outdateAll(database);
      expect(await storedRows(offset)).toBeGreaterThan(0);
      await redact(id);
      expect(await storedRows(offset)).toBe(0);
      while ((await dropStep(database)) !== 'off');
      expect(await world.row('select count(*)::int as count from ledger.projections')).toEqual({ count: 0 });
      expect(await world.row('select count(*)::int as count from ledger.projected_token_changes')).toEqual({
        count: 0,
      });
    });
  });
});

it('rows of another SELECT are outdated in the transaction that changes the views', async () => {
  await fillAll(world.database.url, 100);
  await query(world.database.url, `update ledger.projections set select_hash = 'other' where name = 'token_changes'`);
  await withDatabase(world.database.url, async (database) => {
    const projections = await builtInProjections('ledger');
    await database.transaction((client) => outdateOthers(client, projections));
    expect(
      await world.row(`select covered::text, outdated::text from ledger.projections where name = 'token_changes'`),
    ).toEqual({
      covered: '{}',
      outdated: '{(,)}',
    });
  });
  expect(await compare(world.database.url)).toMatchObject(equal);
});

it('ranges that contain no offset have no rows', async () => {
  for (const range of ['10, 5', '9223372036854775807, null', '9223372036854775806, 9223372036854775807']) {
    expect(await world.row(`select count(*)::int as count from explore.token_transfers_between(${range})`)).toEqual({
      count: 0,
    });
  }
});

describe('changes of which contracts are tokens', () => {
  it('are noted for a package name that does not fit its module', async () => {
    await fillAll(world.database.url, 100);
    await query(
      world.database.url,
      `update ledger.templates set package_name = 'other' where module_name like 'Splice.Api.Token.Holding%' and entity_name = 'Holding'`,
    );
    expect(await compare(world.database.url)).toMatchObject({ token_changes: { rows: 0, extra: 0, missing: 0 } });
    await query(world.database.url, `update ledger.templates set package_name = null where package_name = 'other'`);
  });

  it('are noted for the first view of a template through an interface', async () => {
    await query(
      world.database.url,
      `create table pairs as with gone as (
         delete from ledger.template_interfaces m using ledger.templates i
          where i.template_pk = m.interface_pk and i.module_name like 'Splice.Api.Token.%' returning m.*)
       select * from gone`,
    );
    await query(world.database.url, `insert into ledger.projection_changes (offsets) values ('(,)')`);
    await fillAll(world.database.url, 100);
    expect(await compare(world.database.url)).toMatchObject({ token_changes: { rows: 0, extra: 0, missing: 0 } });
    await query(world.database.url, 'insert into ledger.template_interfaces select * from pairs');
    expect(await compare(world.database.url)).toMatchObject(equal);
    const { count } = await world.row('select count(*)::int as count from explore.token_changes');
    expect(count).toBeGreaterThan(0);
  });
});

it('a job stores nothing while a transaction from before its start is open', async () => {
  const client = new Client({ connectionString: world.database.url });
  await client.connect();
  await withDatabase(world.database.url, async (database) => {
    while ((await dropStep(database)) !== 'off');
    await client.query('begin');
    await client.query(
      `update ledger.exercises set result = null where "offset" = (select min("offset") from ledger.exercises)`,
    );
    const job = new ProjectionJob(database);
    const kinds: unknown[] = [];
    for (let step = await job.step(); step !== undefined; step = await job.step()) kinds.push(step);
    expect(kinds).not.toContainEqual(expect.objectContaining({ kind: 'filled' }));
    await client.query('commit');
    expect(await job.step()).toMatchObject({ kind: 'filled' });
  });
  await client.end();
});
