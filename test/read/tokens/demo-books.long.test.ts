/**
 * Compares the token views of a demo month with books that are computed from raw payloads, to the last digit and at a
 * thousand offsets.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../../support/database.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { playDemo } from '../../support/demo-play.ts';
import { balancesAt, bookEntriesOf, keyOf, units, type Entry } from './token-books.ts';

const seed = 29;

let sandbox: Sandbox;
let database: TestDatabase;
let bookEntries: readonly Entry[];

beforeAll(async () => {
  sandbox = await startSandbox({ seed, limits: { checkpointIntervalMs: 50 } });
  playDemo(sandbox.ledger, seed);
  bookEntries = bookEntriesOf(sandbox.ledger);
  database = await createMigratedDatabase(['ledger']);
  const env = { LEDGER_URL: sandbox.url, DATABASE_URL: database.url, LEDGER_INTERFACES: 'tokens' };
  await using indexer = await runIndexer({ ...env, INDEXER_START: 'genesis' });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 60_000);
}, 120_000);

afterAll(async () => {
  await sandbox.close();
  await database.drop();
});

const account = `owner, provider, account_id, instrument_admin, instrument_id`;

function keyIn(row: Readonly<Record<string, unknown>>): string {
  return keyOf(row['owner'], row['provider'], row['account_id'], row['instrument_admin'], row['instrument_id']);
}

/** A thousand distinct offsets in ascending order, including the first and the last. */
function someOffsets(): readonly number[] {
  const end = sandbox.ledger.ledgerEnd();
  const random = new Random(seed);
  const chosenOffsets = new Set([0, end]);
  while (chosenOffsets.size < 1_000) chosenOffsets.add(random.between(1, end - 1));
  return [...chosenOffsets].sort((a, b) => a - b);
}

/** A balance that differs between the views and the books. */
interface Difference {
  readonly offset: number;
  readonly key: string;
  readonly found: bigint | undefined;
  readonly expected: bigint | undefined;
}

function differences(
  offset: number,
  actual: ReadonlyMap<string, bigint>,
  expected: ReadonlyMap<string, bigint>,
): readonly Difference[] {
  return [...new Set([...actual.keys(), ...expected.keys()])]
    .map((key) => ({ offset, key, found: actual.get(key), expected: expected.get(key) }))
    .filter((balance) => balance.found !== balance.expected);
}

describe('token views of a demo month', () => {
  it('return accounts and instruments of both versions of the token standard', async () => {
    const rows = await query(
      database.url,
      `select instrument_id, standard, count(distinct provider)::int as providers from explore.token_holdings
        group by 1, 2 order by 1, 2`,
    );
    // Only locked Amulet has views of version 2.
    expect(rows).toEqual([
      { instrument_id: 'Amulet', standard: 'V1', providers: 0 },
      { instrument_id: 'Amulet', standard: 'V2', providers: 0 },
      { instrument_id: 'EURX', standard: 'V1', providers: 0 },
      { instrument_id: 'TWGBP', standard: 'V2', providers: 3 },
      { instrument_id: 'TWUSD', standard: 'V2', providers: 3 },
      { instrument_id: 'XS2931000017', standard: 'V1', providers: 0 },
    ]);
  });

  it('return the expected balances of every account at a thousand offsets', async () => {
    const offsets = someOffsets();
    const rows = await query(
      database.url,
      `select a.at, ${account}, total::text as total
         from unnest('{${offsets.join(',')}}'::bigint[]) a (at) cross join lateral explore.token_balances_at(a.at)`,
    );
    const actualBalances = new Map(offsets.map((offset) => [offset, new Map<string, bigint>()]));
    for (const row of rows) actualBalances.get(Number(row['at']))?.set(keyIn(row), units(row['total']));
    let comparedCount = 0;
    for (const [offset, expected] of balancesAt(bookEntries, offsets)) {
      expect(differences(offset, actualBalances.get(offset) ?? new Map(), expected)).toEqual([]);
      comparedCount += expected.size;
    }
    expect(comparedCount).toBeGreaterThan(50_000);
  });

  it('return the expected changes of every account in each update', async () => {
    const rows = await query(database.url, `select "offset", ${account}, net::text as net from explore.token_changes`);
    const actualChanges = rows
      .map((row) => `${String(row['offset'])} ${keyIn(row)} ${String(units(row['net']))}`)
      .sort((a, b) => (a < b ? -1 : 1));
    const expected = bookEntries
      .flatMap(({ offset, net }) => [...net].map(([key, change]) => `${String(offset)} ${key} ${String(change)}`))
      .sort((a, b) => (a < b ? -1 : 1));
    expect(actualChanges).toEqual(expected);
    expect(actualChanges.length).toBeGreaterThan(3_000);
  });

  it('return each movement once, with the expected sender and receiver', async () => {
    const side = (sideName: 'sender' | 'receiver'): string =>
      `${sideName} as owner, ${sideName}_provider as provider, ${sideName}_account_id as account_id, instrument_admin, instrument_id`;
    const accountsOf = (sideName: 'sender' | 'receiver') =>
      query(
        database.url,
        `select "offset", node_id, amount::text, kind, ${sideName} is null as nobody, ${side(sideName)}
           from explore.token_transfers order by "offset", instrument_admin, instrument_id, amount, node_id`,
      );
    const [senders, receivers] = [await accountsOf('sender'), await accountsOf('receiver')];
    const movements = senders.map((sender, index) => {
      const receiver = receivers[index] ?? {};
      const name = (row: Readonly<Record<string, unknown>>): string => (row['nobody'] === true ? '' : keyIn(row));
      const isOwnTransfer = name(sender) === name(receiver);
      return {
        isOwn: isOwnTransfer,
        text: [sender['offset'], name(sender), name(receiver), units(sender['amount'])].map(String).join(' | '),
      };
    });
    const expected = bookEntries.filter(({ isJourney }) => !isJourney).flatMap((entry) => movementsOf(entry));
    const transferMovements = movements.filter(({ isOwn: isOwnTransfer }) => !isOwnTransfer).map(({ text }) => text);
    // Compares filtered arrays, because the diff of the complete arrays would be too long.
    expect(transferMovements.filter((text) => !expected.includes(text))).toEqual([]);
    expect(expected.filter((text) => !transferMovements.includes(text))).toEqual([]);
    expect(transferMovements).toHaveLength(expected.length);
    expect(movements.length - transferMovements.length).toBe(ownTransfers());
    const kinds = new Map<unknown, number>();
    for (const { kind } of senders) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    expect(new Set(kinds.keys())).toEqual(new Set(['burn', 'mint', 'transfer']));
    expect(kinds.get('burn')).toBeGreaterThan(20);
  });

  it('return movements reported by V1 choices, by V2 choices, or by events', async () => {
    const [row] = await query(
      database.url,
      `with told as (
         select t."offset", t.instrument_id, t.basis,
                exists (select from explore.token_events e where e."offset" = t."offset") as events,
                exists (select from explore.exercises x
                         where x."offset" = t."offset" and x.interface_fqn ~ 'V1:(TransferFactory|TransferInstruction|Allocation)$') as v1,
                exists (select from explore.exercises x
                         where x."offset" = t."offset" and x.interface_fqn ~ 'V2:(TransferFactory|TransferInstruction|SettlementFactory)$') as v2
           from explore.token_transfers t where t.kind = 'transfer')
       select count(*) filter (where basis = 'event' and v1 and not v2)::int as events_of_v1,
              count(*) filter (where basis = 'event' and v2 and not v1)::int as events_of_v2,
              count(*) filter (where basis = 'event' and v2 and v1)::int as events_of_both,
              count(*) filter (where basis = 'choice')::int as choices,
              count(*) filter (where basis = 'choice' and instrument_id like 'TW%')::int as unlogged
         from told`,
    );
    expect(row?.['unlogged']).toBe(0);
    for (const count of ['events_of_v1', 'events_of_v2', 'events_of_both', 'choices'])
      expect(row?.[count], count).toBeGreaterThan(10);
  });

  it('return no discrepancies between logged and actual movements', async () => {
    expect(await query(database.url, 'select * from explore.token_discrepancies')).toEqual([]);
  });
});

/** Number of payments of owners to themselves by version 1. The bank logs no leg for a merge or split of deposits. */
function ownTransfers(): number {
  const events = sandbox.ledger
    .range(0, sandbox.ledger.ledgerEnd(), Infinity)
    .flatMap(({ update }) => (update !== undefined && 'Transaction' in update ? update.Transaction.value.events : []));
  return events.filter((event) => {
    if (!('ExercisedEvent' in event)) return false;
    const { choice, choiceArgument, packageName } = event.ExercisedEvent;
    if (choice !== 'TransferFactory_Transfer' || packageName === 'tidewater-deposits') return false;
    const { sender, receiver } = (choiceArgument as { transfer: Record<string, unknown> }).transfer;
    return sender === receiver;
  }).length;
}

/**
 * Movements of an update according to the books. In the demo, an update moves each instrument once: from one account to
 * another, to an account or from an account.
 */
function movementsOf({ offset, net }: Entry): readonly string[] {
  const sumsByInstrument = new Map<string, (readonly [string, bigint])[]>();
  for (const [key, change] of net) {
    if (change === 0n) continue;
    const instrument = key.split(' ').slice(-2).join(' ');
    sumsByInstrument.set(instrument, [...(sumsByInstrument.get(instrument) ?? []), [key, change]]);
  }
  return [...sumsByInstrument.values()].map((changes) => {
    const [sender, receiver] = [changes.find(([, change]) => change < 0n), changes.find(([, change]) => change > 0n)];
    const amount = receiver?.[1] ?? -(sender?.[1] ?? 0n);
    expect(changes.length, `the books of ${String(offset)}`).toBe((sender ? 1 : 0) + (receiver ? 1 : 0));
    return [offset, sender?.[0] ?? '', receiver?.[0] ?? '', amount].map(String).join(' | ');
  });
}
