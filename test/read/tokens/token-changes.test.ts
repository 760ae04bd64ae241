/**
 * Tests movements in the token views with frames of each special case: both versions at once, events of third parties,
 * fees, and many legs.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import * as tokens from './token-frames.ts';
import { gone } from './token-frames.ts';

const { alice, bob } = frames;
const carol = 'Carol::1220cc';
const admin = 'admin::1220ad';
const outsiderParty = 'Mallory::1220ee';
const instrument = { admin, id: 'Coin' };

interface HoldingOptions {
  readonly id?: string;
  readonly lock?: frames.JsonRecord;
  readonly versions?: readonly (1 | 2)[];
}

const account = (owner: string | null, id = ''): tokens.Account => ({ owner, provider: null, id });

/** A created holding of the instrument. */
function heldCoinOf(
  contractId: string,
  owner: string,
  amount: string,
  nodeId: number,
  { id, ...options }: HoldingOptions = {},
) {
  return tokens.held({ contractId, account: account(owner, id), instrument, amount, ...options }, nodeId);
}

interface Leg extends Omit<tokens.Leg, 'other'> {
  /** Null for the account of the admin. */
  readonly other: string | null;
}

/** Events of the registry for an account, as the admin logs them. */
function eventLogOf(owner: string, nodeId: number, legs: readonly Leg[], actorParty = admin): frames.JsonRecord {
  const legSides = legs.map(({ other: counterparty, ...leg }) => ({ ...leg, other: account(counterparty) }));
  return tokens.logged({ account: account(owner), instrument, legs: legSides, by: actorParty }, nodeId);
}

/** A transfer in one step by a transfer factory of version 1 or 2. */
function transferred(version: 1 | 2, nodeId: number, last: number, sender: string, receiver: string, amount: string) {
  return tokens.transferred({ version, sender, receiver, instrument, amount, lastDescendantNodeId: last }, nodeId);
}

let database: ReadDatabase;
let offset = 0;
beforeAll(async () => {
  database = await createReadDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** Writes one update. Resolves to its offset. */
async function update(...events: frames.Json[]): Promise<number> {
  offset += 1;
  await database.write(frames.transaction(offset, events));
  return offset;
}

const name = (column: string): string => `split_part(${column}, '::', 1)`;

/** Movements of an update as kind, basis, from, to, amount and reason. */
async function movements(currentOffset: number): Promise<unknown[]> {
  const rows = await database.query(
    `select kind, basis, ${name('sender')} as s, ${name('receiver')} as r, amount::float as amount, reason
       from explore.token_transfers where "offset" = $1 order by amount, 1, 3`,
    [currentOffset],
  );
  return rows.map((row) => Object.values(row));
}

/** Changes of an update as account, kind, net and other owners. */
async function changes(currentOffset: number): Promise<unknown[]> {
  const rows = await database.query(
    `select ${name('owner')} as owner, kind, net::float as net, array(select ${name('o')} from unnest(other_owners) o) as others
       from explore.token_changes where "offset" = $1 order by 1`,
    [currentOffset],
  );
  return rows.map((row) => Object.values(row));
}

const transferChange = (owner: string, id: string, amount: string, options?: HoldingOptions): Promise<number> =>
  update(heldCoinOf(id, owner, amount, 0, options));

describe('token movement', () => {
  it('is counted once if choices of both versions and events report the movement', async () => {
    await transferChange(alice, '00a1', '10.0');
    const at = await update(
      transferred(2, 0, 6, alice, bob, '4.0'),
      transferred(1, 1, 5, alice, bob, '4.0'),
      gone('00a1', 2),
      heldCoinOf('00a2', alice, '6.0', 3),
      heldCoinOf('00b1', bob, '4.0', 4),
      eventLogOf(alice, 5, [{ side: 'SenderSide', other: bob, amount: '4.0', reason: 'rent' }]),
      eventLogOf(bob, 6, [{ side: 'ReceiverSide', other: alice, amount: '4.0', reason: 'rent' }]),
    );
    expect(await movements(at)).toEqual([['transfer', 'event', 'Alice', 'Bob', 4, 'rent']]);
    expect(await changes(at)).toEqual([
      ['Alice', 'sent', -4, ['Bob']],
      ['Bob', 'received', 4, ['Alice']],
    ]);
    const steps = await database.query(
      `select standard, amount::float from explore.token_transfer_steps where "offset" = $1`,
      [at],
    );
    expect(steps).toEqual([{ standard: 'V2', amount: 4 }]);
    const [holding] = await database.query(
      `select standard, count(*)::int from explore.token_holdings where contract_id = '00b1' group by 1`,
    );
    expect(holding).toEqual({ standard: 'V2', count: 1 });
  });

  it('is counted twice for two equal legs', async () => {
    const leg = { other: bob, amount: '1.5' } as const;
    const at = await update(
      gone('00a2', 0),
      heldCoinOf('00a3', alice, '3.0', 1),
      heldCoinOf('00b2', bob, '3.0', 2),
      eventLogOf(alice, 3, [
        { side: 'SenderSide', ...leg },
        { side: 'SenderSide', ...leg },
      ]),
      eventLogOf(bob, 4, [
        { side: 'ReceiverSide', other: alice, amount: '1.5' },
        { side: 'ReceiverSide', other: alice, amount: '1.5' },
      ]),
    );
    const transferRow = ['transfer', 'event', 'Alice', 'Bob', 1.5, null];
    expect(await movements(at)).toEqual([transferRow, transferRow]);
  });

  it('is ignored if only a third party logs the movement', async () => {
    const at = await update(
      gone('00a3', 0),
      heldCoinOf('00a4', alice, '3.0', 1),
      eventLogOf(
        alice,
        2,
        [{ side: 'ReceiverSide', other: null, amount: '1000000', reason: 'a present' }],
        outsiderParty,
      ),
    );
    expect(await movements(at)).toEqual([]);
    expect(await changes(at)).toEqual([['Alice', 'change', 0, []]]);
    expect(await database.query('select * from explore.token_discrepancies where "offset" = $1', [at])).toEqual([]);
  });

  it('is a discrepancy with a fee if the admin logs a wrong amount', async () => {
    const at = await update(
      gone('00a4', 0),
      heldCoinOf('00a5', alice, '2.0', 1),
      eventLogOf(alice, 2, [{ side: 'SenderSide', other: null, amount: '0.4' }]),
    );
    expect(await movements(at)).toEqual([
      ['burn', 'event', 'Alice', null, 0.4, null],
      ['fee', 'holdings', 'Alice', null, 0.6, null],
    ]);
    expect(
      await database.query(`select logged::float, moved::float from explore.token_discrepancies where "offset" = $1`, [
        at,
      ]),
    ).toEqual([{ logged: -0.4, moved: -1 }]);
  });

  it('has a fee separate from the received amount in version 1', async () => {
    await transferChange(alice, '00v1', '10.0', { versions: [1] });
    const at = await update(
      transferred(1, 0, 3, alice, bob, '4.0'),
      gone('00v1', 1),
      heldCoinOf('00v2', alice, '5.75', 2, { versions: [1] }),
      heldCoinOf('00v3', bob, '4.0', 3, { versions: [1] }),
    );
    expect(await movements(at)).toEqual([
      ['fee', 'holdings', 'Alice', null, 0.25, null],
      ['transfer', 'choice', 'Alice', 'Bob', 4, null],
    ]);
    expect(await changes(at)).toEqual([
      ['Alice', 'sent', -4.25, ['Bob']],
      ['Bob', 'received', 4, ['Alice']],
    ]);
  });

  it('is a fee if an account loses an amount in a transfer to itself', async () => {
    await update(heldCoinOf('00f1', carol, '3.0', 0));
    const at = await update(
      transferred(1, 0, 2, carol, carol, '2.5'),
      gone('00f1', 1),
      heldCoinOf('00f2', carol, '2.5', 2),
    );
    expect(await changes(at)).toEqual([['Carol', 'fee', -0.5, ['Carol']]]);
    const mergedOffset = await update(
      transferred(1, 0, 3, carol, carol, '2.0'),
      gone('00f2', 1),
      heldCoinOf('00f3', carol, '2.0', 2),
      heldCoinOf('00f4', carol, '0.5', 3),
    );
    expect(await changes(mergedOffset)).toEqual([['Carol', 'split', 0, ['Carol']]]);
    await update(gone('00f3', 0), gone('00f4', 1));
  });

  it('is matched by holdings if unreported, or returned as unmatched or burnt', async () => {
    await update(
      heldCoinOf('00x1', alice, '9.0', 0),
      heldCoinOf('00x2', bob, '9.0', 1),
      heldCoinOf('00x3', carol, '1.0', 2),
    );
    const pairedOffset = await update(
      gone('00x1', 0),
      heldCoinOf('00x4', alice, '7.0', 1),
      heldCoinOf('00x5', carol, '2.0', 2),
    );
    expect(await movements(pairedOffset)).toEqual([['transfer', 'holdings', 'Alice', 'Carol', 2, null]]);
    expect(await changes(pairedOffset)).toEqual([
      ['Alice', 'sent', -2, ['Carol']],
      ['Carol', 'received', 2, ['Alice']],
    ]);
    const multiHoldingOffset = await update(
      gone('00x4', 0),
      gone('00x2', 1),
      heldCoinOf('00x6', carol, '10.0', 2),
      heldCoinOf('00x7', alice, '5.0', 3),
      heldCoinOf('00x8', bob, '1.0', 4),
    );
    expect(await movements(multiHoldingOffset)).toEqual([
      ['unmatched', 'holdings', 'Alice', null, 2, null],
      ['unmatched', 'holdings', 'Bob', null, 8, null],
      ['unmatched', 'holdings', null, 'Carol', 10, null],
    ]);
    const burnOffset = await update(gone('00x8', 0));
    expect(await movements(burnOffset)).toEqual([['burn', 'holdings', 'Bob', null, 1, null]]);
  });
});

describe('lock on a token holding', () => {
  it('is not counted as a movement, and does not apply after its expiry', async () => {
    const lock = { holders: [admin], expiresAfter: { microseconds: '1000000' } };
    const at = await update(gone('00x7', 0), heldCoinOf('00l1', alice, '5.0', 1, { lock }));
    expect(await movements(at)).toEqual([]);
    expect(await changes(at)).toEqual([['Alice', 'lock', 0, []]]);
    const lockStateSql = `select is_locked, is_locked_now, locked_until > created_at as later from explore.token_holdings where contract_id = '00l1'`;
    expect(await database.query(lockStateSql)).toEqual([{ is_locked: true, is_locked_now: false, later: true }]);
    const openOffset = await update(gone('00l1', 0), heldCoinOf('00l2', alice, '5.0', 1));
    expect(await changes(openOffset)).toEqual([['Alice', 'unlock', 0, []]]);
  });
});

describe('token account', () => {
  it('has a separate balance and journal in version 2', async () => {
    const savings = { id: 'savings', versions: [2] } as const;
    await transferChange(carol, '00s1', '8.0', savings);
    const at = await update(
      gone('00s1', 0),
      heldCoinOf('00s2', carol, '5.0', 1, savings),
      heldCoinOf('00s3', carol, '3.0', 2, { versions: [2] }),
    );
    const balances = await database.query(
      `select account_id, total::float from explore.token_balances where owner = $1 and account_id = 'savings'`,
      [carol],
    );
    expect(balances).toEqual([{ account_id: 'savings', total: 5 }]);
    const journal = await database.query(
      `select account_id, kind, net::float, balance::float from explore.token_journal($1, $2) order by 1 desc, 2`,
      [carol, at - 1],
    );
    expect(journal).toEqual([
      { account_id: 'savings', kind: 'opening', net: 8, balance: 8 },
      { account_id: 'savings', kind: 'sent', net: -3, balance: 5 },
      { account_id: '', kind: 'opening', net: expect.any(Number) as number, balance: expect.any(Number) as number },
      { account_id: '', kind: 'received', net: 3, balance: expect.any(Number) as number },
    ]);
  });

  it('cannot be queried at an unknown offset', async () => {
    await expect(
      database.query(`select * from explore.token_journal($1, null, 1000000)`, [carol]),
    ).rejects.toMatchObject({ code: 'LI003' });
    await expect(database.query(`select * from explore.token_balances_at(1000000)`)).rejects.toMatchObject({
      code: 'LI003',
    });
  });

  it('has a balance equal to the sum of its changes at every offset', async () => {
    const rows = await database.query(
      `select a.at, b.owner, b.account_id, b.total, (
                select sum(c.net) from explore.token_changes c
                 where c."offset" <= a.at and c.owner = b.owner and c.account_id = b.account_id) as summed
         from generate_series(0, ${String(offset)}) a (at) cross join lateral explore.token_balances_at(a.at) b`,
    );
    expect(rows.length).toBeGreaterThan(30);
    expect(rows.filter((row) => row['total'] !== row['summed'])).toEqual([]);
  });
});

describe('offboarded party', () => {
  it('keeps a holding until its archive if stored, otherwise until the offboarding', async () => {
    await using leftDatabase = await createReadDatabase();
    await leftDatabase.write(
      frames.transaction(1, [heldCoinOf('00d1', alice, '5.0', 0), heldCoinOf('00d2', alice, '2.0', 1)]),
      frames.hosting(2, [['Revoked', alice]]),
      frames.transaction(3, []),
      frames.transaction(4, [gone('00d1', 0)]),
    );
    const rows = await leftDatabase.query(
      `select a.at, coalesce((select sum(b.total) from explore.token_balances_at(a.at) b), 0)::float as held,
              (select sum(c.net) from explore.token_changes c where c."offset" <= a.at)::float as summed
         from generate_series(1, 4) a (at) order by 1`,
    );
    expect(rows.map((row) => [row['held'], row['summed']])).toEqual([
      [7, 7],
      [5, 5],
      [5, 5],
      [0, 0],
    ]);
    expect(
      await leftDatabase.query(
        `select kind, net::float from explore.token_changes where "offset" in (2, 4) order by 2`,
      ),
    ).toEqual([
      { kind: 'burn', net: -5 },
      { kind: 'unhosted', net: -2 },
    ]);
  });
});
