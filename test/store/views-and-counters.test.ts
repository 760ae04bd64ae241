/**
 * Failed interface views and reassignment counters are stored as the ledger sends them, whatever the format of the
 * frames is.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import type { JsonRecord } from '../support/frames.ts';
import { identity } from '../support/schemas.ts';

const seedOffset = 10;
let testDatabase: TestDatabase;
let database: Database;
let session: StoreSession;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  database = openDatabase({ url: testDatabase.url, ...options });
  await migrate(database);
  session = await openSession(database, identity);
});
afterEach(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Formats of frames: compact frames use the fast parser, and others the scanner. */
const frameFormats = [
  ['compact', (frame: JsonRecord) => JSON.stringify(frame)],
  ['spaced', (frame: JsonRecord) => JSON.stringify(frame, undefined, 1)],
] as const;
type WriteCase = (typeof frameFormats)[number][1];

/** Publishes a seed of the entries, in one batch or in a batch for each entry. */
async function seed(entries: readonly JsonRecord[], frameFormat: WriteCase, isSingleBatch: boolean): Promise<void> {
  await session.beginSeed(seedOffset);
  let count = 0;
  for (const group of inBatches(entries, isSingleBatch)) {
    const batch = session.newBatch(seedOffset);
    for (const entry of group) batch.addEntry(decodeActiveContract(frameFormat(entry)));
    await session.writeSeed(batch, count);
    count += group.length;
  }
  await session.publishSeed(seedOffset, 'seed');
}

async function follow(updates: readonly JsonRecord[], frameFormat: WriteCase, isSingleBatch: boolean): Promise<void> {
  let checkpoint = seedOffset;
  for (const group of inBatches(updates, isSingleBatch)) {
    const batch = session.newBatch(checkpoint);
    for (const update of group) batch.add(decodeUpdate(frameFormat(update)));
    await session.writeBatch(batch, checkpoint);
    checkpoint = batch.offset;
  }
}

function inBatches<T>(elements: readonly T[], isSingleBatch: boolean): readonly (readonly T[])[] {
  return isSingleBatch ? [elements] : elements.map((element) => [element]);
}

async function rowsOf(select: string): Promise<readonly unknown[]> {
  const { rows } = await database.withClient((client) => client.query<Record<string, unknown>>(select));
  return rows;
}

const otherTemplate = `${'ef'.repeat(32)}:Token:Token`;
const thirdTemplate = `${'12'.repeat(32)}:Account:Account`;
const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', metadata: { category: '9' } }];
const message = 'NO_VETTED_INTERFACE_IMPLEMENTATION_PACKAGE(9,0a1b): no package of "iou" is vetted';

/** A computed view between two failed ones. */
const views: JsonRecord[] = [
  {
    interfaceId: otherTemplate,
    viewStatus: { code: 9, message, details },
    viewValue: null,
    implementationPackageId: null,
  },
  {
    interfaceId: frames.viewed,
    viewStatus: { code: 0, message: '', details: [] },
    viewValue: { amount: '60.0000000000', note: null },
    implementationPackageId: 'ab'.repeat(32),
  },
  {
    interfaceId: thirdTemplate,
    viewStatus: { code: 2, message: 'UNKNOWN(2,0): \u0000 is in it', details: [] },
    viewValue: null,
    implementationPackageId: 'cd'.repeat(32),
  },
];

/** The expected rows of those views, by interface. */
function viewRows(contractId: string, offset: number): readonly JsonRecord[] {
  const row = { contract_id: contractId, offset };
  const [failedView = {}, computedView = {}, unknownStatus = {}] = views;
  return [
    {
      ...row,
      interface: thirdTemplate,
      view: null,
      status_code: 2,
      status_message: String.raw`json:"UNKNOWN(2,0): \u0000 is in it"`,
      status_details: null,
      implementation_package_id: unknownStatus['implementationPackageId'] ?? null,
    },
    {
      ...row,
      interface: frames.viewed,
      view: computedView['viewValue'] ?? null,
      status_code: 0,
      status_message: null,
      status_details: null,
      implementation_package_id: computedView['implementationPackageId'] ?? null,
    },
    {
      ...row,
      interface: failedView['interfaceId'] ?? null,
      view: null,
      status_code: 9,
      status_message: message,
      status_details: details,
      implementation_package_id: null,
    },
  ];
}

const storedViews = `
  select v.contract_id, v."offset", t.package_id || ':' || t.module_name || ':' || t.entity_name as interface, v.view,
         v.status_code, v.status_message, v.status_details, v.implementation_package_id
    from decoded_interface_views v join templates t on t.template_pk = v.interface_pk order by v."offset", 3`;

describe.each(frameFormats)('views of %s frames', (_name, frameFormat) => {
  it.each([true, false])(
    'are stored with the status, message and details of a failure (in one batch: %s)',
    async (together) => {
      const event = (contractId: string, offset: number): JsonRecord =>
        frames.created({ contractId, offset, interfaceViews: views });
      await seed(
        [
          frames.entry('JsActiveContract', { createdEvent: event('s1', 3), synchronizerId: frames.here }),
          frames.entry('JsIncompleteUnassigned', {
            createdEvent: event('s2', 4),
            unassignedEvent: frames.unassigned({ contractId: 's2', offset: 5 }),
          }),
        ],
        frameFormat,
        together,
      );
      await follow(
        [
          frames.transaction(11, [{ CreatedEvent: event('c1', 11) }]),
          frames.reassignment(
            12,
            { JsAssignmentEvent: frames.assigned({ createdEvent: event('s2', 12) }) },
            frames.there,
          ),
          // Only a witness, and no stakeholder, sees this create.
          frames.transaction(13, [{ CreatedEvent: { ...event('c2', 13), acsDelta: false } }]),
        ],
        frameFormat,
        together,
      );
      expect(await rowsOf(storedViews)).toEqual([
        ...viewRows('s1', 3),
        ...viewRows('s2', 4),
        ...viewRows('c1', 11),
        ...viewRows('s2', 12),
        ...viewRows('c2', 13),
      ]);
    },
  );
});

/** An unassign and its assign, with the same counter for both. */
function journey(contractId: string, offset: number, counter: number, source = frames.here): readonly JsonRecord[] {
  const target = source === frames.here ? frames.there : frames.here;
  return [leaving(contractId, offset, counter, source), arriving(contractId, offset + 1, counter, source, target)];
}

function leaving(contractId: string, offset: number, reassignmentCounter: number | null, source: string): JsonRecord {
  const target = source === frames.here ? frames.there : frames.here;
  const value = frames.unassigned({
    contractId,
    offset,
    source,
    target,
    reassignmentCounter,
    reassignmentId: contractId,
  });
  return frames.reassignment(offset, { JsUnassignedEvent: { value } }, source);
}

function arriving(
  contractId: string,
  offset: number,
  reassignmentCounter: number | null,
  source: string,
  target: string,
): JsonRecord {
  const createdEvent = frames.created({ contractId, offset });
  const event = frames.assigned({ createdEvent, source, target, reassignmentCounter, reassignmentId: contractId });
  return frames.reassignment(offset, { JsAssignmentEvent: event }, target);
}

const storedCounters = `
  select 'contract' as row, contract_id as id, "offset", s.synchronizer_id as on, reassignment_counter as counter
    from decoded_contracts join synchronizers s using (synchronizer_pk)
  union all
  select kind, contract_id, "offset", s.synchronizer_id, reassignment_counter
    from decoded_reassignments join synchronizers s on s.synchronizer_pk = case kind when 'assign' then target_pk else source_pk end
   order by 2, 3, 1`;

function counter(row: string, id: string, offset: number, on: string, value: number | null): JsonRecord {
  return { row, id, offset, on, counter: value };
}

const large = 4_294_967_299;

describe.each(frameFormats)('reassignment counters of %s frames', (_name, written) => {
  it.each([true, false])('are stored for each half and each activation (in one batch: %s)', async (together) => {
    const { here, there } = frames;
    const at = (contractId: string, offset: number): JsonRecord => frames.created({ contractId, offset });
    await seed(
      [
        frames.entry('JsActiveContract', { createdEvent: at('a', 2), synchronizerId: here, reassignmentCounter: 6 }),
        frames.entry('JsActiveContract', { createdEvent: at('b', 3), synchronizerId: there, reassignmentCounter: 0 }),
        frames.entry('JsIncompleteUnassigned', {
          createdEvent: at('c', 4),
          unassignedEvent: frames.unassigned({ contractId: 'c', offset: 5, reassignmentCounter: 3 }),
        }),
        frames.entry('JsIncompleteAssigned', {
          assignedEvent: frames.assigned({ createdEvent: at('d', 6), reassignmentCounter: large }),
        }),
        frames.entry('JsActiveContract', { createdEvent: at('e', 7), synchronizerId: here, reassignmentCounter: null }),
      ],
      written,
      together,
    );
    await follow(
      [
        ...journey('a', 11, 7),
        arriving('c', 13, 3, here, there),
        ...journey('a', 14, 8, there),
        ...journey('c', 16, 4, there),
        ...journey('a', 18, large),
        frames.transaction(20, [{ CreatedEvent: at('f', 20) }]),
        // Releases before the counter was introduced send such reassignments.
        leaving('e', 21, null, here),
        arriving('e', 22, null, here, there),
      ],
      written,
      together,
    );
    expect(await rowsOf(storedCounters)).toEqual([
      counter('contract', 'a', 2, here, 6),
      counter('unassign', 'a', 11, here, 7),
      counter('assign', 'a', 12, there, 7),
      counter('contract', 'a', 12, there, 7),
      counter('unassign', 'a', 14, there, 8),
      counter('assign', 'a', 15, here, 8),
      counter('contract', 'a', 15, here, 8),
      counter('unassign', 'a', 18, here, large),
      counter('assign', 'a', 19, there, large),
      counter('contract', 'a', 19, there, large),
      counter('contract', 'b', 3, there, 0),
      counter('contract', 'c', 4, here, null),
      counter('unassign', 'c', 5, here, 3),
      counter('assign', 'c', 13, there, 3),
      counter('contract', 'c', 13, there, 3),
      counter('unassign', 'c', 16, there, 4),
      counter('assign', 'c', 17, here, 4),
      counter('contract', 'c', 17, here, 4),
      counter('assign', 'd', 6, there, large),
      counter('contract', 'e', 7, here, null),
      counter('unassign', 'e', 21, here, null),
      counter('assign', 'e', 22, there, null),
      counter('contract', 'e', 22, there, null),
      counter('contract', 'f', 20, here, null),
    ]);
    expect(
      await rowsOf('select contract_id as id, reassignment_counter as counter from active_contracts order by 1'),
    ).toEqual([
      { id: 'a', counter: large },
      { id: 'b', counter: 0 },
      { id: 'c', counter: 4 },
      { id: 'e', counter: null },
      { id: 'f', counter: null },
    ]);
  });
});
