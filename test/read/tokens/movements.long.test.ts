/** Compares random token movements in the token views with an independent model. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { readAccountStatement } from '../../../src/store/reads/account-statement.ts';
import { prune } from '../../../src/store/retention/prune.ts';
import { printRepeatCommand, runsFor, seedFor } from '../../support/chance/property.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { keySql, owners, TokenModel } from './movement-model.ts';
import { history } from './random-movements.ts';

/** One seed per random history. To repeat one, set TEST_SEED=… and TEST_RUNS=1. */
const seeds = Array.from({ length: runsFor(3) }, (_, rowIndex) => seedFor() + rowIndex);
printRepeatCommand(seeds[0] ?? 0, seeds.length);

const sortTexts = (texts: readonly string[]): readonly string[] => [...texts].sort();
const unitsSql = (column: string): string => `trim_scale(${column} * 10000000000)::text`;

async function changes(database: ReadDatabase): Promise<readonly string[]> {
  const rows = await database.query(
    `select concat_ws(' ', "offset", ${keySql}, ${['amount_in', 'amount_out', 'locked_in', 'locked_out'].map(unitsSql).join(', ')},
                      holdings_in, holdings_out) as text from explore.token_changes`,
  );
  return rows.map(({ text }) => String(text));
}

async function balancesAt(database: ReadDatabase, offset: number): Promise<ReadonlyMap<string, bigint>> {
  const rows = await database.query(
    `select ${keySql} as key, ${unitsSql('total')} as total from explore.token_balances_at($1::bigint)`,
    [offset],
  );
  return new Map(rows.map(({ key, total }) => [String(key), BigInt(String(total))]));
}

async function readMovements(database: ReadDatabase): Promise<readonly string[]> {
  const rows = await database.query(
    `select concat_ws('|', "offset", coalesce(sender, '-'), coalesce(sender_provider, '-'), sender_account_id,
                      coalesce(receiver, '-'), coalesce(receiver_provider, '-'), receiver_account_id, instrument_admin,
                      instrument_id, trim_scale(amount)::numeric(48, 10), coalesce(transfer_leg_id, '-'), basis) as text
       from explore.token_transfers where basis <> 'holdings'`,
  );
  return rows.map(({ text }) => String(text));
}

/** Accounts and updates whose movements do not sum up to the change of their holdings. */
const unbalancedSql = `
  select c."offset", c.owner, c.kind, c.moved, m.moved as by_movements
    from explore.token_changes c
   cross join lateral (
           select coalesce(sum(case when (t.receiver, t.receiver_account_id) = (c.owner, c.account_id)
                                     and t.receiver_provider is not distinct from c.provider then t.amount else 0 end)
                         - sum(case when (t.sender, t.sender_account_id) = (c.owner, c.account_id)
                                     and t.sender_provider is not distinct from c.provider then t.amount else 0 end), 0) as moved
             from explore.token_transfers t
            where t."offset" = c."offset" and t.instrument_admin = c.instrument_admin
              and t.instrument_id = c.instrument_id) m
   where m.moved <> c.moved`;

/** Expects that the balance after each journal row equals the holdings at its offset, and that no row is missing. */
async function expectJournalMatch(database: ReadDatabase, model: TokenModel, from: number, to: number): Promise<void> {
  for (const owner of owners) {
    const rows = await database.query(
      `select "offset"::integer, kind, ${keySql} as key, ${unitsSql('net')} as net, ${unitsSql('balance')} as balance
         from (select $1::text as owner, * from explore.token_journal($1, $2, $3)) j`,
      [owner, from, to],
    );
    const isOwnKey = (key: string): boolean => key.startsWith(`${owner}|`);
    for (const { offset, key, balance } of rows) {
      const heldBalance = model.balances[Number(offset)]?.get(String(key)) ?? 0n;
      expect([owner, offset, key, balance]).toEqual([owner, offset, key, heldBalance.toString()]);
    }
    const openingRows = rows.filter(({ kind }) => kind === 'opening').map(({ key }) => String(key));
    expect(sortTexts(openingRows)).toEqual(sortTexts([...(model.balances[from]?.keys() ?? [])].filter(isOwnKey)));
    const movedRows = rows
      .filter(({ kind }) => kind !== 'opening')
      .map(({ offset, key }) => `${String(offset)} ${String(key)}`);
    const expected = model.changes.filter(({ offset, account }) => offset > from && offset <= to && isOwnKey(account));
    expect(sortTexts(movedRows)).toEqual(
      sortTexts(expected.map(({ offset, account }) => `${String(offset)} ${account}`)),
    );
  }
}

describe('random token movements', () => {
  it.each(seeds)('equal the model in every token view (TEST_SEED=%i)', async (randomSeed) => {
    const model = new TokenModel();
    for (const sampleHistory of fc.sample(history, { seed: randomSeed, numRuns: 1 }).flat()) model.step(sampleHistory);
    await using database = await createReadDatabase();
    await database.write(...model.frames);

    const expected = model.changes.map((c) =>
      [c.offset, c.account, c.amountIn, c.amountOut, c.lockedIn, c.lockedOut, c.holdingsIn, c.holdingsOut].join(' '),
    );
    expect(sortTexts(await changes(database))).toEqual(sortTexts(expected));
    for (let offset = 0; offset <= model.offset; offset += 1) {
      expect(await balancesAt(database, offset)).toEqual(model.balances[offset]);
    }
    expect(sortTexts(await readMovements(database))).toEqual(sortTexts(model.reportedMovements));
    expect(await database.query(unbalancedSql)).toEqual([]);
    const discrepancies = await database.query(
      `select concat_ws('|', "offset", ${keySql}) as text from explore.token_discrepancies`,
    );
    expect(sortTexts(discrepancies.map(({ text }) => String(text)))).toEqual(sortTexts(model.untold));
    await expectJournalMatch(database, model, 0, model.offset);
    await expectJournalMatch(database, model, Math.floor(model.offset / 3), Math.floor((model.offset * 2) / 3));
  });

  it.each(seeds)(
    'produce equal account statements after streaming, seeding or pruning (TEST_SEED=%i)',
    async (randomSeed) => {
      const model = new TokenModel();
      for (const sampleHistory of fc.sample(history, { seed: randomSeed, numRuns: 1 }).flat())
        model.step(sampleHistory);
      const middle = Math.floor(model.offset / 2);
      await using followedDatabase = await createReadDatabase();
      await followedDatabase.write(...model.frames);
      await using combinedDatabase = await createReadDatabase();
      await combinedDatabase.writeTogether(model.frames);
      await using seededDatabase = await createReadDatabase('ledger', {
        offset: middle,
        entries: model.listed[middle] ?? [],
      });
      await seededDatabase.writeTogether(model.frames.slice(middle));

      const expected = await statements(followedDatabase, middle);
      expect(expected.every(({ rows }) => rows > 0)).toBe(true);
      expect(await statements(combinedDatabase, middle)).toEqual(expected);
      expect(await statements(seededDatabase, middle)).toEqual(expected);
      await pruneTo(combinedDatabase, middle);
      expect(await statements(combinedDatabase, middle)).toEqual(expected);
    },
  );
});

interface MovementCounts {
  readonly rows: number;
  readonly sha256: string;
  readonly notes: readonly string[];
}

/** Statements of `account-statement` for each owner, beginning at an offset. */
async function statements({ url }: ReadDatabase, offset: number): Promise<readonly MovementCounts[]> {
  const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' });
  const partyMovements: MovementCounts[] = [];
  for (const party of owners) {
    const request = { party, instrument: null, admin: null, from: { offset }, to: null };
    const statement = await readAccountStatement(database, request, async (statementRows) => {
      let rows = 0;
      for await (const page of statementRows.pages) rows += page.length;
      return { rows, sha256: statementRows.sha256(), notes: statementRows.notes };
    });
    partyMovements.push(statement);
  }
  await database.close();
  return partyMovements;
}

async function pruneTo({ url }: ReadDatabase, offset: number): Promise<void> {
  const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' });
  await prune(database, { offset }, { stop: new AbortController().signal });
  await database.close();
}
