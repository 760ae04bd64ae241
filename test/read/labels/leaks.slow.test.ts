/**
 * Labels of random histories: each limited reader sees the labels of the parties in rows that it may see, and no others.
 * The expected labels are computed from the sent frames. `TEST_RUNS` sets the number of histories, and `TEST_SEED` the
 * first seed.
 */
import { randomBytes } from 'node:crypto';
import { Client, escapeIdentifier } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { grantReader } from '../../../src/store/roles/reader-role.ts';
import { openSession } from '../../../src/store/write/session.ts';
import { withDatabase } from '../../projections/projected.ts';
import { labelRows, storeLabels } from '../../security/privacy/labels.ts';
import { storeHistory } from '../../security/privacy/store-history.ts';
import { parties, PrivateHistory, type ModelRow } from '../../security/privacy-history.ts';
import { printRepeatCommand, runsFor, seedFor } from '../../support/chance/property.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import * as frames from '../../support/frames.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { dso } from '../network/network-frames.ts';
import { ansEntry } from './ans-frames.ts';

const firstSeed = seedFor();
const histories = runsFor(3);
printRepeatCommand(firstSeed, histories);
const [one = '', two = '', three = ''] = parties;
const stranger = 'Stranger::1220';

interface Reader {
  readonly role: string;
  readonly parties: readonly string[];
  /** Whether the parties are those of a user of the participant. */
  readonly isUser: boolean;
}

const readers: readonly Reader[] = [[one], [two, three], [one, three]].map((list, at) => ({
  role: `labels_${randomBytes(4).toString('hex')}`,
  parties: list,
  isUser: at === 2,
}));
const totals = { labels: 0, hidden: 0 };

describe('labels for limited readers', needs(limitsSkipReason), () => {
  let template: TestDatabase;
  beforeAll(async () => {
    template = await createMigratedDatabase(['ledger']);
    await withDatabase(template.url, async (owner) => {
      for (const { role, parties: list, isUser } of readers) {
        await grantReader(owner, { role, parties: isUser ? 'session' : list, password: undefined });
      }
    });
  });
  afterAll(async () => {
    await template.drop();
    for (const { role } of readers) await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
    process.stdout.write(`labels of ${String(histories)} histories: ${JSON.stringify(totals)}\n`);
  });

  it.each(Array.from({ length: histories }, (_, index) => firstSeed + index))(
    'are those of parties in rows that the reader may see: seed %i',
    async (seed) => {
      const random = new Random(seed);
      const history = new PrivateHistory(seed, 12, true);
      const users = parties.filter(() => random.chance(0.5));
      const at = history.lastOffset + 1;
      const entries = users.map((user, nth) => ansEntry(`00a${String(nth)}`, user, `${user}.cns`, { nodeId: nth }));
      if (entries.length > 0) history.updates.push(frames.transaction(at, entries));
      const ofEntries = users.map((user): ModelRow => {
        return { table: 'contract_parties', key: `${user},${dso}`, seers: new Set([user, dso]) };
      });
      // About half of the users have no label of a file, so that their own names are used.
      const unlabelled = new Set(users.filter(() => random.chance(0.5)));
      const labelled = labelRows([...history.rows, ...ofEntries], [stranger]).filter(({ key }) => !unlabelled.has(key));
      await using database = await createTestDatabase(escapeIdentifier(new URL(template.url).pathname.slice(1)));
      await withDatabase(database.url, async (owner) => {
        const stream = { participantId: 'p::1220', filter: '{}', filterHash: 'f', shape: 'LEDGER_EFFECTS' } as const;
        await storeHistory(await openSession(owner, stream), history, random);
      });
      await storeLabels(database.url, labelled);
      await query(
        database.url,
        `insert into ledger.party_labels (party, source, label, is_dso) values ('${dso}', 'file', 'label of ${dso}', true)
         on conflict (party, source) do update set is_dso = true`,
      );
      for (const reader of readers) {
        const expected = expectedLabels(labelled, [...unlabelled], reader.parties);
        await expectLabels(database.url, reader, expected, [...new Set([...labelled.map(({ key }) => key), ...users])]);
      }
    },
  );

  it('have been visible and hidden', () => {
    expect(totals.labels).toBeGreaterThan(10 * histories);
    expect(totals.hidden).toBeGreaterThan(10 * histories);
  });
});

/** The visible labels by party: those of files, and the names of the reader's own parties. */
function expectedLabels(
  labelled: readonly ModelRow[],
  unlabelled: readonly string[],
  mine: readonly string[],
): ReadonlyMap<string, string> {
  const seen = labelled.filter(
    ({ table, seers }) => table === 'party_labels' && mine.some((party) => seers.has(party)),
  );
  const own = unlabelled.filter((party) => mine.includes(party)).map((party) => [party, `${party}.cns`] as const);
  return new Map([...seen.map(({ key }) => [key, `label of ${key}`] as const), ...own]);
}

async function expectLabels(
  url: string,
  reader: Reader,
  expected: ReadonlyMap<string, string>,
  all: readonly string[],
): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('set search_path = ledger; begin');
    if (reader.isUser) {
      await client.query(
        'insert into node_sessions (transaction_id, parties, reads_all) values (pg_current_xact_id(), $1, false)',
        [reader.parties],
      );
    }
    await client.query(`set local role ${escapeIdentifier(reader.role)}`);
    const pairs = async (sql: string): Promise<readonly string[]> =>
      (await client.query<{ line: string }>(`select party || ' ' || label as line from ${sql}`)).rows
        .map(({ line }) => line)
        .sort();
    const lines = [...expected].map(([party, label]) => `${party} ${label}`).sort();
    expect(await pairs('explore.party_labels')).toEqual(lines);
    expect(await pairs('explore.party_labels_at(explore.latest_offset())')).toEqual(lines);
    const { rows } = await client.query<{ party: string; label: string | null }>(
      'select party, explore.party_label(party) as label from unnest($1::text[]) party',
      [all],
    );
    for (const { party, label } of rows) expect(label, party).toBe(expected.get(party) ?? null);
    const files = [...expected].filter(([, label]) => label.startsWith('label of')).map(([party]) => party);
    const stored = await client.query<{ party: string }>('select party from party_labels');
    expect(stored.rows.map(({ party }) => party).sort()).toEqual(files.sort());
    const instruments = await client.query<{ admin: string }>(
      'select instrument_admin as admin from explore.instrument_labels',
    );
    expect(instruments.rows.map(({ admin }) => admin).sort()).toEqual(files);
    totals.labels += expected.size;
    totals.hidden += all.length - expected.size;
  } finally {
    await client.query('rollback');
    await client.end();
  }
}
