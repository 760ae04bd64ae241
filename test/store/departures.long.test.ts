/**
 * When a party leaves the participant, its contracts become unhosted. The tests check which parties cause this, and
 * that the order of writes does not matter.
 */
import { describe, expect, it } from 'vitest';
import { filterFingerprint } from '../../src/ledger/api/request-format.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { storeLate } from '../../src/store/write/late-update.ts';
import { openSession } from '../../src/store/write/session.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import * as frames from '../support/frames.ts';
import { here, type HostingChange, type JsonRecord, there } from '../support/frames.ts';
import { brokenRules } from '../history/rules.ts';
import { schemasOfFile } from '../support/schemas.ts';

const schemas = schemasOfFile();

interface ExpectedDeparture {
  readonly parties?: readonly string[];
  /** Null if the participant id is not reported. */
  readonly participantId?: string | null;
  /** Number of updates in a batch; one by default. */
  readonly perBatch?: number;
  /** Offset of an update that is quarantined, and stored after all others. */
  readonly late?: number;
}

let historyCount = 0;

/** Filter of the stream: events of these parties, or of any party if the list is empty. */
function partyFilter(parties: readonly string[]) {
  const shape = 'LEDGER_EFFECTS';
  const filter = {
    parties,
    templates: [],
    wantedInterfaces: [],
    createdEventBlobs: false,
    shape,
    topology: true,
  } as const;
  const { json, hash } = filterFingerprint(filter);
  return { filter: json, filterHash: hash, shape } as const;
}

/** Stores updates with offsets from 1. Returns the name of the schema. */
async function storeUpdates(updates: readonly JsonRecord[], options: ExpectedDeparture = {}): Promise<string> {
  const { parties = [], participantId = 'p::1220', perBatch = 1, late: lateOffset } = options;
  const schema = `s${(historyCount += 1)}`;
  const database = await schemas.migrated(schema);
  const session = await openSession(database, {
    participantId: participantId ?? undefined,
    ...partyFilter(parties),
  });
  await session.publishSeed(0, 'genesis');
  let batch = session.newBatch(0);
  let checkpoint = 0;
  for (const [index, frame] of updates.entries()) {
    const offset = index + 1;
    const text = frames.text(frame).replaceAll(frames.recordTime, `2026-08-14T11:${10 + offset}:00.000000Z`);
    if (offset === lateOffset) {
      await session.quarantine({ offset, code: 'X', problem: 'x', frame: Buffer.from(text) }, checkpoint);
      checkpoint = offset;
      batch = session.newBatch(checkpoint);
      continue;
    }
    batch.add(decodeUpdate(text));
    if (offset % perBatch !== 0 && index < updates.length - 1) continue;
    await session.writeBatch(batch, checkpoint);
    checkpoint = offset;
    batch = session.newBatch(checkpoint);
  }
  if (lateOffset !== undefined) {
    const [row] = await query(schemas.url, `select convert_from(frame, 'UTF8') as frame from ${schema}.quarantine`);
    await storeLate(database, decodeUpdate(String(row?.['frame'])));
  }
  return schema;
}

/** Status of each contract by its id, with the offset at which it became unhosted. */
async function statuses(schema: string): Promise<Record<string, string>> {
  const rows = await query(
    schemas.url,
    `select contract_id, status || coalesce(' ' || unhosted_since, '') as status from ${schema}_explore.contracts`,
  );
  return Object.fromEntries(rows.map((row) => [row['contract_id'], row['status']]));
}

const guestParty = 'guest::1220aa';
const otherParty = 'other::1220bb';
const local = 'local::1220';
const remote = 'remote::1220ee';

/** A create whose parties are stakeholders and, by default, witnesses. */
const create = (offset: number, contractId: string, parties: string[], change: JsonRecord = {}, synchronizer = here) =>
  frames.transaction(
    offset,
    [
      {
        CreatedEvent: frames.created({
          offset,
          contractId,
          witnessParties: parties,
          signatories: parties.slice(0, 1),
          observers: parties.slice(1),
          ...change,
        }),
      },
    ],
    { synchronizerId: synchronizer },
  );
const archive = (offset: number, contractId: string) =>
  frames.transaction(offset, [{ ExercisedEvent: frames.exercised({ offset, contractId, choice: 'Archive' }) }]);
const hosting = (offset: number, ...changes: HostingChange[]) => frames.hosting(offset, changes);

describe('offboarded party', () => {
  it('makes contracts unhosted if no other hosted party sees the contracts', async () => {
    const schema = await storeUpdates([
      hosting(1, ['Added', guestParty], ['Added', otherParty], ['Added', remote, 'q::1220']),
      create(2, 'alone', [guestParty]),
      create(3, 'with one who stays', [guestParty, otherParty]),
      create(4, 'with one who lives elsewhere', [remote, guestParty]),
      create(5, 'with one of the own namespace', [guestParty, local]),
      create(6, 'seen only', [otherParty, remote], { witnessParties: [otherParty, guestParty] }),
      create(7, 'on another synchronizer', [guestParty], {}, there),
      hosting(8, ['Revoked', guestParty]),
      create(9, 'later', [guestParty]),
    ]);
    expect(await statuses(schema)).toEqual({
      alone: 'unhosted 8',
      'with one who stays': 'active',
      'with one who lives elsewhere': 'unhosted 8',
      'with one of the own namespace': 'active',
      'seen only': 'active',
      'on another synchronizer': 'active',
      later: 'active',
    });
    expect(await brokenRules(schemas.url, schema)).toEqual([]);
  });

  it('does not make contracts unhosted if it left another participant, or if they have another party of the filter', async () => {
    const otherHostUpdates = [create(1, 'a', [guestParty]), hosting(2, ['Revoked', guestParty, 'q::1220'])];
    expect(await statuses(await storeUpdates(otherHostUpdates))).toEqual({ a: 'active' });
    const namedUpdates = [
      create(1, 'a', [guestParty, otherParty]),
      create(2, 'b', [guestParty]),
      hosting(3, ['Revoked', guestParty]),
    ];
    const parties = [guestParty, otherParty];
    expect(await statuses(await storeUpdates(namedUpdates, { parties }))).toEqual({ a: 'active', b: 'unhosted 3' });
  });

  it('makes contracts unhosted if it is the last hosted party, even if it returns later', async () => {
    const schema = await storeUpdates([
      hosting(1, ['Added', guestParty], ['Added', otherParty]),
      create(2, 'a', [guestParty, otherParty]),
      create(3, 'b', [guestParty, otherParty]),
      hosting(4, ['Revoked', guestParty]),
      hosting(5, ['Revoked', otherParty]),
      hosting(6, ['Added', guestParty], ['Added', otherParty]),
      archive(7, 'a'),
      create(8, 'c', [guestParty]),
    ]);
    expect(await statuses(schema)).toEqual({ a: 'archived', b: 'unhosted 5', c: 'active' });
    const stateAt = async (offset: number): Promise<unknown> =>
      (
        await query(
          schemas.url,
          `select coalesce(string_agg(contract_id, ',' order by contract_id), '') as ids
             from ${schema}_explore.active_at(${offset})`,
        )
      )[0]?.['ids'];
    // The archive of contract `a` at offset 7 implies that it was active until then.
    expect([await stateAt(4), await stateAt(5), await stateAt(6), await stateAt(7), await stateAt(8)]).toEqual([
      'a,b',
      'a',
      'a',
      '',
      'c',
    ]);
    const counts = await query(schemas.url, `select active, activated, unhosted from ${schema}_explore.templates`);
    expect(counts.filter(({ activated }) => activated !== '0')).toEqual([
      { active: '1', activated: '3', unhosted: '1' },
    ]);
  });

  it('does not affect contracts that end before or in the same batch', async () => {
    const updates = [
      create(1, 'a', [guestParty]),
      archive(2, 'a'),
      create(3, 'b', [guestParty]),
      hosting(4, ['Revoked', guestParty]),
    ];
    updates.push(hosting(5, ['Added', guestParty]), archive(6, 'b'));
    const schema = await storeUpdates(updates, { perBatch: 6 });
    expect(await statuses(schema)).toEqual({ a: 'archived', b: 'archived' });
    expect(await brokenRules(schemas.url, schema)).toEqual([]);
  });

  it('is detected when the participant id becomes known later', async () => {
    const updates = [create(1, 'a', [guestParty]), hosting(2, ['Revoked', guestParty])];
    const schema = await storeUpdates(updates, { participantId: null });
    expect(await statuses(schema)).toEqual({ a: 'active' });
    await (
      await openSession(schemas.open(schema), { participantId: 'p::1220', ...partyFilter([]) })
    ).noteParticipant('p::1220');
    expect(await statuses(schema)).toEqual({ a: 'unhosted 2' });
  });
});

describe('unhosted contracts', () => {
  const history = [
    hosting(1, ['Added', guestParty], ['Added', otherParty]),
    create(2, 'a', [guestParty]),
    create(3, 'b', [guestParty, otherParty]),
    create(4, 'c', [guestParty]),
    hosting(5, ['Revoked', guestParty]),
    hosting(6, ['Added', guestParty]),
    archive(7, 'c'),
    create(8, 'd', [guestParty]),
    hosting(9, ['Revoked', otherParty]),
    hosting(10, ['Revoked', guestParty]),
    create(11, 'e', [otherParty]),
    hosting(12, ['Revoked', otherParty]),
  ];

  it.each([[2], [3], [5], [12]])('are the same with %d updates per batch', async (perBatch) => {
    expect(await digestOf(schemas.url, await storeUpdates(history, { perBatch }))).toBe(
      await digestOf(schemas.url, await storeUpdates(history)),
    );
  });

  // The first update with a name assigns its number, so updates with new names are not stored late. The digest compares
  // the names of party sets instead of their numbers.
  it.each([[3], [4], [5], [6], [7], [8], [9], [10]])('are the same if update %d is stored last', async (lateOffset) => {
    const schema = await storeUpdates(history, { late: lateOffset });
    expect(await statuses(schema)).toEqual(await statuses(await storeUpdates(history)));
    const storedInOrder = await storeUpdates(history);
    expect(await digestOf(schemas.url, schema, 'named')).toBe(await digestOf(schemas.url, storedInOrder, 'named'));
    expect(await brokenRules(schemas.url, schema)).toEqual([]);
  });
});
