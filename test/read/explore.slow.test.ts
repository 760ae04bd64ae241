/** The views of schema explore: rows for frames with known contents, and comments on every object. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';

const { alice, bob, here: homeSynchronizer, there: awaySynchronizer, created, exercised } = frames;
const fqn = 'iou:Main.Iou:Iou';
const viewedFqn = `${'cd'.repeat(32)}:Holding:Holding`;
const effectiveAt = new Date('2026-08-14T11:01:00Z');
const recordTime = new Date('2026-08-14T11:01:00.100Z');

const uncommented = `
  select c.relname || coalesce('.' || a.attname, '') as name
    from pg_class c
    left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'v')
     and (obj_description(c.oid) is null or col_description(c.oid, a.attnum) is null)
  union all
  select p.oid::regprocedure::text from pg_proc p
   where p.pronamespace = $1::regnamespace and obj_description(p.oid) is null
   order by 1`;

describe('schema explore', () => {
  it.each(['ledger', 'Odd "name'])(
    'has a comment on every view, column and function, for storage schema %j',
    async (schema) => {
      await using database = await createReadDatabase(schema);
      const explore = schema === 'ledger' ? 'explore' : '"Odd ""name_explore"';
      expect(await database.query(uncommented, [explore])).toEqual([]);
      expect(await database.query(`select * from ${explore}.token_balances`)).toEqual([]);
    },
  );
});

/**
 * Offset 1 creates c1 and c2 and witnesses t. Offset 2 exercises a choice on c1 and archives c2. Offsets 3 and 4
 * reassign c1. Offset 5 has an archived event, and offset 6 is a topology transaction.
 */
async function writeHistory(database: ReadDatabase): Promise<void> {
  await database.write(
    frames.transaction(1, [
      { CreatedEvent: created({ offset: 1, contractId: 'c1' }) },
      { CreatedEvent: created({ offset: 1, nodeId: 1, contractId: 'c2', interfaceViews: [] }) },
      { CreatedEvent: created({ offset: 1, nodeId: 2, contractId: 't', interfaceViews: [], acsDelta: false }) },
    ]),
    frames.transaction(2, [
      { ExercisedEvent: exercised({ offset: 2, nodeId: 0, contractId: 'c1', consuming: false, acsDelta: false }) },
      {
        ExercisedEvent: exercised({ offset: 2, nodeId: 1, contractId: 'c2', choice: 'Archive', interfaceId: null }),
      },
    ]),
    frames.reassignment(3, { JsUnassignedEvent: { value: frames.unassigned({ offset: 3, contractId: 'c1' }) } }),
    frames.reassignment(
      4,
      { JsAssignmentEvent: frames.assigned({ createdEvent: created({ offset: 4, contractId: 'c1' }) }) },
      awaySynchronizer,
    ),
    frames.transaction(5, [{ ArchivedEvent: frames.archived({ offset: 5, nodeId: 0, contractId: 'c3' }) }]),
    frames.topology(6),
  );
}

describe('views of explore', () => {
  let database: ReadDatabase;
  beforeAll(async () => {
    database = await createReadDatabase();
    await writeHistory(database);
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
  });

  it('return one row per activation of a contract, with its status', async () => {
    const rows = await database.query(`
      select contract_id, created_at_offset::int as from, archived_at_offset::int as to, status, is_active,
             synchronizer_id, archived_at, origin
        from explore.contracts where template_fqn = '${fqn}' order by 2, 1`);
    expect(rows).toEqual([
      row('c1', 1, 3, 'unassigned', homeSynchronizer, recordTime, 'create'),
      row('c2', 1, 2, 'archived', homeSynchronizer, effectiveAt, 'create'),
      row('t', 1, null, 'witnessed', homeSynchronizer, null, 'create'),
      row('c1', 4, null, 'active', awaySynchronizer, null, 'assign'),
    ]);
    function row(
      id: string,
      from: number,
      to: number | null,
      status: string,
      startSql: string,
      end: Date | null,
      endedBy: string,
    ) {
      const state = {
        status,
        is_active: status === 'active',
        synchronizer_id: startSql,
        archived_at: end,
        origin: endedBy,
      };
      return { contract_id: id, from, to, ...state };
    }
  });

  it('return all columns of an active contract', async () => {
    expect(await database.query('select * from explore.active_contracts')).toEqual([
      {
        contract_id: 'c1',
        template_fqn: fqn,
        package_name: 'iou',
        module_name: 'Main.Iou',
        entity_name: 'Iou',
        package_id: 'ab'.repeat(32),
        payload: { owner: alice, amount: '60.0000000000' },
        contract_key: null,
        signatories: [alice],
        observers: [bob],
        witnesses: [alice],
        created_at_offset: expect.anything() as unknown,
        created_at: new Date('2026-08-11T12:49:09.497Z'),
        record_time: recordTime,
        synchronizer_id: awaySynchronizer,
        reassignment_counter: expect.anything() as unknown,
        update_id: '12204',
      },
    ]);
  });

  it('return each event once, in order', async () => {
    const rows = await database.query<{ event: string }>(`
      select concat_ws(' ', "offset", node_id, event_type, contract_id, choice, synchronizer_id) as event
        from explore.events order by "offset", node_id`);
    expect(rows.map(({ event }) => event)).toEqual([
      `1 0 created c1 ${homeSynchronizer}`,
      `1 1 created c2 ${homeSynchronizer}`,
      `1 2 created t ${homeSynchronizer}`,
      `2 0 exercised c1 Transfer ${homeSynchronizer}`,
      `2 1 archived c2 Archive ${homeSynchronizer}`,
      `3 0 unassigned c1 ${homeSynchronizer}`,
      `4 0 assigned c1 ${awaySynchronizer}`,
      `5 0 archived c3 ${homeSynchronizer}`,
      `6 0 topology ParticipantAuthorizationAdded ${homeSynchronizer}`,
    ]);
    const [sum] = await database.query(
      'select (select sum(event_count)::int from explore.updates) as told, (select count(*)::int from explore.events) as shown',
    );
    expect(sum).toEqual({ told: 9, shown: 9 });
  });

  it('return exercises with their interface, and interface views with the contract state', async () => {
    expect(
      await database.query(
        `select contract_id, choice, interface_fqn, template_fqn, consuming, argument, result from explore.exercises
          order by node_id`,
      ),
    ).toEqual([
      {
        contract_id: 'c1',
        choice: 'Transfer',
        interface_fqn: viewedFqn,
        template_fqn: fqn,
        consuming: false,
        argument: { to: bob },
        result: { cid: '00c2' },
      },
      {
        contract_id: 'c2',
        choice: 'Archive',
        interface_fqn: null,
        template_fqn: fqn,
        consuming: true,
        argument: { to: bob },
        result: { cid: '00c2' },
      },
    ]);
    expect(
      await database.query(
        `select contract_id, "offset"::int as "offset", interface_fqn, template_fqn, is_active,
                archived_at_offset::int as ended from explore.interface_views order by 2`,
      ),
    ).toEqual([
      { contract_id: 'c1', offset: 1, interface_fqn: viewedFqn, template_fqn: fqn, is_active: false, ended: 3 },
      { contract_id: 'c1', offset: 4, interface_fqn: viewedFqn, template_fqn: fqn, is_active: true, ended: null },
    ]);
  });

  it('use the package name of an interface once the package is known', async () => {
    await database.query(
      `insert into packages values ('${'cd'.repeat(32)}', 'holding-v1', '1.2.3', '2.1', '{}') on conflict do nothing`,
    );
    const rows = await database.query('select template_fqn, package_version, kind from explore.templates order by 1');
    expect(rows).toEqual([
      { template_fqn: 'holding-v1:Holding:Holding', package_version: '1.2.3', kind: 'interface' },
      { template_fqn: fqn, package_version: null, kind: 'template' },
    ]);
    expect(
      await database.query(
        `select 1 as x from explore.interface_views where interface_fqn = 'holding-v1:Holding:Holding'`,
      ),
    ).toHaveLength(2);
    await database.query('delete from packages');
  });

  it('return reassignments, and counts of events per party, template and choice', async () => {
    expect(
      await database.query(
        'select kind, contract_id, source, target, submitter from explore.reassignments order by "offset"',
      ),
    ).toEqual([
      { kind: 'unassign', contract_id: 'c1', source: homeSynchronizer, target: awaySynchronizer, submitter: alice },
      { kind: 'assign', contract_id: 'c1', source: homeSynchronizer, target: awaySynchronizer, submitter: alice },
    ]);
    expect(
      await database.query(
        `select party, signatory_of::int as s, observer_of::int as o, witness_of::int as w, exercised::int as e,
                first_offset::int as first, last_offset::int as last from explore.parties order by party`,
      ),
    ).toEqual([
      { party: alice, s: 4, o: 0, w: 4, e: 2, first: 1, last: 4 },
      { party: bob, s: 0, o: 4, w: 0, e: 0, first: 1, last: 4 },
    ]);
    expect(
      await database.query(
        `select template_fqn, choice, sum(creates)::int as c, sum(archives)::int as a, sum(exercises)::int as e
           from explore.activity group by 1, 2 order by 2 nulls first`,
      ),
    ).toEqual([
      { template_fqn: fqn, choice: null, c: 3, a: 1, e: 0 },
      { template_fqn: fqn, choice: 'Archive', c: 0, a: 1, e: 1 },
      { template_fqn: fqn, choice: 'Transfer', c: 0, a: 0, e: 1 },
    ]);
  });
});
