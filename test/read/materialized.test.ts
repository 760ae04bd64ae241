/** A view over a table of active contracts shows what it showed without, whatever happens to contracts and to the table. */
import { describe, expect, it } from 'vitest';
import { decodeUpdate } from '../../src/ledger/wire.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { openSession } from '../../src/store/store.ts';
import * as frames from '../support/frames.ts';
import {
  first,
  identity,
  iouPackage,
  openCase,
  second,
  wholeTemplate,
  type MaterializedCase,
} from './materialized-case.ts';
import { randomHistory } from './random-history.ts';

/** Written, materialized and filled. */
async function filledCase(updates: readonly frames.JsonRecord[]): Promise<MaterializedCase> {
  const test = await openCase();
  await test.history.write(...updates);
  expect(await test.sync(wholeTemplate)).toEqual([]);
  await test.fill();
  expect(await test.difference()).toMatchObject({ readsTable: true, differing: [] });
  return test;
}

function create(offset: number, contractId: string, change: frames.JsonRecord = {}): frames.JsonRecord {
  const event = frames.created({ offset, contractId, templateId: `${first}:Main:A`, interfaceViews: [], ...change });
  return frames.transaction(offset, [{ CreatedEvent: event }]);
}

const tables = `select relname from pg_class where relnamespace = 'typed'::regnamespace and relkind = 'r'`;
const left = `select tgname as name from pg_trigger where not tgisinternal
  union all select proname from pg_proc where proname like '%active%' and pronamespace = 'ledger'::regnamespace
                                          and proname like 'iou%'`;

describe('a random history', () => {
  it('has the same rows before, while and after it is ingested', async () => {
    await using test = await openCase();
    const updates = randomHistory(3, 400);
    await test.history.write(...updates.slice(0, 150));
    expect(await test.sync(wholeTemplate)).toEqual([]);
    expect((await test.difference()).readsTable).toBe(false);
    await test.history.write(...updates.slice(150, 200));
    expect(await test.fill()).toEqual(['ready']);
    const filled = await test.difference();
    expect(filled).toMatchObject({ readsTable: true, differing: [] });
    expect(filled.rows).toBeGreaterThan(10);
    for (let at = 200; at < 400; at += 20) {
      await test.history.write(...updates.slice(at, at + 20));
      expect(await test.difference(), String(at)).toMatchObject({ readsTable: true, differing: [] });
    }
    expect(await test.sync(wholeTemplate)).toEqual([]);
    expect((await test.difference()).readsTable).toBe(true);
  });

  it('has them with batches in lanes, as contracts and templates begin in a batch that is sent ahead', async () => {
    await using test = await openCase();
    expect(await test.sync(wholeTemplate)).toEqual([]);
    const session = await openSession(test.database, identity);
    const updates = randomHistory(5, 600).map((update) => decodeUpdate(frames.text(update)));
    let checkpoint = 0;
    let before: Promise<unknown> | undefined;
    for (let at = 0; at < updates.length; at += 150) {
      const batch = session.newBatch(checkpoint);
      for (const update of updates.slice(at, at + 150)) batch.add(update);
      before = session.writeBatch(batch, checkpoint, before);
      checkpoint = batch.offset;
      if (at === 150) {
        await before;
        before = undefined;
        await test.sync(wholeTemplate);
        await test.fill();
      }
    }
    await before;
    expect(await test.difference()).toMatchObject({ readsTable: true, differing: [] });
  });
});

describe('a table being filled', () => {
  it('neither lacks nor revives what batches change between its slices, and goes on after it was cut short', async () => {
    await using test = await openCase();
    const count = 5_000;
    await test.history.write(create(1, 'seen'));
    await test.history.query(
      `insert into contracts (contract_id, "offset", node_id, origin, synchronizer_pk, template_pk, payload, signatories,
                              observers, witness_parties)
         select 'c' || o, o, 0, 'create', 1, 1, jsonb_build_object('owner', 'o' || o, 'amount', o::text), '{a}', '{}', '{a}'
           from generate_series(2, ${count}) o;
       insert into lifetimes select 'c' || o, 1, o, 1, null from generate_series(2, ${count}) o;
       update active_counts set activated = ${count};`,
    );
    const archive = (offset: number, contractId: string): frames.JsonRecord =>
      frames.transaction(offset, [
        { ExercisedEvent: frames.exercised({ offset, contractId, templateId: `${first}:Main:A` }) },
      ]);
    await test.history.write(frames.offsetCheckpoint(count));
    await test.sync(wholeTemplate);
    expect(await test.step()).toBe('filled');
    // One that is entered already, one that is not yet, and one that begins.
    await test.history.write(archive(count + 1, 'c10'), archive(count + 2, 'c4900'), create(count + 3, 'new'));
    await test.restart();
    await test.sync(wholeTemplate);
    expect(await test.step()).toBe('filled');
    const ends = Array.from({ length: 60 }, (_, at) => archive(count + 4 + at, `c${String(4_999 - at)}`));
    const [steps] = await Promise.all([test.fill(), test.history.write(...ends)]);
    expect(steps).toEqual(['ready']);
    expect(await test.difference()).toMatchObject({ readsTable: true, rows: count - 61, differing: [] });
  });
});

describe('a package that is upgraded', () => {
  it('has its new field in the view at once and in the table after it was filled anew; dependent views stay', async () => {
    await using test = await filledCase([create(1, 'old')]);
    await test.history.query('create view public.dependent as select owner, amount from typed.iou__a');
    const templateId = `${second}:Main:A`;
    const createArgument = { owner: 'o', amount: '1.5', memo: 'm' };
    await test.history.write(create(2, 'new', { templateId, createArgument }));
    // The version is not read yet, its contracts are shown all the same.
    expect(await test.difference()).toMatchObject({ readsTable: true, rows: 2, differing: [] });
    test.packages.push(
      iouPackage(second, '1.1.0', { memo: { kind: 'optional', of: { kind: 'builtin', name: 'text' } } }),
    );
    expect(await test.sync(wholeTemplate)).toEqual([]);
    expect(await test.difference()).toMatchObject({ readsTable: false, rows: 2, differing: [] });
    await test.fill();
    expect(await test.difference()).toMatchObject({ readsTable: true, rows: 2, differing: [] });
    expect(await test.history.query('select memo from typed.iou__a__active order by 1')).toEqual([
      { memo: 'm' },
      { memo: null },
    ]);
    expect(await test.history.query('select count(*)::int as count from public.dependent')).toEqual([{ count: 2 }]);
  });
});

describe('a template that is no longer named', () => {
  it('loses table, functions and triggers, and the view reads contracts again', async () => {
    await using test = await filledCase(randomHistory(7, 60));
    const packages = test.packages;
    // Whoever rebuilds views without saying what he wants leaves the table.
    await syncTypedViews(test.database, packages, true);
    expect(await test.difference()).toMatchObject({ readsTable: true, differing: [] });
    expect(await test.sync([])).toEqual([]);
    expect(await test.difference()).toMatchObject({ readsTable: false, differing: [] });
    expect(await test.history.query(tables)).toEqual([]);
    expect(await test.history.query(left)).toEqual([]);
    expect(await test.history.query('select from materialized')).toEqual([]);
  });
});

describe('a value that its column cannot hold', () => {
  it('is null there and counted; the batch is stored and the payload has it', async () => {
    await using test = await filledCase([create(1, 'good')]);
    await test.history.write(create(2, 'bad', { createArgument: { owner: 'o', amount: 'a lot' } }), create(3, 'after'));
    expect(
      await test.history.query(
        `select contract_id, owner, amount::text, payload ->> 'amount' as written from typed.iou__a order by 1`,
      ),
    ).toEqual([
      { contract_id: 'after', owner: frames.alice, amount: '60.0000000000', written: '60.0000000000' },
      { contract_id: 'bad', owner: 'o', amount: null, written: 'a lot' },
      { contract_id: 'good', owner: frames.alice, amount: '60.0000000000', written: '60.0000000000' },
    ]);
    expect(await test.history.query('select unfit::int from materialized')).toEqual([{ unfit: 1 }]);
  });

  it('is stored however long it is, indexed or not', async () => {
    await using test = await filledCase([create(1, 'good')]);
    const owner = Array.from({ length: 20_000 }, (_, index) => index.toString(36)).join('');
    await test.history.write(create(2, 'long', { createArgument: { owner, amount: '1' } }));
    expect(await test.difference()).toMatchObject({ rows: 2, differing: [] });
  });
});

describe('what happens beside the stream', () => {
  it('reaches the table: contracts reopened, removed and redacted, and rows that come late', async () => {
    await using test = await filledCase(randomHistory(9, 100));
    const change = async (sql: string): Promise<void> => {
      await test.history.query(`begin; ${sql}; commit`);
      expect(await test.difference(), sql).toMatchObject({ readsTable: true, differing: [] });
    };
    await change(`update lifetimes set deactivated_offset = null where deactivated_offset > 50`);
    await change(`update contracts set payload = null where "offset" % 7 = 0`);
    await change(`delete from lifetimes where activated_offset % 5 = 0`);
    await change(
      `insert into lifetimes select c.contract_id, c.synchronizer_pk, c."offset", c.template_pk, null from contracts c
        where not exists (select from lifetimes l where l.contract_id = c.contract_id)`,
    );
    await change(`delete from lifetimes where activated_offset > 60; update stream set checkpoint = 60`);
  });

  it('leaves nothing of what was before when everything is removed; the view reads contracts until it is filled again', async () => {
    await using test = await filledCase(randomHistory(9, 100));
    await test.history.query(
      'begin; truncate contracts, lifetimes; update stream set seeded_at = null, checkpoint = null; commit',
    );
    expect(await test.difference()).toMatchObject({ readsTable: false, rows: 0, differing: [] });
    expect(await test.fill()).toEqual([]);
    const session = await openSession(test.database, identity);
    await session.beginSeed(100);
    const batch = session.newBatch(100);
    for (const contractId of ['one', 'two']) {
      const entry = frames.activeEntry({ contractId, offset: 90, templateId: `${first}:Main:A`, interfaceViews: [] });
      batch.addEntry(test.decodeEntry(frames.text(entry)));
    }
    await session.writeSeed(batch, 0);
    expect(await test.difference()).toMatchObject({ readsTable: false, rows: 2, differing: [] });
    await session.publishSeed(100, 'seed');
    expect(await test.fill()).toEqual(['ready']);
    expect(await test.difference()).toMatchObject({ readsTable: true, rows: 2, differing: [] });
  });
});

it('names a column that the view does not have, and makes the table all the same', async () => {
  await using test = await openCase();
  await test.history.write(create(1, 'one'));
  const failed = await test.sync([{ template: 'iou:Main:A', columns: ['ovner'] }]);
  expect(failed.map(({ error }) => error)).toMatchObject([{ code: 'MATERIALIZED_COLUMN_UNKNOWN' }]);
  await test.fill();
  expect(await test.difference()).toMatchObject({ readsTable: true, differing: [] });
});

it('names a template that has no view, and makes the other tables all the same', async () => {
  await using test = await openCase();
  await test.history.write(create(1, 'one'));
  const failed = await test.sync([{ template: 'iou:Main:Unheard', columns: [] }, ...wholeTemplate]);
  expect(failed).toMatchObject([{ view: 'iou:Main:Unheard', error: { code: 'MATERIALIZED_TEMPLATE_UNKNOWN' } }]);
  await test.fill();
  expect(await test.difference()).toMatchObject({ readsTable: true, differing: [] });
});
