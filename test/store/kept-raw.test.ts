/** Unknown kinds and opaque fields are stored in a real Postgres and returned unchanged. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import type { JsonRecord } from '../support/frames.ts';
import { identity } from '../support/schemas.ts';

describe('stored frame', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let session: StoreSession;
  let checkpoint = 0;

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
    database = openDatabase({ url: testDatabase.url, ...options });
    await migrate(database);
    session = await openSession(database, identity);
    await session.publishSeed(0, 'genesis');
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });

  async function query<T extends object>(sql: string, values: unknown[] = []): Promise<readonly T[]> {
    return database.withClient(async (client) => (await client.query<T>(sql, values)).rows);
  }

  function nextOffset(): number {
    return checkpoint + 1;
  }

  /** Decodes and writes one frame whose offset is `nextOffset()`. */
  async function write(frame: string): Promise<number> {
    const batch = session.newBatch(checkpoint);
    batch.add(decodeUpdate(frame));
    await session.writeBatch(batch, checkpoint);
    checkpoint = batch.offset;
    return checkpoint;
  }

  describe('raw column', () => {
    const sentColumn = (column: string): string =>
      `case when starts_with(${column}::text, '{"$escaped":') then ${column} ->> '$escaped' else ${column}::text end`;
    const unknownData = [
      ['numbers in their original spelling', '{ "a":1.10, "b":1e400,"c":-0.0 ,"d":12345678901234567890123}'],
      ['repeated keys', '{"z":1,"a":2,"z":3}'],
      ['NUL and a lone surrogate', String.raw`{"a":"x\u0000y","b":"\ud800"}`],
      ['nesting 2,000 deep', `${'['.repeat(2_000)}${']'.repeat(2_000)}`],
      ['field names of known kinds', '{"createArgument":{"n":1.50},"details":[ 1.0 ]}'],
    ] as const;

    it.each(unknownData)('returns an unknown update unchanged, with %s', async (_caseName, value) => {
      const raw = `{"Prophecy":{"value":{"offset":${String(nextOffset())},"updateId":"u","deep":${value} }}}`;
      const offset = await write(`{"update":${raw}}`);
      const [row] = await query<{ kind: string; raw: string }>(
        `select kind, ${sentColumn('raw')} as raw from decoded_updates where "offset" = $1`,
        [offset],
      );
      expect(row).toEqual({ kind: 'unknown', raw });
    });

    it.each(unknownData)('returns an unknown topology event unchanged, with %s', async (_caseName, value) => {
      const raw = `{"PartyRenamed":{"value":{"partyId":"${frames.alice}","deep":${value}}, "more":1}}`;
      const frame = frames.text(frames.topology(nextOffset()));
      const events = /"events":\[(.*?)\],"traceContext"/;
      const doubledFrame = frame.replace(
        events,
        (_all, knownEvents: string) => `"events":[${knownEvents},{"event":${raw}}],"traceContext"`,
      );
      const offset = await write(doubledFrame);
      const rows = await query(
        `select event_index, kind, party_id, ${sentColumn('raw')} as raw from topology_events where "offset" = $1 order by 1`,
        [offset],
      );
      expect(rows).toEqual([
        { event_index: 0, kind: 'ParticipantAuthorizationAdded', party_id: frames.alice, raw: null },
        { event_index: 1, kind: 'PartyRenamed', party_id: null, raw },
      ]);
    });
  });

  it('has no status details of a view if the list is empty or blank', async () => {
    const view = frames.created()['interfaceViews'] as JsonRecord[];
    const views = ['[]', '[ ]', '[\n\t]', '[ 1.0 ]'].map((details, index) =>
      frames
        .text(view[0] ?? {})
        .replace('"details":[]', `"details":${details}`)
        .replace(/"interfaceId":"[^"]*"/, `"interfaceId":"p:M:I${String(index)}"`),
    );
    const frame = frames.text(
      frames.transaction(nextOffset(), [{ CreatedEvent: frames.created({ interfaceViews: 'HERE' }) }]),
    );
    const offset = await write(frame.replace('"HERE"', `[${views.join(',')}]`));
    const rows = await query(
      'select status_details::text as details from decoded_interface_views where "offset" = $1 order by interface_pk',
      [offset],
    );
    expect(rows.map((row) => (row as { details: unknown }).details)).toEqual([null, null, null, '[1.0]']);
  });
});
