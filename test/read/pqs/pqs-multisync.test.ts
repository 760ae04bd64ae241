/**
 * Ten queries on the search path `pqs_multisync, pqs`, compared with a model of contracts that move between
 * synchronizers.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alice, bob } from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import {
  activeAt,
  movingContracts,
  newestStays,
  type MovingContracts,
  type SynchronizerStay,
} from './multisync-model.ts';

const path = 'pqs_multisync, pqs';

let database: ReadDatabase;
let world: MovingContracts;
beforeAll(async () => {
  database = await createReadDatabase();
  world = movingContracts(11, 24);
  for (const frame of world.frames) await database.write(frame);
  await database.query(`set search_path = ${path}`);
});
afterAll(() => database[Symbol.asyncDispose]());

type Row = Readonly<Record<string, unknown>>;
const rows = (sql: string, ...values: unknown[]): Promise<readonly Row[]> => database.query<Row>(sql, values);

const columns = `contract_id, synchronizer_id, reassignment_counter::int as counter, created_at_offset::int as created,
  created_at_ix::int as created_ix, (create_event_id)."offset"::int as create_event, assigned_at_offset::int as assigned,
  assigned_at_ix::int as assigned_ix, (assign_event_id)."offset"::int as assign_event, archived_at_offset::int as archived,
  (archive_event_id).node_id as archive_node, unassigned_at_offset::int as unassigned, unassigned_at_ix::int as unassigned_ix,
  (unassign_event_id)."offset"::int as unassign_event, (unassign_event_id).node_id as unassign_node,
  (created_effective_at is null) as effective_unknown`;

/** The expected column values of a contract on one synchronizer. */
function rowOf({ contract, synchronizer, counter, begins: beginKind, from, to, ends: endKind }: SynchronizerStay): Row {
  const createdAt = beginKind === 'create' ? from : null;
  const assignedAt = beginKind === 'assign' ? from : null;
  const unassignedAt = endKind === 'unassign' ? (to ?? null) : null;
  const archivedAt = endKind === 'archive' ? (to ?? null) : null;
  return {
    contract_id: contract,
    synchronizer_id: synchronizer,
    counter,
    created: createdAt,
    created_ix: createdAt,
    create_event: createdAt,
    assigned: assignedAt,
    assigned_ix: assignedAt,
    assign_event: assignedAt,
    archived: archivedAt,
    archive_node: archivedAt === null ? null : archivedAt % 5,
    unassigned: unassignedAt,
    unassigned_ix: unassignedAt,
    unassign_event: unassignedAt,
    unassign_node: unassignedAt === null ? null : unassignedAt % 5,
    effective_unknown: beginKind === 'assign',
  };
}
const rowsByContract = (synchronizerStays: readonly SynchronizerStay[]): readonly Row[] =>
  [...synchronizerStays].sort((a, b) => (a.contract < b.contract ? -1 : 1)).map(rowOf);
const orderSql = `order by contract_id collate "C"`;

it('movingContracts() generates contracts on two synchronizers, with returns and archives', () => {
  const { stays: synchronizerStays, frames } = world;
  const movedTwice = frames.filter((_, index) => {
    const activeStays = activeAt(synchronizerStays, index + 1);
    return newestStays(activeStays).length < activeStays.length;
  });
  expect(movedTwice.length).toBeGreaterThan(10);
  expect(
    synchronizerStays.filter(({ ends: endKind }) => endKind === 'archive' && endKind !== undefined).length,
  ).toBeGreaterThan(5);
  expect(synchronizerStays.filter(({ counter }) => counter > 2).length).toBeGreaterThan(5);
});

describe('pqs_multisync', () => {
  it('returns one active row per contract at each offset, with the highest counter', async () => {
    for (let offset = 1; offset <= world.frames.length; offset += 1) {
      const expected = rowsByContract(newestStays(activeAt(world.stays, offset)));
      const sql = `select ${columns} from active(null, $1) where payload_type = 'template' ${orderSql}`;
      expect(await rows(sql, offset), `offset ${String(offset)}`).toEqual(expected);
    }
  });

  it('returns current contracts as templates and as interface views', async () => {
    const expected = rowsByContract(newestStays(activeAt(world.stays, world.frames.length)));
    for (const kind of ['template', 'interface'])
      expect(await rows(`select ${columns} from active() where payload_type = $1 ${orderSql}`, kind), kind).toEqual(
        expected,
      );
    expect(await rows(`select ${columns} from active('Iou') ${orderSql}`)).toEqual(expected);
  });

  it('returns the newest row of a contract in any state by lookup_contract()', async () => {
    for (const synchronizerStay of newestStays(world.stays)) {
      const sql = `select ${columns} from lookup_contract($1) order by payload_type`;
      expect(await rows(sql, synchronizerStay.contract), synchronizerStay.contract).toEqual([
        rowOf(synchronizerStay),
        rowOf(synchronizerStay),
      ]);
    }
  });

  it('returns creates without assigns, with the offset of the first unassign', async () => {
    const expected = rowsByContract(world.stays.filter(({ begins: beginKind }) => beginKind === 'create'));
    expect(await rows(`select ${columns} from creates() where payload_type = 'template' ${orderSql}`)).toEqual(
      expected,
    );
    const middleIndex = Math.floor(world.frames.length / 2);
    expect(
      await rows(
        `select ${columns} from creates('Iou', 0, $1) where unassigned_at_offset is not null ${orderSql}`,
        middleIndex,
      ),
    ).toEqual(
      rowsByContract(
        world.stays.filter(
          (synchronizerStay) =>
            synchronizerStay.begins === 'create' &&
            synchronizerStay.from <= middleIndex &&
            synchronizerStay.ends === 'unassign',
        ),
      ),
    );
  });

  it('returns one row per archive, without witnesses', async () => {
    const expected = rowsByContract(world.stays.filter(({ ends: endKind }) => endKind === 'archive'));
    expect(await rows(`select ${columns} from archives('Iou') ${orderSql}`)).toEqual(expected);
    expect(await rows(`select distinct witnesses from archives()`)).toEqual([{ witnesses: [] }]);
  });

  it('counts each active contract once in summary_active()', async () => {
    for (let offset = 1; offset <= world.frames.length; offset += 7) {
      const count = String(newestStays(activeAt(world.stays, offset)).length);
      const resultRows = await rows('select payload_type, count from summary_active($1) order by 1', offset);
      expect(resultRows, `offset ${String(offset)}`).toEqual(
        count === '0' ? [] : ['interface', 'template'].map((payload_type) => ({ payload_type, count })),
      );
    }
  });

  it('counts reassignments in a range by source and target', async () => {
    const [from, to] = [5, world.frames.length - 5];
    const expected = new Map<string, [number, number]>();
    for (const { type, source, target, offset } of world.halves) {
      if (offset < from || offset > to) continue;
      const eventCounts = expected.get(`${source} ${target}`) ?? [0, 0];
      eventCounts[type === 'unassign' ? 0 : 1] += 1;
      expected.set(`${source} ${target}`, eventCounts);
    }
    const resultRows = await rows(
      `select concat_ws(' ', source_synchronizer_id, target_synchronizer_id) as way, unassigns::int, assigns::int
         from summary_reassignments($1, $2)`,
      from,
      to,
    );
    expect(new Map(resultRows.map(({ way: route, unassigns, assigns }) => [route, [unassigns, assigns]]))).toEqual(
      expected,
    );
    expect(expected.size).toBeGreaterThan(4);
  });

  it('returns transactions with their synchronizer, and joins assigned contracts to them', async () => {
    const resultRows = await rows(`select "offset"::int as at, synchronizer_id from transactions order by "offset"`);
    expect(resultRows).toEqual(
      world.synchronizers.map((synchronizer_id, index) => ({ at: index + 1, synchronizer_id })),
    );
    const joinedRows = await rows(
      `select count(*)::int as n, count(*) filter (where t.synchronizer_id = a.synchronizer_id)::int as same
         from active('Iou') a join transactions t on t.ix = coalesce(a.created_at_ix, a.assigned_at_ix)`,
    );
    const n = newestStays(activeAt(world.stays, world.frames.length)).length;
    expect(joinedRows).toEqual([{ n, same: n }]);
  });

  it('returns each reassignment in __reassignments and each activation in __contracts', async () => {
    const resultRows = await rows(
      `select r.type, r.contract_id, r.reassignment_counter::int as counter, r.source_synchronizer_id as source,
              r.target_synchronizer_id as target, r.reassigned_at_ix::int as "offset", e.type as event, r.witnesses,
              (r.assignment_exclusivity is null) as free
         from __reassignments r join __events e on e.pk = r.reassign_event_pk and e.type = r.type order by r.reassigned_at_ix`,
    );
    expect(resultRows).toEqual(
      [...world.halves]
        .sort((a, b) => a.offset - b.offset)
        .map(({ type, contract, counter, source, target, offset }) => ({
          type,
          contract_id: contract,
          counter,
          source,
          target,
          offset,
          event: type,
          witnesses: [alice],
          free: type === 'assign',
        })),
    );
    const segments = await rows(
      `select contract_id, synchronizer_id, reassignment_counter::int as counter, created_at_ix::int as created,
              assigned_at_ix::int as assigned, archived_at_ix::int as archived, unassigned_at_ix::int as unassigned
         from __contracts c join __contract_tpe t on t.pk = c.tpe_pk where t.entity_name = 'Iou'
        order by coalesce(created_at_ix, assigned_at_ix)`,
    );
    expect(segments).toEqual(
      [...world.stays]
        .sort((a, b) => a.from - b.from)
        .map((synchronizerStay) => {
          const {
            contract_id,
            synchronizer_id,
            counter,
            created: createdAt,
            assigned: assignedAt,
            archived: archivedAt,
            unassigned: unassignedAt,
          } = rowOf(synchronizerStay);
          return {
            contract_id,
            synchronizer_id,
            counter,
            created: createdAt,
            assigned: assignedAt,
            archived: archivedAt,
            unassigned: unassignedAt,
          };
        }),
    );
  });

  it('counts transients in a range, and filters by assigned_at_offset', async () => {
    const [from, to] = [Math.floor(world.frames.length / 4), Math.floor((world.frames.length * 3) / 4)];
    const staysInRange = world.stays.filter(
      (synchronizerStay) => synchronizerStay.from >= from && (synchronizerStay.to ?? Infinity) <= to,
    );
    const resultRows = await rows(
      `select payload_type, count::int from summary_transients($1, $2) order by 1`,
      from,
      to,
    );
    expect(resultRows).toEqual(
      ['interface', 'template'].map((payload_type) => ({ payload_type, count: staysInRange.length })),
    );
    const assignedStay = newestStays(activeAt(world.stays, world.frames.length)).filter(
      (synchronizerStay) => synchronizerStay.begins === 'assign' && synchronizerStay.from > from,
    );
    const sql = `select contract_id, stakeholders(a), payload->>'owner' as owner, tpe_pk = (select pk from __contract_tpe
      where entity_name = 'Iou') as of_type from active('Iou') a where assigned_at_offset > $1 order by assigned_at_ix, assign_event_pk`;
    expect(await rows(sql, from)).toEqual(
      [...assignedStay]
        .sort((a, b) => a.from - b.from)
        .map(({ contract }) => ({ contract_id: contract, stakeholders: [alice, bob], owner: alice, of_type: true })),
    );
    expect(assignedStay.length).toBeGreaterThan(2);
  });
});

it('schema pqs returns one row per synchronizer, without reassignment columns', async () => {
  for (let offset = 1; offset <= world.frames.length; offset += 1) {
    const [countRow] = await rows(`select count(*)::int as n from pqs.active('Iou', $1)`, offset);
    expect(countRow, `offset ${String(offset)}`).toEqual({ n: activeAt(world.stays, offset).length });
  }
  const [row] = await rows('select * from pqs.active() limit 1');
  expect(Object.keys(row ?? {}).filter((column) => /assign_|assigned_/.test(column))).toEqual([]);
});

it('prune_archived_to_offset() counts deleted reassignments and keeps active contracts', async () => {
  const boundary = Math.floor(world.frames.length / 2);
  const expected = { deleted_reassignments: world.halves.filter(({ offset }) => offset <= boundary).length };
  const columnsOf = 'select deleted_reassignments from';
  expect(await rows(`${columnsOf} prune_archived_to_offset_dry_run($1)`, boundary)).toEqual([expected]);
  expect(await rows(`${columnsOf} prune_archived_to_offset($1)`, boundary)).toEqual([expected]);
  expect(await rows(`select ${columns} from active() where payload_type = 'template' ${orderSql}`)).toEqual(
    rowsByContract(newestStays(activeAt(world.stays, world.frames.length))),
  );
});
