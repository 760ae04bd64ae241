/** Frames are stored in a real Postgres and read again. No data is lost, written twice or written incompletely. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import type { JsonRecord } from '../support/frames.ts';
import { identity } from '../support/schemas.ts';

describe('Postgres storage', () => {
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

  /** Writes a create with this payload text unchanged. Returns the text of the ledger from the database. */
  async function roundTripPostgres(payload: string): Promise<{ readonly text: string; readonly escaped: boolean }> {
    const event = frames.created({ createArgument: 'HERE' });
    const frame = frames.text(frames.transaction(nextOffset(), [{ CreatedEvent: event }]));
    const offset = await write(frame.replace('"HERE"', () => payload));
    const [row] = await query<{ whole: string; escaped: string | null }>(
      `select payload::text as whole, payload->>'$escaped' as escaped from decoded_contracts where "offset" = $1`,
      [offset],
    );
    return { text: row?.escaped ?? row?.whole ?? '', escaped: typeof row?.escaped === 'string' };
  }

  describe('payload', () => {
    it.each([
      ['NUL', String.raw`{"a":"x\u0000y"}`],
      ['NUL in a key', String.raw`{"a\u0000":"y"}`],
      ['a lone high surrogate', String.raw`{"a":"\ud800"}`],
      ['a lone low surrogate after a backslash that looks like a high one', String.raw`{"a":"\\ud83d\ude00"}`],
      ['nesting 5,000 deep', `${'[{"a":'.repeat(2_500)}1${'}]'.repeat(2_500)}`],
      ['nesting 100,000 deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
      ['an object that looks like the escape', '{"$escaped":"me"}'],
      ['an object that looks like the escape, with one letter escaped', String.raw`{"$\u0065scaped":"me"}`],
    ])('is stored escaped and returned unchanged with %s', async (_caseName, payload) => {
      expect(await roundTripPostgres(payload)).toEqual({ text: payload, escaped: true });
    });

    it.each([
      ['nesting 400 deep', `${'['.repeat(400)}${']'.repeat(400)}`],
      ['__proto__ and constructor as keys', '{"__proto__": {"x": 1}, "constructor": {"prototype": 2}}'],
      ['the text of a NUL escape', String.raw`{"a": "\\u0000 \\ud800"}`],
      ['quotes, tabs, newlines, backslashes, braces', JSON.stringify({ a: '"\'\t\r\n\\\\{}[]\\.\\N\b\f\u0001\u007F' })],
      ['right-to-left text and emoji', '"שלום \u202Eabc 😀 é e\u0301"'],
      ['nanosecond timestamps', '{"t": "2026-08-14T10:51:04.123456789Z", "micros": "0001-01-01T00:00:00.000001Z"}'],
    ])('is stored as jsonb and returned unchanged with %s', async (_caseName, payload) => {
      const { text, escaped: isEscaped } = await roundTripPostgres(payload);
      expect(isEscaped).toBe(false);
      expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(JSON.parse(payload)));
    });

    it.each([
      '9007199254740993',
      '-9223372036854775808',
      '1.10',
      '0.0000000001',
      '100.0000000000',
      '12345678901234567890123456789.0123456789',
    ])('keeps all digits of the number %s', async (number) => {
      expect((await roundTripPostgres(`{"n": ${number}}`)).text).toBe(`{"n": ${number}}`);
      expect((await roundTripPostgres(`{"n": "${number}"}`)).text).toBe(`{"n": "${number}"}`);
    });

    it('keeps the last value of duplicate keys', async () => {
      expect((await roundTripPostgres('{"a":1,"b":2,"a":3}')).text).toBe('{"a": 3, "b": 2}');
      expect((await roundTripPostgres('{"a":1.5,"b":2,"a":3.50}')).text).toBe('{"a": 3.50, "b": 2}');
    });

    it('is returned unchanged with 9,000 characters from all parts of Unicode', async () => {
      let state = 7;
      const characters = Array.from({ length: 9_000 }, () => {
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
        const codePoint = 1 + (state % 0x10_fffe);
        return String.fromCodePoint(codePoint >= 0xd800 && codePoint <= 0xdfff ? 0x20 : codePoint);
      });
      const payload = JSON.stringify({ text: characters.join('') });
      const { text, escaped: isEscaped } = await roundTripPostgres(payload);
      expect(isEscaped).toBe(false);
      expect(JSON.parse(text)).toEqual(JSON.parse(payload));
    });
  });

  describe('update', () => {
    const specialTexts = [
      '"',
      "'",
      '\t',
      '\n',
      '\r',
      '\\',
      '\\N',
      '\\.',
      '{a,b}',
      'NULL',
      ' ',
      'שלום',
      'x'.repeat(300),
      '$1;--',
    ];

    it('keeps special characters in names of parties, templates and choices', async () => {
      const module = `M.${specialTexts.join('')}`;
      const choice = specialTexts.join('|');
      const id = `pkg:${module}:${specialTexts.join('+')}`;
      const parties = { witnessParties: specialTexts, signatories: specialTexts, observers: specialTexts };
      const offset = await write(
        frames.text(
          frames.transaction(nextOffset(), [
            { CreatedEvent: frames.created({ ...parties, templateId: id, packageName: specialTexts.join('') }) },
            {
              ExercisedEvent: frames.exercised({
                templateId: id,
                choice,
                actingParties: specialTexts,
                consuming: false,
              }),
            },
          ]),
        ),
      );
      const [row] = await query(
        `select c.witness_parties, c.signatories, c.observers, t.module_name, t.entity_name, t.package_name,
              e.acting_parties, h.choice
         from decoded_contracts c join templates t using (template_pk) join decoded_exercises e using ("offset")
         join choices h using (choice_pk) where c."offset" = $1`,
        [offset],
      );
      expect(row).toEqual({
        witness_parties: specialTexts,
        signatories: specialTexts,
        observers: specialTexts,
        acting_parties: specialTexts,
        module_name: module,
        entity_name: specialTexts.join('+'),
        package_name: specialTexts.join(''),
        choice,
      });
    });

    it('keeps an escaped NUL or lone surrogate in the command id and workflow id', async () => {
      const ids = { commandId: 'a\u0000b', workflowId: 'x\ud800' };
      const offset = await write(frames.text(frames.transaction(nextOffset(), [], ids)));
      const [row] = await query<{ command_id: string; workflow_id: string }>(
        'select command_id, workflow_id from decoded_updates where "offset" = $1',
        [offset],
      );
      expect(row).toEqual({ command_id: String.raw`json:"a\u0000b"`, workflow_id: String.raw`json:"x\ud800"` });
      expect(JSON.parse(row?.command_id.slice(5) ?? '')).toBe(ids.commandId);
    });

    it('keeps microseconds, years 1 and 9999, and a traffic cost beyond 2^53', async () => {
      const times = { effectiveAt: '0001-01-01T00:00:00.000001Z', recordTime: '9999-12-31T23:59:59.999999Z' };
      const frame = frames.text(frames.transaction(nextOffset(), [], { ...times, paidTrafficCost: 'COST' }));
      const offset = await write(frame.replace('"COST"', '9223372036854775807'));
      const iso = (column: string): string =>
        `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "${column}"`;
      const [row] = await query(
        `select ${iso('effective_at')}, ${iso('record_time')}, paid_traffic_cost::text from decoded_updates where "offset" = $1`,
        [offset],
      );
      expect(row).toEqual({
        effective_at: times.effectiveAt,
        record_time: times.recordTime,
        paid_traffic_cost: '9223372036854775807',
      });
    });

    it('is stored with all 20,000 events', async () => {
      const events = Array.from({ length: 20_000 }, (_, nodeId) => ({
        CreatedEvent: frames.created({ nodeId, contractId: `many${String(nodeId)}`, createArgument: { nodeId } }),
      }));
      const offset = await write(frames.text(frames.transaction(nextOffset(), events)));
      expect(
        await query(
          `select u.event_count, count(*)::int as stored, count(distinct c.contract_id)::int as distinct,
                count(*) filter (where c.payload = jsonb_build_object('nodeId', c.node_id))::int as whole
           from decoded_updates u join decoded_contracts c using ("offset") where "offset" = $1 group by 1`,
          [offset],
        ),
      ).toEqual([{ event_count: 20_000, stored: 20_000, distinct: 20_000, whole: 20_000 }]);
    });
  });

  describe('session', () => {
    const allRowsSql = `select (select jsonb_agg(to_jsonb(u) order by u."offset") from decoded_updates u)::text as updates,
    (select count(*) from decoded_contracts)::int as contracts, (select count(*) from lifetimes)::int as lifetimes,
    (select count(*) from templates)::int as templates, (select sum(creates) from activity_hourly)::text as activity,
    (select to_jsonb(s) - 'epoch' - 'writer' from stream s)::text as stream`;

    function batchOf(from: number, ...updates: JsonRecord[]): ReturnType<StoreSession['newBatch']> {
      const batch = session.newBatch(from);
      for (const update of updates) batch.add(decodeUpdate(frames.text(update)));
      return batch;
    }
    const create = (offset: number, change: JsonRecord = {}): JsonRecord =>
      frames.transaction(offset, [{ CreatedEvent: frames.created({ offset, ...change }) }]);

    it('rejects a batch that does not begin at the checkpoint, and changes nothing', async () => {
      const rowsBefore = await query(allRowsSql);
      const invalidCheckpoint = checkpoint - 1;
      await expect(
        session.writeBatch(batchOf(invalidCheckpoint, create(checkpoint + 5)), invalidCheckpoint),
      ).rejects.toMatchObject({
        code: 'WRITER_FENCED',
        retry: 'fenced',
      });
      expect(await query(allRowsSql)).toEqual(rowsBefore);
    });

    it('rejects a batch if another writer has taken over, and changes nothing', async () => {
      const old = session;
      const batch = batchOf(checkpoint, create(checkpoint + 1));
      session = await openSession(database, identity);
      const rowsBefore = await query(allRowsSql);
      await expect(old.writeBatch(batch, checkpoint)).rejects.toMatchObject({ code: 'WRITER_FENCED' });
      await expect(old.writeSeed(old.newBatch(0), 0)).rejects.toMatchObject({ code: 'WRITER_FENCED' });
      await expect(old.publishSeed(1, 'seed')).rejects.toMatchObject({ code: 'WRITER_FENCED' });
      expect(await query(allRowsSql)).toEqual(rowsBefore);
    });

    it('stores no rows, names or checkpoint of a batch that fails', async () => {
      const rowsBefore = await query(allRowsSql);
      const halfBatch = batchOf(
        checkpoint,
        create(checkpoint + 1, { templateId: 'new:Half:Way' }),
        // A text column cannot contain a NUL character.
        create(checkpoint + 2, { witnessParties: ['Eve\u0000'] }),
      );
      await expect(session.writeBatch(halfBatch, checkpoint)).rejects.toHaveProperty('code');
      expect(await query(allRowsSql)).toEqual(rowsBefore);
      session = await openSession(database, identity);
      await write(frames.text(create(nextOffset(), { templateId: 'new:Half:Way' })));
      expect(await query(allRowsSql)).not.toEqual(rowsBefore);
    });

    it('rejects an invalid time, and changes nothing', async () => {
      const rowsBefore = await query(allRowsSql);
      const writeInvalid = async (): Promise<unknown> =>
        session.writeBatch(batchOf(checkpoint, create(checkpoint + 1, { createdAt: 'not a time' })), checkpoint);
      await expect(writeInvalid()).rejects.toMatchObject({ code: 'STORE_DATA_REFUSED' });
      expect(await query(allRowsSql)).toEqual(rowsBefore);
      session = await openSession(database, identity);
    });

    it('rejects updates that are already stored', async () => {
      const from = checkpoint;
      await write(frames.text(create(nextOffset())));
      const rowsBefore = await query(allRowsSql);
      await expect(session.writeBatch(batchOf(from, create(from + 1)), from)).rejects.toMatchObject({
        code: 'WRITER_FENCED',
      });
      session = await openSession(database, identity);
      await expect(session.writeBatch(batchOf(checkpoint, create(checkpoint)), checkpoint)).rejects.toHaveProperty(
        'code',
      );
      expect(await query(allRowsSql)).toEqual(rowsBefore);
      session = await openSession(database, identity);
    });
  });
});
