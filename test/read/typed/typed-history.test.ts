/**
 * The history view of a template contains exactly the contracts of the template, in any state. The view of a choice
 * contains all of its exercises. New columns are appended to a view.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PackageModel } from '../../../src/daml/package-model.ts';
import { openDatabase, type Database } from '../../../src/store/connection/database.ts';
import { storePackage } from '../../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../../src/store/typed/views.ts';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

const packageId = 'ab'.repeat(32);
const templateId = `${packageId}:Main:Crane`;

const text = { kind: 'builtin', name: 'text' } as const;
const load = { kind: 'named', name: `${packageId}:Main:Load`, arguments: [] } as const;

function dock(...fields: readonly string[]): PackageModel {
  return {
    packageId,
    name: 'dock',
    version: '1.0.0',
    languageVersion: '2.1',
    templates: [
      {
        moduleName: 'Main',
        entityName: 'Crane',
        choices: [{ name: 'Load', consuming: false, argument: load, result: text }],
        implements: [],
        key: undefined,
      },
    ],
    interfaces: [],
    dataTypes: {
      'Main:Crane': { kind: 'record', parameters: [], fields: fields.map((name) => ({ name, type: text })) },
      'Main:Load': { kind: 'record', parameters: [], fields: [{ name: 'what', type: text }] },
    },
    dependencies: [],
  };
}

let history: ReadDatabase;
let database: Database;
beforeAll(async () => {
  history = await createReadDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  database = openDatabase({ url: history.url, ...options });
});
afterAll(async () => {
  await database.close();
  await history[Symbol.asyncDispose]();
});

const create = (offset: number, contractId: string, change: frames.JsonRecord = {}): frames.JsonRecord => ({
  CreatedEvent: frames.created({
    offset,
    contractId,
    templateId,
    packageName: 'dock',
    interfaceViews: [],
    createArgument: { owner: contractId },
    ...change,
  }),
});
const exercise = (offset: number, contractId: string, change: frames.JsonRecord = {}): frames.JsonRecord => ({
  ExercisedEvent: frames.exercised({
    offset,
    contractId,
    templateId,
    packageName: 'dock',
    interfaceId: null,
    implementedInterfaces: [],
    ...change,
  }),
});
const archive = (offset: number, contractId: string, change: frames.JsonRecord = {}): frames.JsonRecord =>
  exercise(offset, contractId, { choice: 'Archive', choiceArgument: {}, ...change });

async function columnsOf(view: string): Promise<readonly string[]> {
  const viewNames = await history.query<{ name: string }>(
    `select attname::text as name from pg_attribute where attrelid = 'typed.${view}'::regclass and attnum > 0 order by attnum`,
  );
  return viewNames.map(({ name }) => name);
}

describe('history view of a template', () => {
  it('includes contracts that were never active, each with its status', async () => {
    await history.write(
      frames.transaction(1, [create(1, 'stays', { contractKey: { _1: 'a' }, nodeId: 3 }), create(1, 'ends')]),
      frames.transaction(2, [archive(2, 'ends')]),
      // This contract is created and archived in one transaction, so the active contracts do not change.
      frames.transaction(3, [
        create(3, 'passes', { acsDelta: false }),
        archive(3, 'passes', { acsDelta: false }),
        create(3, 'travels', { nodeId: 2 }),
      ]),
      // Witnessed only: the parties of the reader are not stakeholders of the contract.
      frames.transaction(4, [create(4, 'seen', { acsDelta: false })]),
      frames.reassignment(5, {
        JsUnassignedEvent: {
          value: frames.unassigned({ offset: 5, contractId: 'travels', templateId, packageName: 'dock' }),
        },
      }),
    );
    // A contract of a template with the same name in another package.
    const otherTemplate = { templateId: `${'cd'.repeat(32)}:Main:Crane`, packageName: 'harbor' };
    await history.write(frames.transaction(6, [create(6, 'foreign', otherTemplate)]));
    await storePackage(database, dock('owner'));
    expect((await syncTypedViews(database, [dock('owner')])).failed).toEqual([]);
    const rowFields = { created_at_offset: '1', node_id: 0, synchronizer_id: frames.here, contract_key: null };
    const neverArchived = { is_active: false, archived_at_offset: null };
    expect(
      await history.query(
        `select owner, status, is_active, created_at_offset, archived_at_offset, node_id, synchronizer_id, contract_key
           from typed.dock__crane__history order by created_at_offset, owner`,
      ),
    ).toEqual([
      { ...rowFields, owner: 'ends', status: 'archived', is_active: false, archived_at_offset: '2' },
      {
        ...rowFields,
        owner: 'stays',
        status: 'active',
        is_active: true,
        archived_at_offset: null,
        node_id: 3,
        contract_key: { _1: 'a' },
      },
      { ...rowFields, ...neverArchived, owner: 'passes', status: 'witnessed', created_at_offset: '3' },
      {
        ...rowFields,
        owner: 'travels',
        status: 'unassigned',
        is_active: false,
        created_at_offset: '3',
        archived_at_offset: '5',
        node_id: 2,
      },
      { ...rowFields, ...neverArchived, owner: 'seen', status: 'witnessed', created_at_offset: '4' },
    ]);
  });

  it('equals explore.contracts, row by row', async () => {
    const columns = `contract_id, created_at_offset, created_at, node_id, signatories, observers, contract_key,
      synchronizer_id, package_id, status, is_active, archived_at_offset, archived_at, payload`;
    const rowsOf = (view: string): Promise<readonly object[]> =>
      history.query(`select ${columns} from ${view} order by contract_id, created_at_offset`);
    const historyRows = await rowsOf('typed.dock__crane__history');
    expect(historyRows).toHaveLength(5);
    expect(historyRows).toEqual(await rowsOf(`(select * from explore.contracts where package_name = 'dock') dock`));
    expect(
      await history.query(`select * from explore.contracts('dock:Main:Crane') order by 1, created_at_offset`),
    ).toEqual(
      await history.query(`select * from explore.contracts where package_name = 'dock' order by 1, created_at_offset`),
    );
  });

  it('has a separate view with only the active contracts', async () => {
    expect(
      await history.query('select owner, contract_key, synchronizer_id, created_at_offset from typed.dock__crane'),
    ).toEqual([{ owner: 'stays', contract_key: { _1: 'a' }, synchronizer_id: frames.here, created_at_offset: '1' }]);
  });
});

describe('typed view of a choice', () => {
  it('includes contracts that were never active, and excludes interface choices', async () => {
    const loadChoice = { choice: 'Load', consuming: false };
    await history.write(
      frames.transaction(7, [
        create(7, 'passes too', { acsDelta: false }),
        exercise(7, 'passes too', { ...loadChoice, choiceArgument: { what: 'coal' }, acsDelta: false }),
        exercise(7, 'stays', { ...loadChoice, nodeId: 2, choiceArgument: { what: 'wood' }, acsDelta: false }),
        exercise(7, 'stays', { ...loadChoice, nodeId: 3, choiceArgument: { what: 'ore' }, interfaceId: frames.viewed }),
      ]),
    );
    expect(
      await history.query('select contract_id, node_id, what from typed.dock__crane__load order by node_id'),
    ).toEqual([
      { contract_id: 'passes too', node_id: 1, what: 'coal' },
      { contract_id: 'stays', node_id: 2, what: 'wood' },
    ]);
  });
});

describe('typed view of active contracts', () => {
  it('counts live rows without reading contracts', async () => {
    const plan = await history.plan('select count(*) from typed.dock__crane');
    expect(plan).toContain('live');
    for (const table of ['contracts', 'updates', 'synchronizers', 'packages'])
      expect(plan).not.toContain(`on ${table}`);
  });
});

describe('typed view created by an earlier version', () => {
  /** The view as an earlier version created it: fewer columns before the fields, and a field named `status`. */
  const old = `
    drop view typed.dock__crane__history;
    create view typed.dock__crane__history as
      select c.contract_id, c."offset" as created_at_offset, c.payload, c.payload ->> 'owner' as owner,
             c.payload ->> 'status' as status
        from ledger.decoded_contracts c;
    insert into ledger.typed_columns values ('dock__crane', 2, 'status', '{status}', 'text', 'status: Text');
    create view public.dependent as select owner, status from typed.dock__crane__history`;

  it('keeps the order and names of its columns, and appends new columns', async () => {
    await history.query(old);
    const sync = await syncTypedViews(database, [dock('owner', 'status')]);
    expect(sync.failed).toEqual([]);
    const columns = await columnsOf('dock__crane__history');
    expect(columns.slice(0, 5)).toEqual(['contract_id', 'created_at_offset', 'payload', 'owner', 'status']);
    expect(columns.slice(5)).toEqual(
      expect.arrayContaining(['status_2', 'synchronizer_id', 'contract_key', 'node_id']),
    );
    expect(
      await history.query('select owner, status, status_2 from typed.dock__crane__history where node_id = 3'),
    ).toEqual([{ owner: 'stays', status: null, status_2: 'active' }]);
    expect(await history.query('select count(*)::int as count from public.dependent')).toEqual([{ count: 6 }]);
  });

  it('is not replaced a second time unless forced', async () => {
    expect(await syncTypedViews(database, [dock('owner', 'status')])).toEqual({ made: [], unchanged: 3, failed: [] });
    const { made: createdViews, failed: failedViews } = await syncTypedViews(database, [dock('owner', 'status')], true);
    expect({ made: createdViews, failed: failedViews }).toEqual({
      made: ['dock__crane', 'dock__crane__history', 'dock__crane__load'],
      failed: [],
    });
  });

  it('appends fields of later package versions', async () => {
    const columnsBefore = await columnsOf('dock__crane__history');
    expect((await syncTypedViews(database, [dock('owner', 'status', 'note')])).failed).toEqual([]);
    expect(await columnsOf('dock__crane__history')).toEqual([...columnsBefore, 'note']);
  });
});

describe('field with the name of a common column', () => {
  it('has a numbered column name in a new view', async () => {
    await using freshDatabase = await createReadDatabase();
    const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
    const ownDatabase = openDatabase({ url: freshDatabase.url, ...options });
    await freshDatabase.write(frames.transaction(1, [create(1, 'one', { createArgument: { status: 'lifted' } })]));
    await storePackage(ownDatabase, dock('status'));
    expect((await syncTypedViews(ownDatabase, [dock('status')])).failed).toEqual([]);
    await ownDatabase.close();
    expect(await freshDatabase.query('select status, status_2 from typed.dock__crane__history')).toEqual([
      { status: 'active', status_2: 'lifted' },
    ]);
  });
});
