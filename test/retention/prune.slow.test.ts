/**
 * Prunes old history. Contracts that are active at the boundary must remain, and queries of later history must return
 * the same rows.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { digestOf } from '../support/digest.ts';
import { createRetentionWorld, retainedFacts, type RetentionWorld } from './retention-world.ts';

let world: RetentionWorld;
let middle = 0;
beforeAll(async () => {
  world = await createRetentionWorld(31, 800);
  for (const schema of ['a', 'b', 'c']) await world.fill(schema, { INDEXER_BATCH_UPDATES: '2' });
  middle = Math.floor(world.sandbox.ledger.ledgerEnd() * 0.6);
}, 120_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

interface Tables {
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
}

function rowsOf(result: Record<string, unknown>): Record<string, number> {
  const { tables } = result as unknown as Tables;
  return Object.fromEntries(tables.map(({ table, rows }) => [table, rows]));
}

/** Keys of an output and its nested objects that are missing in the table of docs/how-to/change/prune.md. */
function undocumented(output: object): readonly string[] {
  const table =
    readFileSync('docs/how-to/change/prune.md', 'utf8').split('| Key of `--json`')[1]?.split('\n\n')[0] ?? '';
  const keys = Object.entries(output).flatMap(([key, value]: [string, unknown]) => {
    const firstElement: unknown = Array.isArray(value) ? value[0] : value;
    return [key, ...(firstElement !== null && typeof firstElement === 'object' ? Object.keys(firstElement) : [])];
  });
  return keys.filter((key) => !table.includes(`\`${key}\``));
}

describe('prune', () => {
  it('reports the rows to remove and changes nothing without --yes', async () => {
    const digestBefore = await digestOf(world.url, 'a');
    const facts = await retainedFacts(world, 'a', middle);
    const plan = await world.prune('a', '--before', String(middle));
    expect(await digestOf(world.url, 'a')).toBe(digestBefore);
    const pruneOutput = await world.prune('a', '--before', String(middle), '--yes');
    expect(rowsOf(pruneOutput)).toEqual(rowsOf(plan));
    expect([...undocumented(plan), ...undocumented(pruneOutput)]).toEqual([]);
    expect(rowsOf(pruneOutput)).toMatchObject({ contracts: expect.any(Number), archives: 0 });
    for (const table of ['contracts', 'ended', 'updates', 'exercises']) {
      expect(rowsOf(pruneOutput)[table]).toBeGreaterThan(50);
    }
    expect(rowsOf(pruneOutput)['batches']).toBeGreaterThan(5);
    expect(await retainedFacts(world, 'a', middle)).toEqual(facts);
    const [remainingRow] = await world.query(
      `select (select count(*)::int from a.exercises where "offset" <= $1) as exercises,
              (select count(*)::int from a.lifetimes where deactivated_offset <= $1) as ended,
              (select count(*)::int from a.contracts c where c."offset" <= $1
                  and not exists (select from a.contract_states s
                                   where s.activated_offset = c."offset" and s.node_id = c.node_id)) as alone,
              (select count(*)::int from a.batches b
                where not exists (select from a.updates u where u.batch_offset = b.batch_offset)) as batches,
              (select count(*)::int from a.updates u where u."offset" <= $1
                  and not exists (select from a.contracts c where c."offset" = u."offset")
                  and not exists (select from a.topology_events y where y."offset" = u."offset")) as updates,
              (select array_agg(distinct y.participant_id = st.participant_id)
                 from a.topology_events y cross join a.stream st where y."offset" <= $1) as "own topology",
              (select pruned_to_offset::int from a.stream) as kept`,
      [middle],
    );
    const hosting = { 'own topology': [true] };
    expect(remainingRow).toEqual({
      exercises: 0,
      ended: 0,
      alone: 0,
      batches: 0,
      updates: 0,
      kept: middle,
      ...hosting,
    });
    expect(rowsOf(await world.prune('a', '--before', String(middle)))).toMatchObject({ contracts: 0, updates: 0 });
  });

  it('leaves the same data for any transaction size, also after it is restarted', async () => {
    const options = { statementTimeoutMs: 60_000, applicationName: 'test', maxConnections: 1 };
    for (const schema of ['b', 'c']) {
      const database = openDatabase({ url: world.url, schema, ...options });
      const stop = new AbortController();
      if (schema === 'b') {
        const onProgress = (): void => stop.abort();
        const stoppedPrune = await prune(database, { offset: middle }, { stop: stop.signal, batchRows: 3, onProgress });
        expect(stoppedPrune.finished).toBe(false);
        // The remaining rows are removed even if the new offset is lower.
        const secondPrune = await prune(database, { offset: 1 }, { stop: new AbortController().signal, batchRows: 40 });
        expect(secondPrune).toMatchObject({ finished: true, boundary: middle });
        expect(secondPrune.batches).toBeGreaterThan(20);
      } else await prune(database, { offset: middle }, { stop: stop.signal });
      await database.close();
    }
    expect(await digestOf(world.url, 'b')).toBe(await digestOf(world.url, 'c'));
  });

  it('accepts a time, stops at the checkpoint and keeps the last update id', async () => {
    const [at] = await world.query<{ time: Date; offset: string }>(
      `select record_time as time, "offset" from b.updates where "offset" > $1 order by "offset" offset 50 limit 1`,
      [middle],
    );
    const plan = await world.prune('b', '--before', at?.time.toISOString() ?? '');
    const [previousRow] = await world.query<{ last: string }>(
      'select max("offset") as last from b.updates where "offset" < $1',
      [at?.offset],
    );
    expect(plan['oldestRemaining']).toBe(Number(at?.offset));
    expect(plan['boundary']).toBeGreaterThanOrEqual(Number(previousRow?.last));
    await world.prune('b', '--before', '999999999', '--yes');
    const [row] = await world.query(
      `select s.pruned_to_offset = s.checkpoint as whole, a.id_text(u.update_id) = s.checkpoint_update_id as proof
         from b.stream s left join b.updates u on u."offset" = s.checkpoint_update_offset`,
    );
    expect(row).toEqual({ whole: true, proof: true });
    world.grow(100);
    await world.fill('b');
    await world.fill('c');
    const end = world.sandbox.ledger.ledgerEnd() - 50;
    expect(await retainedFacts(world, 'b', end)).toEqual(await retainedFacts(world, 'c', end));
  });

  it('reports an update with a future record time, which limits pruning by time only', async () => {
    await world.fill('ahead');
    const earlyOffset = Math.floor(middle / 2);
    const [aheadRow] = await world.query<{ offset: number }>(
      `update ahead.updates set record_time = '2099-01-01T00:00:00Z'
        where "offset" = (select min("offset") from ahead.updates where "offset" > $1) returning "offset"::int as offset`,
      [earlyOffset],
    );
    const offset = aheadRow?.offset ?? 0;
    const [at] = await world.query<{ time: Date; since: Date }>(
      `select (select min(record_time) from ahead.updates where "offset" > $1 + 100 and "offset" < $1 + 300) as time,
              (select min(record_time) from ahead.updates where "offset" > $1) as since
         from ahead.stream`,
      [offset],
    );
    const beforeArgs = ['--before', at?.time.toISOString() ?? ''];
    const prunedOutput = await world.prune('ahead', ...beforeArgs);
    expect(undocumented(prunedOutput)).toEqual([]);
    // The record time since which most later updates were recorded.
    const { since } = prunedOutput['heldBy'] as { since: string };
    expect([at?.since.toISOString() ?? '', since, at?.time.toISOString() ?? ''].toSorted()[1]).toBe(since);
    expect(prunedOutput).toMatchObject({
      boundary: offset - 1,
      heldBy: {
        name: `update ${String(offset)}, recorded at 2099-01-01T00:00:00.000Z,`,
        offset: offset - 1,
        isFutureUpdate: true,
      },
    });
    expect(await world.prune('ahead', '--before', String(offset + 50))).toMatchObject({
      boundary: offset + 50,
      heldBy: null,
    });
    await world.query('update ahead.updates set record_time = $1 where "offset" = $2', [at?.since, offset]);
    expect(await world.prune('ahead', ...beforeArgs)).toMatchObject({ heldBy: null });
  });

  it('reports no future update if only a few later updates have early record times', async () => {
    await world.fill('early');
    // Record times are far apart, so that the update at the boundary was recorded long after the given time.
    await world.query(`update early.updates set record_time = now() - (5_000 - "offset") * interval '1 day'`);
    const rows = await world.query<{ offset: number }>(
      `select "offset"::int as offset from early.updates order by "offset" limit 40`,
    );
    const [middleOffset, last] = [rows[19], rows[20]].map((row) => row?.offset ?? 0);
    const [end] = await world.query<{ offset: number }>('select max("offset")::int as offset from early.updates');
    const [row] = await world.query<{ time: Date }>(
      `select record_time + interval '1 hour' as time from early.updates where "offset" = $1`,
      [middleOffset],
    );
    const time = row?.time ?? new Date(NaN);
    const hourBefore = new Date(time.getTime() - 3_600_000);
    // The newest update is far behind the others, so that it is less than half of a window.
    await world.query('delete from early.updates where "offset" > $1 and "offset" < $2', [
      rows[39]?.offset,
      end?.offset,
    ]);
    for (const boundaryOffset of [rows[25]?.offset, end?.offset]) {
      for (const recordedTime of [new Date(0), hourBefore]) {
        await world.query('update early.updates set record_time = $1 where "offset" = $2', [
          recordedTime,
          boundaryOffset,
        ]);
        const target = await world.prune('early', '--before', time.toISOString());
        expect(target, recordedTime.toISOString()).toMatchObject({ boundary: (last ?? 0) - 1, heldBy: null });
      }
    }
  });

  it('reports the first of many updates with future record times', async () => {
    world.grow(1_200);
    await world.fill('many');
    const rows = await world.query<{ offset: number }>(
      `select "offset"::int as offset from many.updates order by "offset"`,
    );
    const [first, end] = [rows[10]?.offset ?? 0, rows[rows.length - 130]?.offset ?? 0];
    expect(rows.length).toBeGreaterThan(1_150);
    const [row] = await world.query<{ time: Date }>('select max(record_time) as time from many.updates');
    await world.query(`update many.updates set record_time = '2099-01-01T00:00:00Z' where "offset" between $1 and $2`, [
      first,
      end,
    ]);
    const target = await world.prune('many', '--before', row?.time.toISOString() ?? '');
    expect(target).toMatchObject({ boundary: first - 1, heldBy: { offset: first - 1, isFutureUpdate: true } });
  });

  it('keeps the data above the boundary in shape ACS_DELTA and after a seed', async () => {
    const delta = { LEDGER_SHAPE: 'ACS_DELTA', LEDGER_INTERFACES: demoInterfaces.join(',') };
    await world.fill('delta', delta);
    await world.fill('seeded', { INDEXER_START: 'seed' });
    world.grow(300);
    await world.fill('delta', delta);
    await world.fill('seeded', { INDEXER_START: 'seed' });
    const end = world.sandbox.ledger.ledgerEnd();
    for (const schema of ['delta', 'seeded']) {
      const boundary = end - 100;
      const facts = await retainedFacts(world, schema, boundary);
      const pruneOutput = rowsOf(await world.prune(schema, '--before', String(boundary), '--yes'));
      expect(pruneOutput['ended']).toBeGreaterThan(20);
      expect(pruneOutput[schema === 'delta' ? 'archives' : 'exercises']).toBeGreaterThan(20);
      if (schema === 'delta') expect(pruneOutput['interface_views']).toBeGreaterThan(20);
      expect(await retainedFacts(world, schema, boundary)).toEqual(facts);
    }
  });

  it.each([
    [['--yes'], 'USAGE'],
    [['--before', 'yesterday'], 'USAGE'],
    [['--before', '2026-01-01T00:00:00'], 'USAGE'],
  ])('rejects %j', async (argv, code) => {
    await expect(world.prune('a', ...argv)).rejects.toMatchObject({ code });
  });
});
