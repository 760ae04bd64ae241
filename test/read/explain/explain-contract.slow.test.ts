/**
 * `explain_contract`: the history of a contract from create to archive, through upgrades, reassignments, offboarded
 * parties, redactions, gaps and pruning.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

const { alice, here: homeSynchronizer, there: awaySynchronizer } = frames;
const upgradedTemplate = `${'ef'.repeat(32)}:Main.Iou:Iou`;

let database: ReadDatabase;
beforeEach(async () => {
  database = await createReadDatabase();
});
afterEach(async () => {
  await database[Symbol.asyncDispose]();
});

const createFrame = (contractId: string, change: frames.JsonRecord = {}): frames.JsonRecord => ({
  CreatedEvent: frames.created({ contractId, ...change }),
});
const exerciseFrame = (contractId: string, change: frames.JsonRecord): frames.JsonRecord => ({
  ExercisedEvent: frames.exercised({ contractId, nodeId: 0, lastDescendantNodeId: 0, interfaceId: null, ...change }),
});

interface Row {
  readonly offset: string;
  readonly event_type: string;
  readonly effective_at: Date | null;
  readonly record_time: Date | null;
  readonly package_id: string;
  readonly choice: string | null;
  readonly synchronizer_id: string | null;
  readonly target: string | null;
  readonly other_contract_id: string | null;
  readonly contents: unknown;
  readonly redaction_id: string | null;
}

const explainLife = (contractId: string, maxOffset: number | null = null): Promise<readonly Row[]> =>
  database.query<Row>('select * from explore.explain_contract($1, $2)', [contractId, maxOffset]);

const events = (rows: readonly Row[]): readonly unknown[] => rows.map((row) => [Number(row.offset), row.event_type]);

describe('explain_contract', () => {
  it('returns all events across two synchronizers and package versions, and the successor', async () => {
    await database.write(
      frames.transaction(1, [createFrame('00c1', { offset: 1 })]),
      frames.transaction(2, [
        exerciseFrame('00c1', {
          offset: 2,
          choice: 'Look',
          consuming: false,
          acsDelta: false,
          templateId: upgradedTemplate,
        }),
      ]),
      frames.reassignment(3, { JsUnassignedEvent: { value: frames.unassigned({ offset: 3 }) } }),
      frames.reassignment(
        4,
        { JsAssignmentEvent: frames.assigned({ createdEvent: frames.created({ offset: 4, contractId: '00c1' }) }) },
        awaySynchronizer,
      ),
      frames.transaction(
        5,
        [
          exerciseFrame('00c1', { offset: 5, lastDescendantNodeId: 1, templateId: upgradedTemplate }),
          createFrame('00c2', { offset: 5, nodeId: 1, templateId: upgradedTemplate }),
        ],
        { synchronizerId: awaySynchronizer },
      ),
    );
    const rows = await explainLife('00c1');
    expect(events(rows)).toEqual([
      [1, 'created'],
      [1, 'viewed'],
      [2, 'exercised'],
      [3, 'unassigned'],
      [4, 'assigned'],
      [4, 'viewed'],
      [5, 'archived'],
    ]);
    expect(rows.map((row) => row.package_id.slice(0, 2)).join(' ')).toBe('ab ab ef ab ab ab ef');
    const isReassigned = (row: Row): boolean => [3, 4].includes(Number(row.offset));
    expect(
      rows.filter(isReassigned).map(({ effective_at: at, record_time: recordTime }) => [at, recordTime !== null]),
    ).toEqual(Array.from({ length: 3 }, () => [null, true]));
    expect(rows.map(({ synchronizer_id: synchronizerId, target }) => [synchronizerId, target])).toEqual([
      [homeSynchronizer, null],
      [homeSynchronizer, null],
      [homeSynchronizer, null],
      [homeSynchronizer, awaySynchronizer],
      [awaySynchronizer, null],
      [awaySynchronizer, null],
      [awaySynchronizer, null],
    ]);
    expect(rows.at(-1)).toMatchObject({ other_contract_id: '00c2', choice: 'Transfer', contents: { to: frames.bob } });
    expect((await explainLife('00c2'))[0]).toMatchObject({ event_type: 'created', other_contract_id: '00c1' });
  });

  it('lists when the contract became unhosted, and a later archive', async () => {
    await database.write(
      frames.transaction(1, [createFrame('00c1', { offset: 1, observers: [], interfaceViews: [] })]),
      frames.hosting(2, [['Revoked', alice]]),
    );
    const states = `update ledger.live set unhosted_since = 2`;
    await database.query(states);
    expect(events(await explainLife('00c1'))).toEqual([
      [1, 'created'],
      [2, 'unhosted'],
    ]);
    await database.write(frames.transaction(3, [exerciseFrame('00c1', { offset: 3, choice: 'Archive' })]));
    expect(events(await explainLife('00c1'))).toEqual([
      [1, 'created'],
      [2, 'unhosted'],
      [3, 'archived'],
    ]);
  });

  it('returns the redaction id and no contents for a redacted contract', async () => {
    await database.write(
      frames.transaction(1, [createFrame('00c1', { offset: 1 })]),
      frames.transaction(2, [exerciseFrame('00c1', { offset: 2 })]),
    );
    await database.query(`select pqs.redact_contract('00c1', 'gdpr-7')`);
    const rows = await explainLife('00c1');
    expect(rows.map((row) => [row.event_type, row.contents, row.redaction_id]).slice(0, 2)).toEqual([
      ['created', null, 'gdpr-7'],
      ['viewed', null, 'gdpr-7'],
    ]);
    const [consumedRow] = await database.query(
      `select before, after, changed, redaction_id from explore.explain_update(2)`,
    );
    expect(consumedRow).toEqual({ before: null, after: null, changed: null, redaction_id: 'gdpr-7' });
  });

  it('returns an end in a gap as ended, and only the remaining rows after a prune', async () => {
    await database.write(
      frames.transaction(1, [
        createFrame('00c1', { offset: 1, interfaceViews: [] }),
        createFrame('00c2', { offset: 1, nodeId: 1, interfaceViews: [] }),
      ]),
      frames.transaction(2, [exerciseFrame('00c2', { offset: 2, choice: 'Look', consuming: false, acsDelta: false })]),
      frames.transaction(9, [createFrame('00c3', { offset: 9, interfaceViews: [] })]),
    );
    // Like a reseed after a gap, for contracts that are no longer in the list of active contracts.
    await database.query(
      `with gone as (delete from ledger.live where ledger.id_text(contract_id) = '00c1' returning *)
       insert into ledger.ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by, contract_id)
       select "offset", 8, node_id, template_pk, synchronizer_pk, parties_pk, 2, 'e', contract_id from gone`,
    );
    expect(events(await explainLife('00c1'))).toEqual([
      [1, 'created'],
      [8, 'ended'],
    ]);
    await database.query(`select pqs.prune_to_offset(9)`);
    expect(await explainLife('00c1')).toEqual([]);
    expect(events(await explainLife('00c2'))).toEqual([[1, 'created']]);
  });

  it('returns the create, the end, and only the newest exercises up to a limit, with the offset of the first omitted one', async () => {
    const lookupResults = Array.from({ length: 20 }, (_, index) =>
      frames.transaction(index + 2, [
        exerciseFrame('00c1', { offset: index + 2, choice: 'Look', consuming: false, acsDelta: false }),
      ]),
    );
    await database.write(
      frames.transaction(1, [createFrame('00c1', { offset: 1, interfaceViews: [] })]),
      ...lookupResults,
    );
    await database.write(frames.transaction(30, [exerciseFrame('00c1', { offset: 30 })]));
    expect(events(await explainLife('00c1', 3))).toEqual([
      [1, 'created'],
      [19, 'omitted'],
      [20, 'exercised'],
      [21, 'exercised'],
      [30, 'archived'],
    ]);
    expect(await explainLife('00c1')).toHaveLength(22);
    expect(events(await explainLife('00c1', 21))).not.toContainEqual([2, 'omitted']);
  });

  it('returns no row for an unknown contract', async () => {
    expect(await explainLife('00ff')).toEqual([]);
  });
});
