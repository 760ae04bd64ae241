/** Compares the token views of explore with the movements of each recorded update and with the final owners. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from '../support/wire/fixtures.ts';
import { readRecording, shapes } from './recording.ts';
import { prepareRun, type Run } from './run.ts';

interface Change {
  readonly owner: string;
  readonly in: readonly string[];
  readonly out: readonly string[];
  readonly net: string;
}
interface Holdings {
  readonly updates: readonly {
    readonly offset: number;
    readonly updateId: string;
    readonly choices: readonly string[];
    readonly changes: readonly Change[];
  }[];
  readonly balancesAtEnd: Readonly<Record<string, string>>;
}

const amountText = `to_char(abs(amount), 'FM9999999990.0000000000') || case when is_locked then ' locked' else '' end`;

/** Created and ended holdings, by update and owner. */
const movementsSql = `
  select "offset"::integer, owner, coalesce(array_agg(${amountText} order by ${amountText}) filter (where amount > 0), '{}') as in,
         coalesce(array_agg(${amountText} order by ${amountText}) filter (where amount < 0), '{}') as out, sum(amount)::text as net
    from explore.token_holding_events where instrument_id = 'USD' group by 1, 2 order by 1, 2`;

const trimScaleSql = (column: string): string => `trim_scale(${column})::text as ${column}`;

/** Converts an amount to units of 10^-10. */
function units(amount: string): bigint {
  return BigInt(amount.replace(' locked', '').replace('.', ''));
}

function formatUnits(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(11, '0');
  const text = `${digits.slice(0, -10)}.${digits.slice(-10)}`.replace(/\.?0+$/, '');
  return amount < 0n ? `-${text}` : text;
}

/**
 * The journal of an owner according to the recording. @param effects whether to count holdings that are created and
 * archived in one update
 */
function journalOf({ updates }: Holdings, owner: string, effects: boolean): readonly unknown[] {
  let [balance, lockedBalance] = [0n, 0n];
  const sum = (texts: readonly string[]): bigint => texts.reduce((total, text) => total + units(text), 0n);
  const sumLocked = (texts: readonly string[]): bigint => sum(texts.filter((text) => text.endsWith(' locked')));
  return updates.flatMap(({ offset, choices, changes }) => {
    const ownChange = changes.find((change) => change.owner === owner);
    if (ownChange === undefined) return [];
    const transientHoldings = effects ? [] : ownChange.in.filter((text) => ownChange.out.includes(text));
    const net = sum(ownChange.in) - sum(ownChange.out);
    balance += net;
    lockedBalance += sumLocked(ownChange.in) - sumLocked(ownChange.out);
    const otherChange = changes.find((change) => change !== ownChange && units(change.net) === -net);
    // The counterparty of a mint is the issuer. If an owner pays itself, the counterparty is the owner.
    const isOwnTransfer = choices.filter((choice) => choice === 'EventLog_HoldingsChange').length > changes.length;
    const otherOwners =
      net === 0n ? (isOwnTransfer ? [owner] : null) : otherChange === undefined ? null : [otherChange.owner];
    return [
      {
        offset,
        amount_in: formatUnits(sum(ownChange.in) - sum(transientHoldings)),
        amount_out: formatUnits(sum(ownChange.out) - sum(transientHoldings)),
        net: formatUnits(net),
        balance: formatUnits(balance),
        locked: formatUnits(lockedBalance),
        others: effects ? otherOwners : null,
      },
    ];
  });
}

describe.each(shapes)('token views of the recording under %s', (shape) => {
  let run: Run;
  let holdings: Holdings;
  beforeAll(async () => {
    holdings = JSON.parse(fixture('recordings/core/holdings-by-update.json')) as Holdings;
    const recording = readRecording('core');
    run = await prepareRun({ recording, shape, ledgerEnd: recording.end });
    await using daemon = run.start();
    await run.reaches(daemon, recording.end);
  });
  afterAll(async () => {
    await run[Symbol.asyncDispose]();
  });

  it('return the recorded balances', async () => {
    const { rows } = await run.client.query<{ owner: string; total: string }>(
      `select owner, total::text from explore.token_balances where instrument_id = 'USD' and locked = 0`,
    );
    expect(Object.fromEntries(rows.map(({ owner, total }) => [owner, total]))).toEqual(holdings.balancesAtEnd);
  });

  it('return exactly the recorded movements of each update', async () => {
    const { rows } = await run.client.query<Change & { readonly offset: number }>(movementsSql);
    const recordedHoldings = holdings.updates.flatMap(({ offset, changes }) =>
      changes.map(({ owner, net, ...change }) => {
        // ACS_DELTA does not include holdings that are created and archived in one update.
        const transientHoldings = shape === 'ACS_DELTA' ? change.in.filter((text) => change.out.includes(text)) : [];
        const visibleTexts = (texts: readonly string[]): string[] =>
          texts.filter((text) => !transientHoldings.includes(text)).sort();
        return { owner, net, offset, in: visibleTexts(change.in), out: visibleTexts(change.out) };
      }),
    );
    const order = (a: Change & { offset: number }, b: Change & { offset: number }): number =>
      a.offset - b.offset || (a.owner < b.owner ? -1 : 1);
    expect(rows).toEqual(recordedHoldings.sort(order));
  });

  it('return each mint and each transfer once', async () => {
    const { rows } = await run.client.query<Record<string, string>>(
      `select "offset"::integer, kind, basis, split_part(sender, '1', 1) as sender, split_part(receiver, '1', 1) as receiver,
              amount::text, reason from explore.token_transfers where instrument_id = 'USD' order by "offset"`,
    );
    const effects = shape === 'LEDGER_EFFECTS';
    const basis = effects ? 'event' : 'holdings';
    const movement = (
      offset: number,
      sender: string | null,
      receiver: string,
      amount: string,
      reason?: string,
    ): unknown => ({
      offset,
      kind: sender === null ? 'mint' : 'transfer',
      basis,
      sender,
      receiver,
      amount,
      reason: effects ? (reason ?? null) : null,
    });
    expect(rows).toEqual([
      movement(85, null, 'alice', '100.0000000000', 'mint offer'),
      movement(91, null, 'bob', '50.5000000000', 'mint offer'),
      movement(97, 'alice', 'bob', '10.2500000000', 'rent'),
      movement(115, 'bob', 'alice', '0.0000000001'),
      movement(121, 'alice', 'bob', '3.5000000000'),
      // A holding that is created and archived in one update is only in events.
      ...(effects ? [movement(130, 'alice', 'alice', '5.0000000000')] : []),
    ]);
    expect((await run.client.query('select * from explore.token_discrepancies')).rows).toEqual([]);
  });

  it('return kind, locked amount and counterparty of each change', async () => {
    const { rows } = await run.client.query<Record<string, unknown>>(
      `select "offset"::integer, kind, trim_scale(locked_in - locked_out)::text as locked,
              split_part(other_owners[1], '1', 1) as other
         from explore.token_changes where instrument_id = 'USD' and owner like 'alice%' order by "offset"`,
    );
    const effects = shape === 'LEDGER_EFFECTS';
    const change = (offset: number, kind: string, lockedAmount: string, otherParty: string | null = null): unknown => ({
      offset,
      kind,
      locked: lockedAmount,
      other: effects ? otherParty : null,
    });
    expect(rows).toEqual([
      change(85, effects ? 'mint' : 'received', '0'),
      change(94, 'lock', '10.25'),
      change(97, 'sent', '-10.25', 'bob'),
      change(100, 'lock', '1'),
      change(103, 'unlock', '-1'),
      change(106, 'lock', '2'),
      change(109, 'unlock', '-2'),
      change(115, 'received', '0', 'bob'),
      change(118, 'lock', '3.5'),
      change(121, 'sent', '-3.5', 'bob'),
      change(130, 'split', '0', 'alice'),
    ]);
  });

  it('return the recorded journal of each owner', async () => {
    const effects = shape === 'LEDGER_EFFECTS';
    for (const owner of Object.keys(holdings.balancesAtEnd)) {
      const { rows } = await run.client.query<Record<string, unknown>>(
        `select "offset"::integer, ${trimScaleSql('amount_in')}, ${trimScaleSql('amount_out')}, ${trimScaleSql('net')}, ${trimScaleSql('balance')},
                ${trimScaleSql('locked')}, other_owners as others
           from explore.token_journal($1) where instrument_id = 'USD' order by "offset"`,
        [owner],
      );
      expect(rows).toEqual(journalOf(holdings, owner, effects));
      expect(rows.length).toBeGreaterThan(6);
    }
  });

  it('return changes and journal entries that sum to the balance at every offset', async () => {
    const { rows } = await run.client.query<{ at: string; summed: string; held: string }>(
      `select a.at::text, b.owner, trim_scale(b.net)::text as summed, trim_scale(b.total)::text as held
         from generate_series(0, (select checkpoint from ledger.stream)) a (at)
        cross join lateral (
               select coalesce(b.owner, c.owner) as owner, coalesce(b.total, 0) as total, coalesce(c.net, 0) as net
                 from (select owner, total from explore.token_balances_at(a.at) where instrument_id = 'USD') b
                 full join (select owner, sum(net) as net from explore.token_changes
                             where "offset" <= a.at and instrument_id = 'USD' group by owner) c using (owner)) b`,
    );
    expect(rows.length).toBeGreaterThan(60);
    expect(rows.filter(({ summed: summedBalance, held: heldBalance }) => summedBalance !== heldBalance)).toEqual([]);
    for (const [owner, total] of Object.entries(holdings.balancesAtEnd)) {
      const journal = await run.client.query<{ balance: string; net: string; offset: string }>(
        `select "offset", net::text, balance::text from explore.token_journal($1)`,
        [owner],
      );
      const expectedNets = holdings.updates.flatMap(({ offset, changes }) =>
        changes.filter((change) => change.owner === owner).map(({ net }) => [String(offset), net]),
      );
      expect(journal.rows.map(({ offset, net }) => [offset, net])).toEqual(expectedNets);
      expect(journal.rows.at(-1)?.balance).toBe(total);
      const laterMovements = await run.client.query<{ kind: string; balance: string }>(
        `select kind, balance::text from explore.token_journal($1, 100, 121)`,
        [owner],
      );
      expect(laterMovements.rows[0]?.kind).toBe('opening');
      expect(journal.rows.findLast(({ offset }) => Number(offset) <= 121)?.balance).toBe(
        laterMovements.rows.at(-1)?.balance,
      );
    }
  });
});
