/**
 * The storage replaces names with small numbers. Each row must refer to the names that were sent with it, however many
 * names a batch has, and even if a package name arrives later than its template.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { type Database } from '../../src/store/connection/database.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { query } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { here, type JsonRecord } from '../support/frames.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';

const many = 100;
const each = Array.from({ length: many }, (_, index) => index);

const schemas = schemasOfFile();

async function emptySchema(schema: string): Promise<Database> {
  const database = await schemas.migrated(schema);
  return database;
}

/** A schema with an empty seed at offset 0. */
async function followed(schema: string): Promise<Database> {
  const database = await emptySchema(schema);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  return database;
}

/** Writes transactions as one batch. Resolves to the offset of its end. */
async function write(session: StoreSession, after: number, sent: readonly JsonRecord[]): Promise<number> {
  const batch = session.newBatch(after);
  for (const frame of sent) batch.add(decodeUpdate(frames.text(frame)));
  await session.writeBatch(batch, after);
  return batch.offset;
}

const packageId = 'ab'.repeat(32);
const templateOf = (index: number): string => `${packageId}:Many:T${index}`;
const interfaceOf = (index: number): string => `${packageId}:Many:I${index}`;
const synchronizerOf = (index: number): string => `synchronizer${index}::1220`;

const create = (contractId: string, index: number, change: JsonRecord = {}): JsonRecord => ({
  CreatedEvent: frames.created({
    contractId,
    templateId: templateOf(index),
    packageName: `package${index}`,
    interfaceViews: [],
    ...change,
  }),
});
const view = (index: number): JsonRecord => ({
  interfaceId: interfaceOf(index),
  viewStatus: { code: 0, message: '', details: [] },
  viewValue: { amount: '1.0000000000' },
  implementationPackageId: packageId,
});
const exercise = (nodeId: number, index: number, change: JsonRecord): JsonRecord => ({
  ExercisedEvent: frames.exercised({
    nodeId,
    contractId: `plain ${index}`,
    templateId: templateOf(index),
    packageName: `package${index}`,
    interfaceId: null,
    implementedInterfaces: [],
    consuming: false,
    acsDelta: false,
    ...change,
  }),
});

/** Template names, then interface names, then choices with both, so that the numbers of each kind are far apart. */
function manyNames(): readonly JsonRecord[] {
  const on = (index: number, events: JsonRecord[]) => ({ events, synchronizerId: synchronizerOf(index) });
  const sent = [
    ...each.map((index) => on(index, [create(`plain ${index}`, index)])),
    ...each.map((index) => on(index, [create(`viewed ${index}`, index, { interfaceViews: [view(index)] })])),
    ...each.map((index) =>
      on(index, [
        exercise(0, index, { interfaceId: interfaceOf(0), choice: 'Same' }),
        exercise(1, index, { interfaceId: interfaceOf(64), choice: 'Same' }),
        exercise(2, index, { choice: `Choice${index}` }),
      ]),
    ),
    // Contracts of one template, on every synchronizer.
    ...each.map((index) => on(index, [create(`away ${index}`, 0)])),
  ];
  return sent.map(({ events, synchronizerId }, index) => frames.transaction(index + 1, events, { synchronizerId }));
}

const template = (alias: string): string =>
  `concat_ws(':', ${alias}.package_id, ${alias}.module_name, ${alias}.entity_name)`;
const contractNames = (schema: string): string =>
  `select c.contract_id as contract, ${template('t')} as template, t.package_name as package, s.synchronizer_id as synchronizer
     from ${schema}.decoded_contracts c left join ${schema}.templates t using (template_pk)
     left join ${schema}.synchronizers s using (synchronizer_pk) order by c."offset", c.node_id`;
const exerciseNames = (schema: string): string =>
  `select ${template('t')} as template, h.choice, nullif(${template('i')}, '') as interface, h.template_pk = e.template_pk as own
     from ${schema}.decoded_exercises e left join ${schema}.choices h using (choice_pk)
     left join ${schema}.templates t on t.template_pk = e.template_pk
     left join ${schema}.templates i on i.template_pk = h.interface_pk order by e."offset", e.node_id`;
const viewNames = (schema: string): string =>
  `select v.contract_id as contract, ${template('i')} as interface, ${template('t')} as template
     from ${schema}.decoded_interface_views v left join ${schema}.templates i on i.template_pk = v.interface_pk
     left join ${schema}.template_interfaces m on m.interface_pk = v.interface_pk
     left join ${schema}.templates t on t.template_pk = m.template_pk order by v."offset"`;
/** Differences between the hourly counts and the counts of rows. */
const miscounted = (schema: string): string =>
  `with counted as (
     select template_pk, choice_pk, synchronizer_pk, creates, exercises from ${schema}.activity_hourly where template_pk <> 0),
   row_counts as (
     select template_pk, 0 as choice_pk, synchronizer_pk, count(*) as creates, 0 as exercises from ${schema}.decoded_contracts group by 1, 3
     union all
     select e.template_pk, e.choice_pk, u.synchronizer_pk, 0, count(*) from ${schema}.decoded_exercises e
       join ${schema}.decoded_updates u using ("offset") group by 1, 2, 3)
   (table counted except table row_counts) union all (table row_counts except table counted)`;

describe('batch with a hundred new names of each kind', () => {
  const rows = (sql: (schema: string) => string) => query(schemas.url, sql('many'));
  let database: Database;
  beforeAll(async () => {
    database = await followed('many');
    await write(await openSession(database, identity), 0, manyNames());
  });

  it('stores the template, package and synchronizer of every contract', async () => {
    const named = (contract: string, index: number, synchronizer: number) => ({
      contract: `${contract} ${synchronizer}`,
      template: templateOf(index),
      package: `package${index}`,
      synchronizer: synchronizerOf(synchronizer),
    });
    expect(await rows(contractNames)).toEqual([
      ...each.map((index) => named('plain', index, index)),
      ...each.map((index) => named('viewed', index, index)),
      ...each.map((index) => named('away', 0, index)),
    ]);
  });

  it('stores each choice with its template and interface', async () => {
    const exerciseRow = (index: number, choice: string, by: string | null) => ({
      template: templateOf(index),
      choice,
      interface: by,
      own: true,
    });
    expect(await rows(exerciseNames)).toEqual(
      each.flatMap((index) => [
        exerciseRow(index, 'Same', interfaceOf(0)),
        exerciseRow(index, 'Same', interfaceOf(64)),
        exerciseRow(index, `Choice${index}`, null),
      ]),
    );
  });

  it('stores each interface with the template of its views', async () => {
    expect(await rows(viewNames)).toEqual(
      each.map((index) => ({
        contract: `viewed ${index}`,
        interface: interfaceOf(index),
        template: templateOf(index),
      })),
    );
  });

  it('counts each template, choice and synchronizer separately', async () => {
    expect(await rows(miscounted)).toEqual([]);
  });

  it('is followed by a session that assigns numbers only to new names', async () => {
    const sizes = (schema: string): string =>
      `select (select count(*)::int from ${schema}.templates) as templates, (select count(*)::int from ${schema}.choices) as choices,
              (select count(*)::int from ${schema}.synchronizers) as synchronizers,
              (select count(*)::int from ${schema}.template_interfaces) as pairs`;
    const [before] = await rows(sizes);
    expect(before).toEqual({ templates: 2 * many, choices: 3 * many, synchronizers: many, pairs: many });
    const known = [create('known', 70, { interfaceViews: [view(70)] }), exercise(1, 70, { choice: 'Choice70' })];
    const fresh = [create('fresh', many, { interfaceViews: [view(many)] }), exercise(1, many, { choice: 'Fresh' })];
    const end = 4 * many;
    await write(await openSession(database, identity), end, [
      frames.transaction(end + 1, known, { synchronizerId: synchronizerOf(70) }),
      frames.transaction(end + 2, fresh, { synchronizerId: synchronizerOf(many) }),
    ]);
    const [after] = await rows(sizes);
    expect(after).toEqual({ templates: 2 * many + 2, choices: 3 * many + 1, synchronizers: many + 1, pairs: many + 1 });
    expect((await rows(contractNames)).slice(-2)).toEqual([
      { contract: 'known', template: templateOf(70), package: 'package70', synchronizer: synchronizerOf(70) },
      { contract: 'fresh', template: templateOf(many), package: `package${many}`, synchronizer: synchronizerOf(many) },
    ]);
    expect((await rows(exerciseNames)).slice(-2)).toEqual([
      { template: templateOf(70), choice: 'Choice70', interface: null, own: true },
      { template: templateOf(many), choice: 'Fresh', interface: null, own: true },
    ]);
    expect(await rows(miscounted)).toEqual([]);
  });
});

/** An event without the package name of its template, and an event with it. */
const nameless = (offset: number): JsonRecord =>
  frames.transaction(offset, [exercise(0, 7, { packageName: '', choice: `At${offset}` })]);
const named = (offset: number): JsonRecord => frames.transaction(offset, [create(`at ${offset}`, 7)]);
const packages = (schema: string) => query(schemas.url, `select template_pk, package_name from ${schema}.templates`);
const learned = [{ template_pk: 1, package_name: 'package7' }];

describe('late package name', () => {
  it('is stored if it arrives in the batch of its template', async () => {
    const session = await openSession(await followed('same_batch'), identity);
    await write(session, 0, [nameless(1), named(2)]);
    expect(await packages('same_batch')).toEqual(learned);
  });

  it('is stored if it arrives in a later batch, and kept', async () => {
    const session = await openSession(await followed('later_batch'), identity);
    await write(session, 0, [nameless(1)]);
    expect(await packages('later_batch')).toEqual([{ template_pk: 1, package_name: null }]);
    await write(session, 1, [named(2)]);
    expect(await packages('later_batch')).toEqual(learned);
    await write(session, 2, [nameless(3)]);
    expect(await packages('later_batch')).toEqual(learned);
  });

  it('is stored if it arrives after a restart, and kept after the next restart', async () => {
    const database = await followed('restarted');
    await write(await openSession(database, identity), 0, [nameless(1)]);
    await write(await openSession(database, identity), 1, [named(2)]);
    expect(await packages('restarted')).toEqual(learned);
    await write(await openSession(database, identity), 2, [nameless(3)]);
    expect(await packages('restarted')).toEqual(learned);
  });

  it('is stored by the retry of a batch that was rolled back', async () => {
    const database = await followed('rolled_back');
    const session = await openSession(database, identity);
    await write(session, 0, [nameless(1)]);
    await rollBack(session, 1, named(2));
    expect(await packages('rolled_back')).toEqual([{ template_pk: 1, package_name: null }]);
    await write(await openSession(database, identity), 1, [named(2)]);
    expect(await packages('rolled_back')).toEqual(learned);
  });
});

/** Writes a batch that Postgres rejects, because one node cannot have two exercises. */
async function rollBack(session: StoreSession, after: number, frame: JsonRecord): Promise<void> {
  const node = exercise(5, 20, { choice: 'Twice' });
  const unlawful = frames.transaction(after + 2, [node, node]);
  await expect(write(session, after, [frame, unlawful])).rejects.toHaveProperty('code');
}

describe('names of a rolled-back batch', () => {
  it('are stored by the next session that uses them', async () => {
    const database = await followed('forgotten');
    const lost = [
      create('lost', 1),
      exercise(1, 2, { choice: 'Lost' }),
      create('viewed', 1, { interfaceViews: [view(3)], nodeId: 2 }),
    ];
    const update = (offset: number, events: JsonRecord[], at: number): JsonRecord =>
      frames.transaction(offset, events, { synchronizerId: synchronizerOf(at) });
    await rollBack(await openSession(database, identity), 0, update(1, lost, 1));
    expect(
      await query(schemas.url, 'select from forgotten.templates, forgotten.choices, forgotten.synchronizers'),
    ).toEqual([]);

    const session = await openSession(database, identity);
    await write(session, 0, [update(1, [create('first', 9)], 9), update(2, lost, 1)]);
    expect(await query(schemas.url, contractNames('forgotten'))).toEqual([
      { contract: 'first', template: templateOf(9), package: 'package9', synchronizer: synchronizerOf(9) },
      { contract: 'lost', template: templateOf(1), package: 'package1', synchronizer: synchronizerOf(1) },
      { contract: 'viewed', template: templateOf(1), package: 'package1', synchronizer: synchronizerOf(1) },
    ]);
    expect(await query(schemas.url, exerciseNames('forgotten'))).toEqual([
      { template: templateOf(2), choice: 'Lost', interface: null, own: true },
    ]);
    expect(await query(schemas.url, viewNames('forgotten'))).toEqual([
      { contract: 'viewed', interface: interfaceOf(3), template: templateOf(1) },
    ]);
  });
});

describe('names of a restarted seed', () => {
  it('are stored again after the restart', async () => {
    const session = await openSession(await emptySchema('seeded'), identity);
    const entries = each.map((index) =>
      decodeActiveContract(
        frames.text(
          frames.activeEntry({
            contractId: `s${index}`,
            nodeId: index,
            templateId: templateOf(index),
            packageName: `package${index}`,
          }),
        ),
      ),
    );
    for (const offset of [5, 6]) {
      await session.beginSeed(offset);
      const batch = session.newBatch(offset);
      for (const entry of offset === 5 ? entries : entries.toReversed()) batch.addEntry(entry);
      await session.writeSeed(batch, 0);
    }
    await session.publishSeed(6, 'seed');
    const stored = await query(schemas.url, contractNames('seeded'));
    expect(new Set(stored.map((row) => JSON.stringify(row)))).toEqual(
      new Set(
        each.map((index) =>
          JSON.stringify({
            contract: `s${index}`,
            template: templateOf(index),
            package: `package${index}`,
            synchronizer: here,
          }),
        ),
      ),
    );
    expect(await query(schemas.url, 'select count(*)::int as count from seeded.templates')).toEqual([
      { count: many + 1 },
    ]);
  });
});
