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

interface Expected {
  readonly parties?: readonly string[];
  /** Null if the participant id is not reported. */
  readonly participantId?: string | null;
  /** Number of updates in a batch; one by default. */
  readonly perBatch?: number;
  /** Offset of an update that is quarantined, and stored after all others. */
  readonly late?: number;
}

let histories = 0;

/** Filter of the stream: events of these parties, or of any party if the list is empty. */
function asking(parties: readonly string[]) {
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
async function stored(updates: readonly JsonRecord[], options: Expected = {}): Promise<string> {
  const { parties = [], participantId = 'p::1220', perBatch = 1, late } = options;
  const schema = `s${(histories += 1)}`;
  const database = await schemas.migrated(schema);
  const session = await openSession(database, {
    participantId: participantId ?? undefined,
    ...asking(parties),
  });
  await session.publishSeed(0, 'genesis');
  let batch = session.newBatch(0);
  let checkpoint = 0;
  for (const [index, frame] of updates.entries()) {
    const offset = index + 1;
    const text = frames.text(frame).replaceAll(frames.recordTime, `2026-08-14T11:${10 + offset}:00.000000Z`);
    if (offset === late) {
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
  if (late !== undefined) {
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

const guest = 'guest::1220aa';
const other = 'other::1220bb';
const local = 'local::1220';
const remote = 'remote::1220ee';

/** A create whose parties are stakeholders and, by default, witnesses. */
const create = (offset: number, contractId: string, parties: string[], change: JsonRecord = {}, where = here) =>
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
    { synchronizerId: where },
  );
const archive = (offset: number, contractId: string) =>
  frames.transaction(offset, [{ ExercisedEvent: frames.exercised({ offset, contractId, choice: 'Archive' }) }]);
const hosting = (offset: number, ...changes: HostingChange[]) => frames.hosting(offset, changes);

describe('offboarded party', () => {
  it('makes contracts unhosted if no other hosted party sees the contracts', async () => {
    const schema = await stored([
      hosting(1, ['Added', guest], ['Added', other], ['Added', remote, 'q::1220']),
      create(2, 'alone', [guest]),
      create(3, 'with one who stays', [guest, other]),
      create(4, 'with one who lives elsewhere', [remote, guest]),
      create(5, 'with one of the own namespace', [guest, local]),
      create(6, 'seen only', [other, remote], { witnessParties: [other, guest] }),
      create(7, 'on another synchronizer', [guest], {}, there),
      hosting(8, ['Revoked', guest]),
      create(9, 'later', [guest]),
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

  it('makes no contract unhosted on another participant or with another party in the filter', async () => {
    const elsewhere = [create(1, 'a', [guest]), hosting(2, ['Revoked', guest, 'q::1220'])];
    expect(await statuses(await stored(elsewhere))).toEqual({ a: 'active' });
    const named = [create(1, 'a', [guest, other]), create(2, 'b', [guest]), hosting(3, ['Revoked', guest])];
    const parties = [guest, other];
    expect(await statuses(await stored(named, { parties }))).toEqual({ a: 'active', b: 'unhosted 3' });
  });

  it('makes contracts unhosted if it is the last hosted party, even if it returns later', async () => {
    const schema = await stored([
      hosting(1, ['Added', guest], ['Added', other]),
      create(2, 'a', [guest, other]),
      create(3, 'b', [guest, other]),
      hosting(4, ['Revoked', guest]),
      hosting(5, ['Revoked', other]),
      hosting(6, ['Added', guest], ['Added', other]),
      archive(7, 'a'),
      create(8, 'c', [guest]),
    ]);
    expect(await statuses(schema)).toEqual({ a: 'archived', b: 'unhosted 5', c: 'active' });
    const at = async (offset: number): Promise<unknown> =>
      (
        await query(
          schemas.url,
          `select coalesce(string_agg(contract_id, ',' order by contract_id), '') as ids
             from ${schema}_explore.active_at(${offset})`,
        )
      )[0]?.['ids'];
    // The archive of contract `a` at offset 7 implies that it was active until then.
    expect([await at(4), await at(5), await at(6), await at(7), await at(8)]).toEqual(['a,b', 'a', 'a', '', 'c']);
    const counts = await query(schemas.url, `select active, activated, unhosted from ${schema}_explore.templates`);
    expect(counts.filter(({ activated }) => activated !== '0')).toEqual([
      { active: '1', activated: '3', unhosted: '1' },
    ]);
  });

  it('does not affect contracts that end before or in the same batch', async () => {
    const updates = [create(1, 'a', [guest]), archive(2, 'a'), create(3, 'b', [guest]), hosting(4, ['Revoked', guest])];
    updates.push(hosting(5, ['Added', guest]), archive(6, 'b'));
    const schema = await stored(updates, { perBatch: 6 });
    expect(await statuses(schema)).toEqual({ a: 'archived', b: 'archived' });
    expect(await brokenRules(schemas.url, schema)).toEqual([]);
  });

  it('is detected when the participant id becomes known later', async () => {
    const updates = [create(1, 'a', [guest]), hosting(2, ['Revoked', guest])];
    const schema = await stored(updates, { participantId: null });
    expect(await statuses(schema)).toEqual({ a: 'active' });
    await (
      await openSession(schemas.open(schema), { participantId: 'p::1220', ...asking([]) })
    ).noteParticipant('p::1220');
    expect(await statuses(schema)).toEqual({ a: 'unhosted 2' });
  });
});

describe('unhosted contracts', () => {
  const history = [
    hosting(1, ['Added', guest], ['Added', other]),
    create(2, 'a', [guest]),
    create(3, 'b', [guest, other]),
    create(4, 'c', [guest]),
    hosting(5, ['Revoked', guest]),
    hosting(6, ['Added', guest]),
    archive(7, 'c'),
    create(8, 'd', [guest]),
    hosting(9, ['Revoked', other]),
    hosting(10, ['Revoked', guest]),
    create(11, 'e', [other]),
    hosting(12, ['Revoked', other]),
  ];

  it.each([[2], [3], [5], [12]])('are the same with %d updates per batch', async (perBatch) => {
    expect(await digestOf(schemas.url, await stored(history, { perBatch }))).toBe(
      await digestOf(schemas.url, await stored(history)),
    );
  });

  // The first update with a name assigns its number, so updates with new names are not stored late. The digest compares
  // the names of party sets instead of their numbers.
  it.each([[3], [4], [5], [6], [7], [8], [9], [10]])('are the same if update %d is stored last', async (late) => {
    const schema = await stored(history, { late });
    expect(await statuses(schema)).toEqual(await statuses(await stored(history)));
    const inTime = await stored(history);
    expect(await digestOf(schemas.url, schema, 'named')).toBe(await digestOf(schemas.url, inTime, 'named'));
    expect(await brokenRules(schemas.url, schema)).toEqual([]);
  });
});
