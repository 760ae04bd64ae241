/**
 * Stores random histories in shape ACS_DELTA, in shape LEDGER_EFFECTS and in the form of releases before 3.4. The
 * stored lifetimes, witnesses and counts of contracts must equal the generated ones, even if updates are stored late.
 * `TEST_SEED` selects another history.
 */
import { describe, expect, it } from 'vitest';
import { filterFingerprint } from '../../src/ledger/api/request-format.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { storeLate } from '../../src/store/write/late-update.ts';
import { openSession } from '../../src/store/write/session.ts';
import { brokenRules } from '../history/rules.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { DeltaHistory, type Rendering, type EventSums } from './delta-history.ts';
import { printRepeatCommand, seedFor } from '../support/chance/property.ts';
import { schemasOfFile } from '../support/schemas.ts';

const seed = seedFor();
printRepeatCommand(seed);

const schemas = schemasOfFile();

/** Stores the history in batches of random sizes. Updates with offsets in `quarantinedOffsets` are quarantined. */
async function storeHistory(
  schema: string,
  history: DeltaHistory,
  rendering: Rendering,
  quarantinedOffsets: readonly number[] = [],
) {
  const database = await schemas.migrated(schema);
  const shape = rendering === 'delta' ? 'ACS_DELTA' : 'LEDGER_EFFECTS';
  const emptyFilter = {
    parties: [],
    templates: [],
    wantedInterfaces: [],
    createdEventBlobs: false,
    topology: true,
  } as const;
  const { json: filter, hash: filterHash } = filterFingerprint({ ...emptyFilter, shape });
  const session = await openSession(database, { participantId: 'p::1220', filter, filterHash, shape });
  await session.publishSeed(0, 'genesis');
  const random = new Random(seed);
  let checkpoint = 0;
  let remainingUpdates = [...history.updates];
  while (remainingUpdates.length > 0) {
    const batchSize = random.between(1, 9);
    const next = remainingUpdates.findIndex(({ offset }) => quarantinedOffsets.includes(offset));
    const takenUpdates = remainingUpdates.slice(0, next === -1 ? batchSize : Math.min(batchSize, Math.max(next, 1)));
    const [first] = takenUpdates;
    if (first !== undefined && quarantinedOffsets.includes(first.offset)) {
      const update = { offset: first.offset, code: 'X', problem: 'x', frame: Buffer.from(first.text) };
      await session.quarantine(update, checkpoint);
      checkpoint = first.offset;
      remainingUpdates = remainingUpdates.slice(1);
      continue;
    }
    const batch = session.newBatch(checkpoint);
    for (const { text } of takenUpdates) batch.add(decodeUpdate(text));
    await session.writeBatch(batch, checkpoint);
    checkpoint = batch.offset;
    remainingUpdates = remainingUpdates.slice(takenUpdates.length);
  }
  return database;
}

const template = `concat(t.package_id, ':', t.entity_name)`;
const rows = (sql: string): Promise<readonly Record<string, unknown>[]> => query(schemas.url, sql);

async function expectLifetimes(schema: string, { expected }: DeltaHistory): Promise<void> {
  const lifetimesSql = await rows(
    `select l.contract_id as contract, s.synchronizer_id as synchronizer, l.activated_offset::int as "from",
            ${template} as template, l.deactivated_offset::int as "to"
       from ${schema}.lifetimes l join ${schema}.synchronizers s using (synchronizer_pk)
       join ${schema}.templates t using (template_pk) order by 3, 1, 2`,
  );
  const orderedLifetimes = [...expected.lifetimes].sort(
    (a, b) => a.from - b.from || (a.contract < b.contract ? -1 : a.contract > b.contract ? 1 : 0),
  );
  expect(lifetimesSql).toEqual(orderedLifetimes);
  const counts = new Map<string, [number, number]>();
  for (const { template: name, to } of expected.lifetimes) {
    const [activated, endedCount] = counts.get(name) ?? [0, 0];
    counts.set(name, [activated + 1, endedCount + (to === null ? 0 : 1)]);
  }
  const activityRows = await rows(
    `select ${template} as name, activated::int, deactivated::int from ${schema}.active_counts
       join ${schema}.templates t using (template_pk) where activated + deactivated > 0 order by 1`,
  );
  expect(
    activityRows.map(({ name, activated, deactivated: deactivatedCount }) => [name, [activated, deactivatedCount]]),
  ).toEqual([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function expectSums(schema: string, { expected }: DeltaHistory): Promise<void> {
  const summedRows = await rows(
    `select concat_ws('|', to_char(a.hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24'), t.entity_name, t.package_id,
                      coalesce(h.choice, ''), s.synchronizer_id) as key,
            a.creates::int, a.archives::int, a.exercises::int
       from ${schema}.activity_hourly a join ${schema}.templates t using (template_pk)
       join ${schema}.synchronizers s using (synchronizer_pk)
       left join ${schema}.choices h on h.choice_pk = a.choice_pk`,
  );
  expect(new Map(summedRows.map(({ key, ...sums }) => [key, sums]))).toEqual(expected.sums);
  const totals = new Map<string, EventSums>();
  for (const [key, { creates, archives, exercises }] of expected.sums) {
    const [hour = '', , , , synchronizer = ''] = key.split('|');
    const total = totals.get(`${hour}|${synchronizer}`) ?? { creates: 0, archives: 0, exercises: 0 };
    total.creates += creates;
    total.archives += archives;
    total.exercises += exercises;
    totals.set(`${hour}|${synchronizer}`, total);
  }
  const sumRows = await rows(
    `select concat_ws('|', to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24'), synchronizer_id) as key,
            creates::int, archives::int, exercises::int
       from ${schema}_explore.activity_updates where creates + archives + exercises > 0`,
  );
  expect(new Map(sumRows.map(({ key, ...sums }) => [key, sums]))).toEqual(totals);
}

/** Expects that the tables, the event views and the functions of PQS contain the archives with their witnesses. */
async function expectArchives(schema: string, { expected }: DeltaHistory): Promise<void> {
  const archivals = await rows(
    `select a."offset"::int as "offset", a.node_id as node, a.contract_id as contract, ${template} as template,
            a.witness_parties as witnesses
       from ${schema}.decoded_archives a join ${schema}.templates t using (template_pk) order by 1, 2`,
  );
  expect(archivals).toEqual(expected.archives);
  const events = await rows(
    `select "offset"::int as "offset", node_id as node, contract_id as contract, concat(package_id, ':', entity_name) as template,
            parties as witnesses
       from ${schema}_explore.events where event_type = 'archived' order by 1, 2`,
  );
  expect(events).toEqual(expected.archives);
  const endRows = await rows(
    `select contract_id as contract, archived_at_offset::int as "offset" from ${schema}_pqs.archives()`,
  );
  const expectedLines = expected.archives.map(({ contract, offset }) => `${contract} ${offset}`);
  expect(endRows.map(({ contract, offset }) => `${String(contract)} ${String(offset)}`).sort()).toEqual(
    expectedLines.sort(),
  );
}

async function expectStatus(schema: string, history: DeltaHistory): Promise<void> {
  const remainingUpdates = new Set(
    history.updates.filter(({ text }) => text.includes('"JsUnassignedEvent"')).map(({ offset }) => offset),
  );
  const expectedLines = history.expected.lifetimes.map(({ contract, from, to }) =>
    [contract, from, to === null ? 'active' : remainingUpdates.has(to) ? 'unassigned' : 'archived', to ?? ''].join(' '),
  );
  const statusRows = await rows(
    `select concat_ws(' ', contract_id, created_at_offset, status, coalesce(archived_at_offset::text, '')) as line
       from ${schema}_explore.contracts where status <> 'witnessed'`,
  );
  expect(statusRows.map(({ line }) => String(line)).sort()).toEqual(expectedLines.sort());
  const random = new Random(seed);
  for (let index = 0; index < 12; index += 1) {
    const offset = random.between(1, history.updates.at(-1)?.offset ?? 1);
    const activeContracts = await rows(
      `select concat(contract_id, '@', created_at_offset) as line from ${schema}_explore.active_at(${offset}::bigint, null)`,
    );
    expect(activeContracts.map(({ line }) => String(line)).sort(), `at ${offset}`).toEqual(history.activeAt(offset));
  }
}

const renderings: readonly (readonly [string, Rendering])[] = [
  ['in shape ACS_DELTA', 'delta'],
  ['in shape LEDGER_EFFECTS', 'effects'],
  ['of a release before 3.4', 'old'],
];

describe.each(renderings)('stored history %s', (_caseName, rendering) => {
  const history = new DeltaHistory(seed, 160, rendering);

  it('contains the generated lifetimes, counts and contract status', async () => {
    await storeHistory(rendering, history, rendering);
    expect(history.expected.lifetimes.filter(({ to }) => to !== null).length).toBeGreaterThan(20);
    await expectLifetimes(rendering, history);
    await expectSums(rendering, history);
    await expectStatus(rendering, history);
    if (rendering === 'delta') await expectArchives(rendering, history);
    expect(await brokenRules(schemas.url, rendering)).toEqual([]);
  });

  it('has the same tables if some updates are stored late, in any order', async () => {
    const random = new Random(seed + 1);
    const quarantinedOffsets = history.updates.filter(() => random.chance(0.15)).map(({ offset }) => offset);
    const schema = `${rendering}_late`;
    const database = await storeHistory(schema, history, rendering, quarantinedOffsets);
    for (const remainingUpdates = [...quarantinedOffsets]; remainingUpdates.length > 0;) {
      const [offset] = remainingUpdates.splice(random.between(0, remainingUpdates.length - 1), 1);
      const update = history.updates.find((candidate) => candidate.offset === offset);
      await storeLate(database, decodeUpdate(update?.text ?? ''));
    }
    expect(await rows(`select from ${schema}.quarantine`)).toEqual([]);
    await expectLifetimes(schema, history);
    await expectSums(schema, history);
    if (rendering === 'delta') await expectArchives(schema, history);
    expect(await digestOf(schemas.url, schema, 'named')).toBe(await digestOf(schemas.url, rendering, 'named'));
    expect(await brokenRules(schemas.url, schema)).toEqual([]);
  });
});
