/** If the data of a movement is incomplete, the token views report the missing data and never a wrong value. */
import { afterEach, describe, expect, it } from 'vitest';
import { mergeStaging } from '../../../src/store/history/merge.ts';
import { prepareStaging, stagingSchema } from '../../../src/store/history/staging.ts';
import { openDatabase, type Database } from '../../../src/store/connection/database.ts';
import { prune } from '../../../src/store/retention/prune.ts';
import { redact } from '../../../src/store/retention/redact.ts';
import { openSession } from '../../../src/store/write/session.ts';
import * as frames from '../../support/frames.ts';
import { identity } from '../../support/schemas.ts';
import { decodeActiveContract } from '../../support/wire/decode.ts';
import { documentedQuery } from '../../docs/documented.ts';
import { fillAll } from '../../projections/projected.ts';
import { createReadDatabase, type StreamStart, type ReadDatabase } from '../read-database.ts';
import * as tokens from './token-frames.ts';

const { alice, bob } = frames;
const instrument = { admin: 'admin::1220ad', id: 'Coin' };
const mints: tokens.Account = { owner: null, provider: null, id: 'cip-112/mint' };

type Input = Partial<tokens.Holding>;
const coin = (contractId: string, owner: string, amount: string, options: Input = {}): tokens.Holding => ({
  contractId,
  account: tokens.own(owner),
  instrument,
  amount,
  ...options,
});
const heldCoin = (nodeId: number, ...args: Parameters<typeof coin>): frames.JsonRecord =>
  tokens.held(coin(...args), nodeId);
const { gone, own } = tokens;

const disposables: AsyncDisposable[] = [];
afterEach(async () => {
  for (const disposable of disposables.splice(0)) await disposable[Symbol.asyncDispose]();
});

async function world(seed?: StreamStart): Promise<ReadDatabase> {
  const database = await createReadDatabase('ledger', seed);
  disposables.push(database);
  return database;
}

/** Opens the same tables for maintenance functions. */
function openMaintained({ url }: ReadDatabase, schema = 'ledger'): Database {
  const database = openDatabase({ url, schema, statementTimeoutMs: 60_000, applicationName: 'test' });
  disposables.unshift({ [Symbol.asyncDispose]: () => database.close() });
  return database;
}

const movements = (database: ReadDatabase): Promise<readonly unknown[]> =>
  database.query(
    `select "offset"::integer, kind, split_part(sender, '::', 1) as sender, split_part(receiver, '::', 1) as receiver,
            amount::float from explore.token_transfers order by 1, 2, 3, 4`,
  );
const changes = (database: ReadDatabase): Promise<readonly unknown[]> =>
  database.query(
    `select "offset"::integer, kind, split_part(owner, '::', 1) as owner, net::float, unreadable_holdings::integer
       from explore.token_changes order by 1, 3`,
  );
const journalNotes = async (database: ReadDatabase, party: string): Promise<readonly string[]> =>
  (await database.query<{ note: string }>('select explore.token_journal_notes($1) as note', [party])).map(
    ({ note }) => note,
  );

/** Alice has 10, pays 4 to Bob, and splits the remainder. */
const payment = [
  frames.transaction(1, [heldCoin(0, '00a1', alice, '10.0')]),
  frames.transaction(2, [gone('00a1', 0), heldCoin(1, '00a2', alice, '6.0'), heldCoin(2, '00b1', bob, '4.0')]),
  frames.transaction(3, [gone('00a2', 0), heldCoin(1, '00a3', alice, '5.0'), heldCoin(2, '00a4', alice, '1.0')]),
];

describe('token views of pruned history', () => {
  it('return retained holdings as opening balances, without mints', async () => {
    const database = await world();
    await database.write(...payment);
    await prune(openMaintained(database), { offset: 2 }, { stop: new AbortController().signal });
    expect(await movements(database)).toEqual([]);
    expect(await changes(database)).toEqual([
      { offset: 2, kind: 'retained', owner: 'Alice', net: 6, unreadable_holdings: 0 },
      { offset: 2, kind: 'retained', owner: 'Bob', net: 4, unreadable_holdings: 0 },
      { offset: 3, kind: 'split', owner: 'Alice', net: 0, unreadable_holdings: 0 },
    ]);
    const journal = `select "offset"::integer, kind, balance::float from explore.token_journal($1)`;
    expect(await database.query(journal, [bob])).toEqual([{ offset: 2, kind: 'opening', balance: 4 }]);
  });

  it('return the same rows during and after the prune', async () => {
    const database = await world();
    await database.write(...payment);
    await database.query('select pqs.__note_pruned(2)');
    const while_ = [await movements(database), await changes(database)];
    await prune(openMaintained(database), { offset: 2 }, { stop: new AbortController().signal });
    expect([await movements(database), await changes(database)]).toEqual(while_);
  });
});

describe('unreadable holdings', () => {
  it('are counted separately, and leave movements of their update unmatched', async () => {
    const database = await world();
    await database.write(
      frames.transaction(1, [heldCoin(0, '00a1', alice, '10.0', { failed: [1, 2] })]),
      frames.transaction(2, [gone('00a1', 0), heldCoin(1, '00a2', alice, '6.0'), heldCoin(2, '00b1', bob, '4.0')]),
    );
    expect(await movements(database)).toEqual([
      { offset: 2, kind: 'unmatched', sender: null, receiver: 'Alice', amount: 6 },
      { offset: 2, kind: 'unmatched', sender: null, receiver: 'Bob', amount: 4 },
    ]);
    expect(await changes(database)).toMatchObject([
      { owner: 'Alice', unreadable_holdings: 1 },
      { owner: 'Bob', unreadable_holdings: 1 },
    ]);
    expect(
      await database.query('select contract_id, reason, is_active from explore.token_holdings_unreadable'),
    ).toEqual([{ contract_id: '00a1', reason: 'failed', is_active: false }]);
    expect(await journalNotes(database, alice)).toEqual([expect.stringMatching(/^1 holdings .* cannot be read/)]);
    expect(await journalNotes(database, bob)).toEqual([]);
  });

  it('include redacted holdings, and leave movements of their update unmatched', async () => {
    const database = await world();
    await database.write(...payment);
    const subject = { kind: 'contract', contractId: '00a1' } as const;
    const request = { subject, reason: 'asked for', active: true, exercises: false };
    await redact(openMaintained(database), request, new AbortController().signal);
    expect(await movements(database)).toEqual([
      { offset: 2, kind: 'unmatched', sender: null, receiver: 'Alice', amount: 6 },
      { offset: 2, kind: 'unmatched', sender: null, receiver: 'Bob', amount: 4 },
    ]);
    expect(await database.query('select reason from explore.token_holdings_unreadable')).toEqual([
      { reason: 'redacted' },
    ]);
    expect(await journalNotes(database, alice)).toHaveLength(1);
  });

  it('exclude holdings that are readable in one version of the token standard', async () => {
    const database = await world();
    await database.write(frames.transaction(1, [heldCoin(0, '00a1', alice, '10.0', { failed: [2], amountV1: '9.0' })]));
    expect(await database.query('select standard, amount::float from explore.token_holdings')).toEqual([
      { standard: 'V1', amount: 9 },
    ]);
    expect(await database.query('select from explore.token_holdings_unreadable')).toEqual([]);
  });
});

describe('quarantined update', () => {
  it('is noted in token journals whose range includes its offset', async () => {
    const database = await world();
    await database.write(...payment.slice(0, 1));
    await database.quarantine(2);
    await database.write(...payment.slice(2));
    expect(await journalNotes(database, alice)).toEqual([expect.stringMatching(/^offset 2: .* could not be stored/)]);
    const planBefore = await database.query('select from explore.token_journal_notes($1, 0, 1)', [alice]);
    expect(planBefore).toEqual([]);
  });
});

/**
 * Reseeds with these active contracts after a gap: history is known up to the checkpoint, and again from the seed
 * offset.
 */
async function reseed(database: ReadDatabase, checkpoint: number, seed: StreamStart): Promise<void> {
  const staging = openMaintained(database, stagingSchema('ledger', 'reseed'));
  await prepareStaging(staging, 'ledger', 'reseed', { identity, notBefore: checkpoint });
  const session = await openSession(staging, identity, { notify: false });
  await session.beginSeed(seed.offset);
  const batch = session.newBatch(seed.offset);
  for (const entry of seed.entries) batch.addEntry(decodeActiveContract(frames.text(entry)));
  await session.writeSeed(batch, 0);
  await session.publishSeed(seed.offset, 'seed');
  const { offset } = seed;
  const commonOptions = { identity, interfaces: [], anchor: undefined, writer: 'test', notify: false };
  await mergeStaging(openMaintained(database), { ...commonOptions, offset, checkpoint, reason: 'gap' });
}

const entry = (offset: number, holding: tokens.Holding): frames.JsonRecord =>
  frames.activeEntry({ ...tokens.holding(holding), offset, nodeId: 0 });

describe('gap in history', () => {
  it('separates the token journals before and after the gap', async () => {
    const database = await world();
    await database.write(...payment.slice(0, 2));
    await reseed(database, 2, { offset: 9, entries: [entry(8, coin('00a9', alice, '2.0'))] });
    const journal = 'select "offset"::integer, kind, balance::float from explore.token_journal($1, $2, $3)';
    await expect(database.query(journal, [alice, 1, 9])).rejects.toMatchObject({ code: 'LI003' });
    expect(await database.query(journal, [alice, 1, 2])).toHaveLength(2);
    expect(await database.query(journal, [alice, null, null])).toEqual([{ offset: 9, kind: 'opening', balance: 2 }]);
    const mints = await database.query(`select from explore.token_transfers where "offset" > 2`);
    expect(mints).toEqual([]);
  });
});

describe('token functions', () => {
  it('reject offsets that are not known, even if no token was ever seen', async () => {
    const database = await world();
    await database.write(frames.transaction(1, []));
    for (const call of ['token_balances_at(7)', 'token_holdings_at(7)', `token_journal('x', null, 7)`]) {
      await expect(database.query(`select * from explore.${call}`)).rejects.toMatchObject({ code: 'LI003' });
    }
    expect(await database.query('select * from explore.token_balances_at(1)')).toEqual([]);
    await expect(database.query(`select * from explore.token_journal('x', 1, 0)`)).rejects.toMatchObject({
      code: '22023',
    });
  });

  it('reject offsets at which interface views of holdings were incomplete', async () => {
    const database = await world();
    await database.write(...payment);
    await database.query(
      `insert into ledger.filter_interfaces (interface_id, state, complete_from)
       values ('#splice-api-token-holding-v2:Splice.Api.Token.HoldingV2:Holding', 'followed', 2)`,
    );
    const total = (offset: number): Promise<readonly unknown[]> =>
      database.query(`select sum(total)::float as total from explore.token_balances_at(${String(offset)})`);
    await expect(total(1)).rejects.toMatchObject({ code: 'LI003' });
    expect(await total(2)).toEqual([{ total: 10 }]);
    const [first] = await database.query('select "offset"::integer, kind from explore.token_journal($1)', [alice]);
    expect(first).toEqual({ offset: 2, kind: 'opening' });
  });
});

describe('token_discrepancies', () => {
  it('reports a logged movement without holdings, unless the party was never seen', async () => {
    const database = await world();
    const legs = [{ side: 'ReceiverSide', other: mints, amount: '5.0' }] as const;
    const log = (owner: string, node: number, witnesses = [owner]): frames.JsonRecord =>
      tokens.logged({ account: own(owner), instrument, legs, witnesses }, node);
    await database.write(
      frames.transaction(1, [heldCoin(0, '00a1', alice, '5.0'), log(alice, 1)]),
      frames.transaction(2, [log(alice, 0)]),
      frames.transaction(3, [log(bob, 0, [alice])]),
    );
    const resultRows = await database.query(
      `select "offset"::integer, split_part(owner, '::', 1) as owner, logged::float, moved::float
         from explore.token_discrepancies`,
    );
    expect(resultRows).toEqual([{ offset: 2, owner: 'Alice', logged: 5, moved: 0 }]);
  });

  it('returns no row for holdings of an admin without an owner', async () => {
    const database = await world();
    const vault = coin('0001', alice, '100.0', { account: mints });
    await database.write(
      frames.transaction(1, [tokens.held(vault, 0)]),
      frames.transaction(2, [
        gone('0001', 0),
        heldCoin(1, '0002', alice, '60.0', { account: mints }),
        heldCoin(2, '00a1', alice, '40.0'),
        tokens.logged(
          { account: own(alice), instrument, legs: [{ side: 'ReceiverSide', other: mints, amount: '40.0' }] },
          3,
        ),
      ]),
    );
    expect(await changes(database)).toMatchObject([
      { offset: 1, kind: 'received', owner: null, net: 100 },
      { offset: 2, kind: 'mint', owner: 'Alice', net: 40 },
      { offset: 2, kind: 'mint', owner: null, net: -40 },
    ]);
    expect(await database.query('select from explore.token_discrepancies')).toEqual([]);
  });
});

describe('transfer step', () => {
  it.each([
    [1, 2],
    [2, 1],
  ] as const)('is one transfer in version %i with a nested step of version %i', async (outerAmount, innerAmount) => {
    const database = await world();
    const step = { sender: alice, receiver: bob, instrument, amount: '4.0' };
    await database.write(
      frames.transaction(1, [heldCoin(0, '00a1', alice, '4.0')]),
      frames.transaction(2, [
        tokens.transferred({ ...step, version: outerAmount, lastDescendantNodeId: 3 }, 0),
        tokens.transferred({ ...step, version: innerAmount, lastDescendantNodeId: 3 }, 1),
        gone('00a1', 2),
        heldCoin(3, '00b1', bob, '4.0'),
      ]),
    );
    expect((await movements(database)).slice(1)).toEqual([
      { offset: 2, kind: 'transfer', sender: 'Alice', receiver: 'Bob', amount: 4 },
    ]);
  });
});

describe('lock on a holding', () => {
  const lockedInput = (lock: frames.JsonRecord): Input => ({ lock: { holders: [bob], ...lock } });
  const maxBigint = '9223372036854775807';

  it('is accepted with any duration', async () => {
    const database = await world();
    await database.write(
      frames.transaction(1, [
        heldCoin(0, '00a1', alice, '1.0', lockedInput({ expiresAfter: { microseconds: maxBigint } })),
        heldCoin(1, '00a2', alice, '2.0', lockedInput({ expiresAfter: { microseconds: `-${maxBigint}` } })),
        heldCoin(2, '00a3', alice, '4.0', lockedInput({ expiresAt: '9999-12-31T23:59:59.999999Z' })),
      ]),
    );
    const expected = { total: 7, locked: 7, available: 2 };
    const columns = 'total::float, locked::float, available::float';
    expect(await database.query(`select ${columns} from explore.token_balances`)).toEqual([expected]);
    expect(await database.query(`select ${columns} from explore.token_balances_at(1)`)).toEqual([expected]);
  });

  it('is ignored at the seed offset if the lock had expired there', async () => {
    const expiringLock = lockedInput({ expiresAt: '2026-08-14T11:00:00Z' });
    const database = await world({ offset: 5, entries: [entry(3, coin('00a1', alice, '1.0', expiringLock))] });
    const available = 'select available::float from explore.token_balances_at(5)';
    expect(await database.query(available)).toEqual([{ available: 1 }]);
    await database.write(frames.transaction(6, []));
    expect(await database.query(available)).toEqual([{ available: 1 }]);
  });

  it('applies at the seed offset if the lock expires later', async () => {
    const expiringLock = lockedInput({ expiresAt: '2026-08-14T12:00:00Z' });
    const database = await world({ offset: 5, entries: [entry(3, coin('00a1', alice, '1.0', expiringLock))] });
    await database.write(frames.transaction(6, [], { effectiveAt: '2026-08-14T11:01:00Z' }));
    const available = 'select available::float from explore.token_balances_at(5)';
    expect(await database.query(available)).toEqual([{ available: 0 }]);
  });
});

describe('owner that is not a stakeholder', () => {
  it('has a balance, and is rejected by token_journal if no event names the owner', async () => {
    const database = await world();
    const keptInput: Input = { event: { signatories: [instrument.admin], witnessParties: [instrument.admin] } };
    await database.write(
      frames.transaction(1, [heldCoin(0, '00a1', alice, '1.0', keptInput)]),
      frames.transaction(2, []),
    );
    expect(await database.query('select owner from explore.token_balances')).toEqual([{ owner: alice }]);
    await expect(database.query('select from explore.token_journal($1, 1, 2)', [alice])).rejects.toMatchObject({
      code: '42704',
    });
  });
});

describe('changes of one owner', () => {
  const changesOf = (database: ReadDatabase): Promise<readonly unknown[]> =>
    database.query(
      `select "offset"::integer, net::float, unreadable_holdings::integer from explore.token_changes_of($1)`,
      [alice],
    );
  const notOwn: Input = { event: { signatories: [instrument.admin], witnessParties: [instrument.admin] } };

  it.each([
    ['a holding of which the owner is not a stakeholder', heldCoin(1, '00a2', alice, '2.0', notOwn), [1, 0]],
    ['an unreadable holding of another party', heldCoin(1, '00b1', bob, '2.0', { failed: [1, 2] }), [1, 0]],
    ['an unreadable holding of the owner', heldCoin(1, '00a2', alice, '2.0', { failed: [1, 2] }), [1, 1]],
    ['another holding of the owner', heldCoin(1, '00a2', alice, '2.0'), [3, 0]],
  ])('are the same stored and computed, with %s', async (_name, holding, [net, unreadable]) => {
    const database = await world();
    await database.write(frames.transaction(1, [heldCoin(0, '00a1', alice, '1.0'), holding]));
    const changed = [{ offset: 1, net, unreadable_holdings: unreadable }];
    expect(await changesOf(database)).toEqual(changed);
    expect(await fillAll(database.url, 100)).toBeGreaterThan(0);
    expect(await changesOf(database)).toEqual(changed);
  });
});

describe('documented query for missing data', () => {
  const gapQuery = documentedQuery('Is anything missing?');

  it('returns no rows if no data is missing', async () => {
    const database = await world();
    await database.write(...payment);
    expect(await database.query(gapQuery)).toEqual([]);
  });

  it('returns each kind of missing data', async () => {
    const database = await world();
    await database.write(
      ...payment,
      frames.transaction(4, [heldCoin(0, '00a5', alice, '1.0', { failed: [1, 2] }), heldCoin(1, '00b2', bob, '2.0')]),
    );
    await database.quarantine(5);
    await database.write(frames.hosting(6, [['Revoked', bob]]));
    await prune(openMaintained(database), { offset: 1 }, { stop: new AbortController().signal });
    const subject = { kind: 'contract', contractId: '00a3' } as const;
    const request = { subject, reason: 'asked for', active: true, exercises: false };
    await redact(openMaintained(database), request, new AbortController().signal);
    await reseed(database, 6, { offset: 9, entries: [entry(8, coin('00a9', alice, '2.0'))] });
    const rows = await database.query(gapQuery);
    const kindsFound = new Set(rows.map(({ what: fieldName }) => fieldName));
    expect(kindsFound).toEqual(new Set(['pruned', 'quarantined', 'gap', 'unhosted', 'redacted', 'unreadable']));
  });
});
