/** Functions at an offset or a time, called with a quoted literal, and parties by their hints. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import * as tokens from './token-frames.ts';

const { alice } = frames;
const twins = ['Twin::1220aa', 'Twin::1220ab'];
let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  const coin = (contractId: string, owner: string): frames.JsonRecord =>
    tokens.held(
      { contractId, account: tokens.own(owner), instrument: { admin: 'dso::1220', id: 'Coin' }, amount: '1' },
      0,
    );
  const effectiveAt = (day: string): frames.JsonRecord => ({
    effectiveAt: `${day}T12:00:00Z`,
    recordTime: `${day}T12:00:00Z`,
  });
  await database.write(
    frames.transaction(1, [coin('00c1', alice)], effectiveAt('2026-08-01')),
    frames.transaction(2, [coin('00c2', alice)], effectiveAt('2026-08-03')),
    ...twins.map((twin, index) =>
      frames.transaction(3 + index, [coin(`00d${String(index)}`, twin)], effectiveAt('2026-08-05')),
    ),
  );
});
afterAll(() => database[Symbol.asyncDispose]());

const count = async (call: string): Promise<unknown> =>
  (await database.query<{ count: number }>(`select count(*)::int from ${call}`))[0]?.count;

describe('a quoted literal', () => {
  it.each([
    [`explore.token_balances_at('2')`, 1],
    [`explore.token_balances_at('4')`, 3],
    [`explore.token_balances_at('2026-08-02')`, 1],
    [`explore.token_balances_at('yesterday 12:00')`, 3],
    [`explore.token_balances_at(4)`, 3],
    [`explore.token_balances_at(now())`, 3],
    [`explore.active_at('2')`, 2],
    [`explore.active_at('2026-08-02T00:00:00Z')`, 1],
    [`explore.active_at('now', 'Iou')`, 4],
    [`explore.active_at(interval '1 second')`, 4],
    [`explore.token_locks_at('4')`, 0],
    [`explore.token_balances_by_reason_at('2026-08-02')`, 1],
    [`explore.featured_app_locks_at('yesterday 12:00')`, 0],
    [`explore.diff('1', '4')`, 1],
    [`explore.diff('2026-08-02', 'now')`, 1],
  ])('is an offset or a time in %s', async (call, rows) => {
    expect(await count(call)).toBe(rows);
  });

  it('is rejected if its position is not known, or if it is neither an offset nor a time', async () => {
    await expect(count(`explore.token_balances_at('99')`)).rejects.toMatchObject({ code: 'LI003' });
    await expect(count(`explore.token_balances_at('Alice')`)).rejects.toMatchObject({ code: '22007' });
    await expect(count(`explore.token_balances_at(null)`)).rejects.toMatchObject({ code: 'LI003' });
  });
});

describe('explore.party', () => {
  const party = async (name: string): Promise<unknown> =>
    (await database.query<{ party: string }>('select explore.party($1)', [name]))[0]?.party;

  it('returns the party with this id or unique hint', async () => {
    expect([await party('Alice'), await party(alice)]).toEqual([alice, alice]);
    expect(await count(`explore.token_balances where owner = explore.party('Alice')`)).toBe(1);
  });

  it('rejects a hint of several parties with their ids, and an unknown name with similar parties', async () => {
    await expect(party('Twin')).rejects.toMatchObject({
      code: '42P08',
      message: expect.stringContaining(twins[1] ?? '') as string,
    });
    await expect(party('Alicia')).rejects.toMatchObject({
      code: '42704',
      hint: expect.stringContaining(alice) as string,
    });
  });
});
