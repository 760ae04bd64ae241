/**
 * Limited readers of random histories see the locks of their own contracts only, now and at every kind of offset, and
 * all of them. `TEST_RUNS` sets the number of histories, and `TEST_SEED` the first seed.
 */
import { randomBytes } from 'node:crypto';
import { Client, escapeIdentifier } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { grantReader } from '../../../src/store/roles/reader-role.ts';
import { openSession } from '../../../src/store/write/session.ts';
import { withDatabase } from '../../projections/projected.ts';
import { parties, PrivateHistory } from '../../security/privacy-history.ts';
import { storeHistory } from '../../security/privacy/store-history.ts';
import { printRepeatCommand, runsFor, seedFor } from '../../support/chance/property.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import type { Json } from '../../support/frames.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';

const firstSeed = seedFor();
const histories = runsFor(3);
printRepeatCommand(firstSeed, histories);

const [first = '', second = '', third = ''] = parties;
const readers = [[first], [second, third]].map((of) => ({ role: `locks_${randomBytes(4).toString('hex')}`, of }));

let template: TestDatabase;
const counts = { rows: 0, hidden: 0 };

beforeAll(async () => {
  template = await createMigratedDatabase(['ledger']);
  await withDatabase(template.url, async (owner) => {
    for (const { role, of } of readers) await grantReader(owner, { role, parties: of, password: undefined });
  });
});
afterAll(async () => {
  await template.drop();
  for (const { role } of readers) {
    await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${escapeIdentifier(role)}`);
  }
  process.stdout.write(`locks of others: ${JSON.stringify({ histories, ...counts })}\n`);
});

/** Stakeholders of each contract, from the frames. */
function stakeholdersOf(history: PrivateHistory): ReadonlyMap<string, ReadonlySet<string>> {
  const stakeholders = new Map<string, ReadonlySet<string>>();
  const collect = (value: Json): void => {
    if (Array.isArray(value)) value.forEach(collect);
    else if (typeof value === 'object' && value !== null) {
      const { contractId, signatories, observers } = value;
      if (typeof contractId === 'string' && Array.isArray(signatories) && Array.isArray(observers))
        stakeholders.set(contractId, new Set([...signatories, ...observers] as string[]));
      Object.values(value).forEach(collect);
    }
  };
  collect([...history.entries, ...history.updates]);
  return stakeholders;
}

interface Row {
  readonly line: string;
  readonly id: string | null;
  readonly amount: string | null;
}

const statementsAt = (at: number): Readonly<Record<string, string>> => ({
  locks: `select l::text as line, contract_id as id, amount::text from explore.token_locks_at(${String(at)}) l`,
  balances: `select b::text as line, null as id, amount::text from explore.token_balances_by_reason_at(${String(at)}) b`,
  apps: `select f::text as line, null as id, null as amount from explore.featured_app_locks_at(${String(at)}) f`,
  holdings: `select h::text as line, contract_id as id, amount::text from explore.token_holdings_at(${String(at)}) h`,
});
const statementsNow: Readonly<Record<string, string>> = {
  locks: 'select l::text as line, contract_id as id, amount::text from explore.token_locks l',
  balances: 'select b::text as line, null as id, amount::text from explore.token_balances_by_reason b',
  apps: 'select f::text as line, null as id, null as amount from explore.featured_app_locks f',
  schedule: 'select s::text as line, lock_contract_id as id, amount::text from explore.token_vesting_schedule s',
  holdings: 'select h::text as line, contract_id as id, amount::text from explore.token_holdings h',
};

async function rowsAs(client: Client, role: string | undefined, sql: string): Promise<readonly Row[]> {
  await client.query('begin');
  try {
    if (role !== undefined) await client.query(`set local role ${escapeIdentifier(role)}`);
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.query('rollback');
  }
}

const idsIn = (line: string): readonly string[] => line.match(/00c\d+/g) ?? [];
const sumOf = (rows: readonly Row[]): number => rows.reduce((sum, { amount }) => sum + Number(amount), 0);

describe('limited readers of locks', needs(limitsSkipReason), () => {
  it.each(Array.from({ length: histories }, (_, index) => firstSeed + index))(
    'see exactly the locks of their own contracts: seed %i',
    async (seed) => {
      const random = new Random(seed);
      const history = new PrivateHistory(seed, 12, true);
      const database = await createTestDatabase(escapeIdentifier(new URL(template.url).pathname.slice(1)));
      const client = new Client({ connectionString: database.url });
      try {
        await withDatabase(database.url, async (owner) => {
          const stream = { participantId: 'p::1220', filter: '{}', filterHash: 'f', shape: 'LEDGER_EFFECTS' } as const;
          await storeHistory(await openSession(owner, stream), history, random);
        });
        await client.connect();
        await client.query('set search_path = ledger');
        const stakeholders = stakeholdersOf(history);
        const problems: string[] = [];
        const offsets = [history.lastOffset, random.between(20, history.lastOffset)];
        for (const statements of [statementsNow, ...offsets.map(statementsAt)]) {
          for (const { role, of } of readers) {
            const isVisible = (id: string): boolean => of.some((party) => stakeholders.get(id)?.has(party));
            for (const [name, sql] of Object.entries(statements)) {
              const all = await rowsAs(client, undefined, sql);
              const seen = await rowsAs(client, role, sql);
              const leaks = seen.flatMap(({ line }) => idsIn(line)).filter((id) => !isVisible(id));
              problems.push(...leaks.map((id) => `${name}: ${of.join()} sees ${id}`));
              const expectedIds = all.flatMap(({ id }) => (id !== null && isVisible(id) ? [id] : [])).sort();
              const seenIds = seen.flatMap(({ id }) => id ?? []).sort();
              if (JSON.stringify(expectedIds) !== JSON.stringify(seenIds))
                problems.push(`${name}: ids of ${of.join()}`);
              counts.rows += seen.length;
              counts.hidden += all.length - seen.length;
              if (name !== 'balances') continue;
              const held = await rowsAs(client, undefined, statements['holdings'] ?? '');
              const own = held.filter(({ id }) => id !== null && isVisible(id));
              if (sumOf(own) !== sumOf(seen))
                problems.push(`${name}: ${of.join()} sees the balance ${String(sumOf(seen))}`);
            }
          }
        }
        expect(problems.slice(0, 10)).toEqual([]);
      } finally {
        await client.end();
        await database.drop();
      }
    },
  );

  it('have read locks, and locks were hidden from them', () => {
    expect(counts.rows).toBeGreaterThan(20 * histories);
    expect(counts.hidden).toBeGreaterThan(20 * histories);
  });
});
