/**
 * Adds up account statements again with a script in Perl, from their CSV and from the frames of the ledger: a demo month,
 * and the recording of a participant.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateLongHistory } from '../../../packages/ledger-sandbox/src/demo/history.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import { program } from '../../cli/program.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { readRecording } from '../../recordings/recording.ts';
import { prepareRun } from '../../recordings/run.ts';
import { query } from '../../support/database.ts';
import { playDemo } from '../../support/demo-play.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { needs } from '../../support/skips/needs.ts';

const script = join(import.meta.dirname, 'statement-books.pl');
const seed = 31;
/** Number of parties with the most holdings whose statements are compared. */
const maxParties = 12;

const perlSkipReason =
  spawnSync('perl', ['-e', 'use JSON::PP; use Math::BigInt;']).status === 0
    ? undefined
    : 'needs perl with JSON::PP and Math::BigInt (apt-get install perl)';

interface Books {
  readonly problems: readonly string[];
  readonly compared: Readonly<Record<string, number>>;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statement-books-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The script does not read blobs, which are most of the text. */
function withoutBlobs(name: string, value: unknown): unknown {
  return name === 'createdEventBlob' ? undefined : value;
}

/** Writes updates with their offsets, one per line. Returns the path. */
async function writeFrames(name: string, updates: readonly { offset: number; update: unknown }[]): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, updates.map((update) => `${JSON.stringify(update, withoutBlobs)}\n`).join(''));
  return file;
}

async function ownersIn(url: string): Promise<readonly string[]> {
  const rows = await query(
    url,
    'select owner from explore.token_holding_events where owner is not null group by 1 order by count(*) desc, 1',
  );
  return rows.map(({ owner }) => String(owner));
}

/**
 * Compares the statements of these parties, complete and between two offsets. Returns the number of compared rows by
 * kind and by source of the price.
 */
async function expectBooks(
  url: string,
  frames: string,
  { parties, end, isStrict }: { readonly parties: readonly string[]; readonly end: number; readonly isStrict: boolean },
): Promise<Readonly<Record<string, number>>> {
  const bounds = [
    [0, end],
    [Math.floor(end / 3), Math.floor((2 * end) / 3)],
  ] as const;
  const statements: unknown[] = [];
  for (const party of parties) {
    for (const [from, to] of bounds) {
      const args = ['account-statement', '--party', party, '--csv', '--from', String(from), '--to', String(to)];
      const { code, stdout, stderr } = await program(args, { DATABASE_URL: url });
      expect(code, stderr).toBe(0);
      const csv = join(folder, `statement-${String(statements.length)}.csv`);
      await writeFile(csv, stdout);
      statements.push({ csv, party, from, to, strict: isStrict });
    }
  }
  const list = join(folder, 'statements.jsonl');
  await writeFile(list, statements.map((statement) => `${JSON.stringify(statement)}\n`).join(''));
  const result = spawnSync('perl', [script, frames, list], { encoding: 'utf8' });
  expect(result.status, result.stderr).toBe(0);
  const { problems, compared } = JSON.parse(result.stdout) as Books;
  expect(problems).toEqual([]);
  return compared;
}

/** Indexes a generated ledger, and compares its statements. */
async function expectBooksOf(generate: (ledger: Ledger) => void): Promise<Readonly<Record<string, number>>> {
  await using sandbox = await startSandbox({ seed, limits: { checkpointIntervalMs: 50 } });
  generate(sandbox.ledger);
  const database = await createMigratedDatabase(['ledger']);
  const end = sandbox.ledger.ledgerEnd();
  {
    const env = { LEDGER_URL: sandbox.url, DATABASE_URL: database.url, LEDGER_INTERFACES: 'tokens' };
    await using indexer = await runIndexer({ ...env, INDEXER_START: 'genesis' });
    await indexer.reaches(end, 120_000);
  }
  const updates = sandbox.ledger
    .range(0, end, Infinity)
    .flatMap(({ offset, update }) => (update === undefined ? [] : [{ offset, update }]));
  const frames = await writeFrames('generated.jsonl', updates);
  const parties = (await ownersIn(database.url)).slice(0, maxParties);
  const counts = await expectBooks(database.url, frames, { parties, end, isStrict: true });
  await database.drop();
  return counts;
}

describe('account statements of the demo', needs(perlSkipReason), () => {
  it.each([
    ['a month', (ledger: Ledger) => playDemo(ledger, seed)],
    [
      'half a year with changing prices',
      (ledger: Ledger) =>
        generateLongHistory(ledger, {
          seed,
          startAt: Date.parse('2026-01-01T00:00:00Z'),
          now: Date.parse('2026-07-01T00:00:00Z'),
        }),
    ],
  ])(
    'have the sums and values that a script in Perl computes from the frames of %s',
    async (_, generate) => {
      const counts = await expectBooksOf(generate);
      const kinds = ['sent', 'received', 'mint', 'burn', 'reward', 'traffic', 'merge', 'split', 'lock', 'unlock'];
      const sources = ['choice', 'open round'].map((source) => `price by ${source}`);
      for (const name of [...kinds, ...sources])
        expect(counts[name] ?? 0, `${name} in ${JSON.stringify(counts)}`).toBeGreaterThan(5);
    },
    600_000,
  );
});

describe('account statements of a recorded participant', needs(perlSkipReason), () => {
  it('have the sums that a script in Perl computes from the frames', async () => {
    const recording = readRecording('core');
    await using run = await prepareRun({ recording, shape: 'LEDGER_EFFECTS', ledgerEnd: recording.end });
    {
      await using daemon = run.start();
      await run.reaches(daemon, recording.end);
    }
    const updates = recording.updates.LEDGER_EFFECTS.map(({ text, offset }) => ({
      offset,
      update: (JSON.parse(text) as { update: unknown }).update,
    }));
    const frames = await writeFrames('recording.jsonl', updates);
    const owners = await ownersIn(run.databaseUrl);
    const counts = await expectBooks(run.databaseUrl, frames, {
      parties: owners.slice(0, maxParties),
      end: recording.end,
      isStrict: false,
    });
    expect(counts['rows']).toBeGreaterThan(20);
  });
});
