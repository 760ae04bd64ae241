/** The command `index` suggests indexes on payload fields for slow statements, and builds them on tables in use. */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { indexCommand } from '../../src/cli/inspect/index-verb.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { buildIndex } from '../../src/store/reads/index-build.ts';
import { indexAdviceOf } from '../../src/store/reads/index-advice.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { createTestDatabase, query } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { identity } from '../support/schemas.ts';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { createReadDatabase } from './read-database.ts';
import { runCommand } from '../support/run-command.ts';

it('indexAdviceOf() returns the filter fields of slow statements, most expensive first', () => {
  const statement = (query: string, calls: number): { query: string; calls: number; mean: number } => ({
    query,
    calls,
    mean: 20,
  });
  const advice = indexAdviceOf([
    statement(`select payload ->> 'shown' from active($1) where payload->>'owner' = $2`, 10),
    statement(
      `select * from contracts c where (c.payload #>> '{meta,id}')::text = $1 and c.payload ->> 'owner' in ($2)`,
      5,
    ),
    statement(`select payload ->> 'only' from contracts`, 99),
  ]);
  expect(advice).toEqual([
    { expression: `payload ->> 'owner'`, calls: 15, meanMs: 20 },
    { expression: `payload #>> '{meta,id}'`, calls: 5, meanMs: 20 },
  ]);
});

it('indexAdviceOf() returns the statement if the field name was replaced by a parameter', () => {
  const query = `select count(*)\n from active($1) where payload ->> $2 = $3`;
  const otherSql = `select 1 from contracts where c.payload->>$1=$2`;
  expect(
    indexAdviceOf([
      { query, calls: 3, mean: 40 },
      { query: otherSql, calls: 1, mean: 20 },
    ]),
  ).toEqual([
    {
      expression: 'payload ->> ?',
      statement: 'select count(*) from active($1) where payload ->> $2 = $3',
      calls: 4,
      meanMs: 35,
    },
  ]);
});

it('index create builds an index that queries use, only once, or again if the index is invalid', async () => {
  await using testDatabase = await createTestDatabase();
  const database = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
  });
  await migrate(database);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  const batch = session.newBatch(0);
  const events = Array.from({ length: 2_000 }, (_, nodeId) => ({
    CreatedEvent: frames.created({ nodeId, contractId: `c${nodeId}`, createArgument: { owner: `party ${nodeId}` } }),
  }));
  batch.add(decodeUpdate(frames.text(frames.transaction(1, events))));
  await session.writeBatch(batch, 0);
  await database.close();

  const run = async (...argv: string[]): Promise<string> => {
    const lines: string[] = [];
    await runCommand(indexCommand, argv, { DATABASE_URL: testDatabase.url }, { print: (line) => lines.push(line) });
    return lines.join('\n');
  };
  expect(await run('suggest')).toContain('pg_stat_statements');
  const create = ['create', 'payload.owner', '--using', 'hash'];
  expect(await run(...create)).toMatch(/^built: own_payload_owner_[0-9a-f]{8} /);
  expect(await run(...create)).toMatch(/^already exists/);
  await query(
    testDatabase.url,
    `update pg_index set indisvalid = false where indexrelid::regclass::text like 'ledger.own_%'`,
  );
  expect(await run(...create)).toMatch(/^built/);
  for (const from of [`explore.active('Iou')`, `pqs.active('Iou')`]) {
    const plan = await query(testDatabase.url, `explain select * from ${from} where payload ->> 'owner' = 'party 7'`);
    expect(JSON.stringify(plan), from).toContain('own_payload_owner');
  }

  const secondDatabase = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
  });
  await expect(
    buildIndex(secondDatabase, 'unfit', `on contracts (((payload ->> 'owner')::integer))`),
  ).rejects.toMatchObject({
    message: expect.stringMatching(/^no index was built: /) as unknown,
    remedy: expect.stringContaining('does not fit') as unknown,
  });
  await secondDatabase.close();
  expect(await query(testDatabase.url, `select to_regclass('ledger.unfit') as left_behind`)).toEqual([
    { left_behind: null },
  ]);

  await expect(run('create', `payload.owner'); drop table x`)).rejects.toThrow(/not a payload field/);
  await expect(run('destroy')).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
});

it.each([
  ['index create', ['create', 'payload.note'], undefined],
  ['index create --using hash', ['create', 'payload.note', '--using', 'hash'], undefined],
  ['pqs.create_index_for_contract() on text', undefined, `(payload->>'note')`],
  ['pqs.create_index_for_contract() on jsonb', undefined, `(payload->'note')`],
])('%s creates an index that accepts values of any length', async (_, argv, expression) => {
  await using history = await createReadDatabase();
  const contractFields = { templateId: `${'ab'.repeat(32)}:M:Note`, packageName: 'p', interfaceViews: [] };
  const noteFrame = (offset: number, text: string): frames.JsonRecord => {
    const event = { ...contractFields, offset, contractId: `c${String(offset)}`, createArgument: { note: text } };
    return frames.transaction(offset, [{ CreatedEvent: frames.created(event) }]);
  };
  await history.write(noteFrame(1, 'short'));
  if (argv !== undefined) await runCommand(indexCommand, argv, { DATABASE_URL: history.url });
  else
    await history.query('call pqs.create_index_for_contract($1, $2, $3, $4)', ['i', 'p:M:Note', expression, 'btree']);
  const random = new Random(1);
  for (const [index, characters] of [3_200, 9_000, 200_000].entries()) {
    const text = Array.from({ length: characters / 2 }, () =>
      String.fromCodePoint(random.between(0x4e00, 0x9fff)),
    ).join('');
    await history.write(noteFrame(index + 2, text));
    expect(
      await history.query(`select contract_id from explore.active('Note') where payload ->> 'note' = $1`, [text]),
    ).toHaveLength(1);
  }
});

it('documented indexes on exercises accept values of any length and are used by queries', async () => {
  await using history = await createReadDatabase();
  const documentedPlan = await readFile(new URL('../../docs/how-to/query/payload-indexes.md', import.meta.url), 'utf8');
  const statements = documentedPlan.match(/^create index concurrently own_\w+ on ledger\.exercises .*;$/gm) ?? [];
  expect(statements).toHaveLength(2);
  for (const statement of statements) await history.query(statement);
  const random = new Random(2);
  const senders = [40, 3_200, 200_000].map((characters) =>
    Array.from({ length: characters / 2 }, () => String.fromCodePoint(random.between(0x4e00, 0x9fff))).join(''),
  );
  for (const [index, sender] of senders.entries()) {
    const offset = index + 1;
    const argument = { transfer: { sender } };
    const event = frames.exercised({
      offset,
      nodeId: 1,
      lastDescendantNodeId: 1,
      consuming: false,
      choiceArgument: argument,
    });
    await history.write(frames.transaction(offset, [{ ExercisedEvent: event }]));
    const argumentSql = `from explore.exercises where argument #>> '{transfer,sender}' = $1`;
    expect(await history.query(`select "offset" ${argumentSql}`, [sender])).toHaveLength(1);
  }
  await history.query('set enable_seqscan = off');
  const plan = await history.plan(`select * from explore.exercises where argument #>> '{transfer,sender}' = 'bob'`);
  expect(plan).toContain('own_sender');
});
