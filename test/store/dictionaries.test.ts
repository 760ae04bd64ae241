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

const contractCount = 100;
const indexes = Array.from({ length: contractCount }, (_, index) => index);

const schemas = schemasOfFile();

async function emptySchema(schema: string): Promise<Database> {
  const database = await schemas.migrated(schema);
  return database;
}

/** A schema with an empty seed at offset 0. */
async function followedStream(schema: string): Promise<Database> {
  const database = await emptySchema(schema);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  return database;
}

/** Writes transactions as one batch. Resolves to the offset of its end. */
async function write(session: StoreSession, afterOffset: number, sentUpdates: readonly JsonRecord[]): Promise<number> {
  const batch = session.newBatch(afterOffset);
  for (const frame of sentUpdates) batch.add(decodeUpdate(frames.text(frame)));
  await session.writeBatch(batch, afterOffset);
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
  const updateWith = (index: number, events: JsonRecord[]) => ({ events, synchronizerId: synchronizerOf(index) });
  const sentUpdates = [
    ...indexes.map((index) => updateWith(index, [create(`plain ${index}`, index)])),
    ...indexes.map((index) => updateWith(index, [create(`viewed ${index}`, index, { interfaceViews: [view(index)] })])),
    ...indexes.map((index) =>
      updateWith(index, [
        exercise(0, index, { interfaceId: interfaceOf(0), choice: 'Same' }),
        exercise(1, index, { interfaceId: interfaceOf(64), choice: 'Same' }),
        exercise(2, index, { choice: `Choice${index}` }),
      ]),
    ),
    // Contracts of one template, on every synchronizer.
    ...indexes.map((index) => updateWith(index, [create(`away ${index}`, 0)])),
  ];
  return sentUpdates.map(({ events, synchronizerId }, index) =>
    frames.transaction(index + 1, events, { synchronizerId }),
  );
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
const miscountedSql = (schema: string): string =>
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
    database = await followedStream('many');
    await write(await openSession(database, identity), 0, manyNames());
  });

  it('stores the template, package and synchronizer of every contract', async () => {
    const contractEvent = (contract: string, index: number, synchronizer: number) => ({
      contract: `${contract} ${synchronizer}`,
      template: templateOf(index),
      package: `package${index}`,
      synchronizer: synchronizerOf(synchronizer),
    });
    expect(await rows(contractNames)).toEqual([
      ...indexes.map((index) => contractEvent('plain', index, index)),
      ...indexes.map((index) => contractEvent('viewed', index, index)),
      ...indexes.map((index) => contractEvent('away', 0, index)),
    ]);
  });

  it('stores each choice with its template and interface', async () => {
    const exerciseRow = (index: number, choice: string, actor: string | null) => ({
      template: templateOf(index),
      choice,
      interface: actor,
      own: true,
    });
    expect(await rows(exerciseNames)).toEqual(
      indexes.flatMap((index) => [
        exerciseRow(index, 'Same', interfaceOf(0)),
        exerciseRow(index, 'Same', interfaceOf(64)),
        exerciseRow(index, `Choice${index}`, null),
      ]),
    );
  });

  it('stores each interface with the template of its views', async () => {
    expect(await rows(viewNames)).toEqual(
      indexes.map((index) => ({
        contract: `viewed ${index}`,
        interface: interfaceOf(index),
        template: templateOf(index),
      })),
    );
  });

  it('counts each template, choice and synchronizer separately', async () => {
    expect(await rows(miscountedSql)).toEqual([]);
  });

  it('is followed by a session that assigns numbers only to new names', async () => {
    const sizes = (schema: string): string =>
      `select (select count(*)::int from ${schema}.templates) as templates, (select count(*)::int from ${schema}.choices) as choices,
              (select count(*)::int from ${schema}.synchronizers) as synchronizers,
              (select count(*)::int from ${schema}.template_interfaces) as pairs`;
    const [sizesBefore] = await rows(sizes);
    expect(sizesBefore).toEqual({
      templates: 2 * contractCount,
      choices: 3 * contractCount,
      synchronizers: contractCount,
      pairs: contractCount,
    });
    const knownUpdates = [create('known', 70, { interfaceViews: [view(70)] }), exercise(1, 70, { choice: 'Choice70' })];
    const freshUpdates = [
      create('fresh', contractCount, { interfaceViews: [view(contractCount)] }),
      exercise(1, contractCount, { choice: 'Fresh' }),
    ];
    const end = 4 * contractCount;
    await write(await openSession(database, identity), end, [
      frames.transaction(end + 1, knownUpdates, { synchronizerId: synchronizerOf(70) }),
      frames.transaction(end + 2, freshUpdates, { synchronizerId: synchronizerOf(contractCount) }),
    ]);
    const [sizesAfter] = await rows(sizes);
    expect(sizesAfter).toEqual({
      templates: 2 * contractCount + 2,
      choices: 3 * contractCount + 1,
      synchronizers: contractCount + 1,
      pairs: contractCount + 1,
    });
    expect((await rows(contractNames)).slice(-2)).toEqual([
      { contract: 'known', template: templateOf(70), package: 'package70', synchronizer: synchronizerOf(70) },
      {
        contract: 'fresh',
        template: templateOf(contractCount),
        package: `package${contractCount}`,
        synchronizer: synchronizerOf(contractCount),
      },
    ]);
    expect((await rows(exerciseNames)).slice(-2)).toEqual([
      { template: templateOf(70), choice: 'Choice70', interface: null, own: true },
      { template: templateOf(contractCount), choice: 'Fresh', interface: null, own: true },
    ]);
    expect(await rows(miscountedSql)).toEqual([]);
  });
});

/** An event without the package name of its template, and an event with it. */
const unnamedUpdate = (offset: number): JsonRecord =>
  frames.transaction(offset, [exercise(0, 7, { packageName: '', choice: `At${offset}` })]);
const nameUpdate = (offset: number): JsonRecord => frames.transaction(offset, [create(`at ${offset}`, 7)]);
const packages = (schema: string) => query(schemas.url, `select template_pk, package_name from ${schema}.templates`);
const learnedTemplates = [{ template_pk: 1, package_name: 'package7' }];

describe('late package name', () => {
  it('is stored if it arrives in the batch of its template', async () => {
    const session = await openSession(await followedStream('same_batch'), identity);
    await write(session, 0, [unnamedUpdate(1), nameUpdate(2)]);
    expect(await packages('same_batch')).toEqual(learnedTemplates);
  });

  it('is stored if it arrives in a later batch, and kept', async () => {
    const session = await openSession(await followedStream('later_batch'), identity);
    await write(session, 0, [unnamedUpdate(1)]);
    expect(await packages('later_batch')).toEqual([{ template_pk: 1, package_name: null }]);
    await write(session, 1, [nameUpdate(2)]);
    expect(await packages('later_batch')).toEqual(learnedTemplates);
    await write(session, 2, [unnamedUpdate(3)]);
    expect(await packages('later_batch')).toEqual(learnedTemplates);
  });

  it('is stored if it arrives after a restart, and kept after the next restart', async () => {
    const database = await followedStream('restarted');
    await write(await openSession(database, identity), 0, [unnamedUpdate(1)]);
    await write(await openSession(database, identity), 1, [nameUpdate(2)]);
    expect(await packages('restarted')).toEqual(learnedTemplates);
    await write(await openSession(database, identity), 2, [unnamedUpdate(3)]);
    expect(await packages('restarted')).toEqual(learnedTemplates);
  });

  it('is stored by the retry of a batch that was rolled back', async () => {
    const database = await followedStream('rolled_back');
    const session = await openSession(database, identity);
    await write(session, 0, [unnamedUpdate(1)]);
    await rollBack(session, 1, nameUpdate(2));
    expect(await packages('rolled_back')).toEqual([{ template_pk: 1, package_name: null }]);
    await write(await openSession(database, identity), 1, [nameUpdate(2)]);
    expect(await packages('rolled_back')).toEqual(learnedTemplates);
  });
});

/** Writes a batch that Postgres rejects, because one node cannot have two exercises. */
async function rollBack(session: StoreSession, afterOffset: number, frame: JsonRecord): Promise<void> {
  const node = exercise(5, 20, { choice: 'Twice' });
  const unlawful = frames.transaction(afterOffset + 2, [node, node]);
  await expect(write(session, afterOffset, [frame, unlawful])).rejects.toHaveProperty('code');
}

describe('names of a rolled-back batch', () => {
  it('are stored by the next session that uses them', async () => {
    const database = await followedStream('forgotten');
    const lostUpdates = [
      create('lost', 1),
      exercise(1, 2, { choice: 'Lost' }),
      create('viewed', 1, { interfaceViews: [view(3)], nodeId: 2 }),
    ];
    const update = (offset: number, events: JsonRecord[], at: number): JsonRecord =>
      frames.transaction(offset, events, { synchronizerId: synchronizerOf(at) });
    await rollBack(await openSession(database, identity), 0, update(1, lostUpdates, 1));
    expect(
      await query(schemas.url, 'select from forgotten.templates, forgotten.choices, forgotten.synchronizers'),
    ).toEqual([]);

    const session = await openSession(database, identity);
    await write(session, 0, [update(1, [create('first', 9)], 9), update(2, lostUpdates, 1)]);
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
    const entries = indexes.map((index) =>
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
    const storedNames = await query(schemas.url, contractNames('seeded'));
    expect(new Set(storedNames.map((row) => JSON.stringify(row)))).toEqual(
      new Set(
        indexes.map((index) =>
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
      { count: contractCount + 1 },
    ]);
  });
});
