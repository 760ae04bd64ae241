/**
 * Pages of changes contain every event after the cursor once, in order. For a role, they contain only the events that
 * the role may see.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatCursor, parseCursor, type Change, type ChangesRequest } from '../../../src/model/push/changes.ts';
import { readChanges } from '../../../src/store/changes/read-changes.ts';
import { openDatabase, type Database } from '../../../src/store/connection/database.ts';
import { grantReader } from '../../../src/store/roles/reader-role.ts';
import { migrate } from '../../../src/store/schema/migrations.ts';
import { openSession } from '../../../src/store/write/session.ts';
import { PrivateHistory, parties, seedOffset } from '../../security/privacy-history.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { text } from '../../support/frames.ts';
import { identity } from '../../support/schemas.ts';
import { decodeUpdate } from '../../support/wire/decode.ts';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';

const history = new PrivateHistory(22, 60);
const allChangesRequest: ChangesRequest = {
  after: { offset: 0, node: null },
  template: null,
  party: null,
  eventTypes: [],
  role: null,
};
const role = `reader_${randomBytes(4).toString('hex')}`;
const [ownParty = ''] = parties;
let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({
    url: testDatabase.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
  });
  await migrate(database);
  const session = await openSession(database, identity);
  await session.beginSeed(seedOffset);
  await session.publishSeed(seedOffset, 'seed');
  const batch = session.newBatch(seedOffset);
  for (const update of history.updates) batch.add(decodeUpdate(text(update)));
  await session.writeBatch(batch, seedOffset);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
});

async function readAll(filter: Partial<ChangesRequest>, rows: number, characters?: number): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (let { after: nextOffset } = allChangesRequest; ;) {
    const page = await readChanges(database, { ...allChangesRequest, ...filter, after: nextOffset }, rows, characters);
    expect(page.changes.length).toBeLessThanOrEqual(rows);
    changes.push(...page.changes);
    nextOffset = page.next;
    if (page.atEnd) return changes;
  }
}

const positionsOf = (changes: readonly Change[]) => changes.map(({ offset, node }) => formatCursor({ offset, node }));

/** Positions of the stored events that the role can see. Without a role, of all stored events. */
async function storedChanges(condition: string, roleName?: string): Promise<readonly unknown[]> {
  const rows = await query(
    roleName === undefined ? testDatabase.url : `${testDatabase.url}?options=-c%20role%3D${roleName}`,
    `select "offset" || '-' || node_id as place from explore.events where ${condition} order by "offset", node_id`,
  );
  return rows.map(({ place: position }) => position);
}

it('readChanges() returns every event once and in order, for any page size', async () => {
  const expected = await storedChanges('true');
  expect(expected.length).toBeGreaterThan(60);
  expect(new Set(expected).size).toBe(expected.length);
  expect(positionsOf(await readAll({}, 1000))).toEqual(expected);
  expect(positionsOf(await readAll({}, 3))).toEqual(expected);
});

it('readChanges() limits a page to the maximum characters or to a single event', async () => {
  const expected = await storedChanges('true');
  expect(positionsOf(await readAll({}, 1000, 1))).toEqual(expected);
  expect(positionsOf(await readAll({}, 1000, 5_000))).toEqual(expected);
  const page = await readChanges(database, allChangesRequest, 1000, 5_000);
  const lengths = page.changes.map(({ json }) => json.length);
  expect(lengths.length).toBeGreaterThan(1);
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(5_000);
});

it('readChanges() returns no events after the checkpoint', async () => {
  const [row] = await query(testDatabase.url, 'select checkpoint from ledger.stream');
  const checkpoint = Number(row?.['checkpoint']);
  const middle = Math.floor((seedOffset + checkpoint) / 2);
  await query(testDatabase.url, `update ledger.stream set checkpoint = ${String(middle)}`);
  const seenPlaces = positionsOf(await readAll({}, 7));
  await query(testDatabase.url, `update ledger.stream set checkpoint = ${String(checkpoint)}`);
  expect(seenPlaces).toEqual(await storedChanges(`"offset" <= ${String(middle)}`));
  expect(seenPlaces.length).toBeLessThan((await storedChanges('true')).length);
});

it('readChanges() returns the offset after which history is complete', async () => {
  const readKept = async () => (await readChanges(database, allChangesRequest, 1)).availableAfter;
  expect(await readKept()).toBe(seedOffset);
  await query(testDatabase.url, `update ledger.stream set pruned_to_offset = ${String(seedOffset + 9)}`);
  expect(await readKept()).toBe(seedOffset + 9);
  await query(testDatabase.url, 'update ledger.stream set pruned_to_offset = null');
});

it(
  'readChanges() returns only events that the role may see, and filters by party and type',
  needs(limitsSkipReason),
  async () => {
    await grantReader(database, { role, parties: [ownParty], password: undefined });
    const seen = await readAll({ role }, 5);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.length).toBeLessThan((await storedChanges('true')).length);
    expect(positionsOf(seen)).toEqual(await storedChanges('true', role));
    expect(positionsOf(await readAll({ party: ownParty }, 5))).toEqual(
      await storedChanges(`'${ownParty}' = any (parties)`),
    );
    expect(positionsOf(await readAll({ eventTypes: ['created'] }, 5))).toEqual(
      await storedChanges(`event_type = 'created'`),
    );
  },
);

it('parseCursor() accepts valid cursors and rejects other texts', () => {
  for (const good of ['0', '12', '12-0', '12-3'])
    expect(formatCursor(parseCursor(good) ?? allChangesRequest.after)).toBe(good);
  for (const bad of ['', '-1', '1-', '1-2-3', '1e3', ' 1', '99999999999999999', '1-9999999999']) {
    expect(parseCursor(bad)).toBeUndefined();
  }
});
