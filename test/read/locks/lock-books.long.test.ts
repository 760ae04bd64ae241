/**
 * Locks of six months of the demo, and of recordings of a real participant: reasons, available and vested amounts and
 * locks of apps are compared, to the last digit, with an independent program that reads the raw frames.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { readRecording } from '../../recordings/recording.ts';
import { prepareRun } from '../../recordings/run.ts';
import { query, type TestDatabase } from '../../support/database.ts';
import { playHalfYear } from '../../support/demo-play.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { compareBooks, readBooks, type BookState } from './lock-books.ts';

const seed = 41;
/** Of the states of the half year, every eighth is compared, which takes a minute. `LONG_TESTS=all` compares all of them. */
const comparedEvery = process.env['LONG_TESTS'] === 'all' ? 1 : 8;

describe('locks of six months of the demo', () => {
  let sandbox: Sandbox;
  let database: TestDatabase;
  let states: readonly BookState[];

  beforeAll(async () => {
    sandbox = await startSandbox({ seed, limits: { checkpointIntervalMs: 50 } });
    playHalfYear(sandbox.ledger, seed);
    database = await createMigratedDatabase(['ledger']);
    const env = { LEDGER_URL: sandbox.url, DATABASE_URL: database.url, LEDGER_INTERFACES: 'tokens' };
    await using indexer = await runIndexer({ ...env, INDEXER_START: 'genesis' });
    await indexer.reaches(sandbox.ledger.ledgerEnd(), 120_000);
    const frames = sandbox.ledger
      .range(0, sandbox.ledger.ledgerEnd(), Infinity)
      .flatMap(({ update }) => (update === undefined ? [] : [JSON.stringify({ update })]));
    expect(frames.length).toBeGreaterThan(12_000);
    states = await readBooks(frames, Math.floor(frames.length / 300));
  }, 900_000);

  afterAll(async () => {
    await sandbox.close();
    await database.drop();
  });

  it('have every reason that the views know', () => {
    const reasons = new Set(
      states.flatMap(({ amounts }) => Object.keys(amounts).map((key) => key.slice(key.lastIndexOf(' ') + 1))),
    );
    expect(reasons).toEqual(
      new Set([
        'aggregate_lock',
        'allocation',
        'conditional',
        'free',
        'governance_lock',
        'other',
        'transfer',
        'vesting_lock',
      ]),
    );
    expect(
      states.some(({ apps }) => Object.values(apps).some(({ featured, locked }) => featured && locked !== '0')),
    ).toBe(true);
    expect(
      states.filter(({ withdrawable }) => Object.values(withdrawable).some((amount) => amount !== '0')).length,
    ).toBeGreaterThan(300);
  });

  it('are equal in the books and in the views at changes of locks and at other offsets', async () => {
    const compared = states.filter((_, index) => index % comparedEvery === 0);
    const { equal, ...differences } = await compareBooks(database.url, compared);
    process.stdout.write(`locks: ${JSON.stringify({ offsets: compared.length, equal })}\n`);
    expect(differences).toEqual({ onlyInBooks: [], onlyInViews: [] });
    expect(equal).toBeGreaterThan(100_000);
  }, 1_200_000);

  it('have schedules that add up to the amount of each vesting lock', async () => {
    const rows = await query(
      database.url,
      `select l.contract_id, s.days, s.freed = l.amount as complete, s.remaining::float, s.most >= s.least as rising
         from (select lock_contract_id, sum(amount) as amount, min(contract_id) as contract_id
                 from explore.token_locks where reason = 'vesting_lock' and basis = 'contract' group by 1) l
         left join (select lock_contract_id, count(*)::integer as days, sum(freed) as freed, min(remaining) as remaining,
                           max(freed_total) as most, min(freed_total) as least
                      from explore.token_vesting_schedule group by 1) s using (lock_contract_id)`,
    );
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) expect(row).toMatchObject({ complete: true, remaining: 0, rising: true });
  });
});

describe.each(['core', 'two-synchronizers'])('locks of the recording %s', (name) => {
  it('are equal in the books and in the views at every offset', async () => {
    const recording = readRecording(name);
    await using run = await prepareRun({ recording, shape: 'LEDGER_EFFECTS', ledgerEnd: recording.end });
    {
      await using daemon = run.start();
      await run.reaches(daemon, recording.end);
    }
    const states = await readBooks(
      recording.updates.LEDGER_EFFECTS.map(({ text }) => text),
      1,
    );
    expect(states.length).toBe(recording.updates.LEDGER_EFFECTS.length);
    const { equal, ...differences } = await compareBooks(run.databaseUrl, states);
    expect(differences).toEqual({ onlyInBooks: [], onlyInViews: [] });
    expect(equal).toBeGreaterThan(name === 'core' ? 50 : 1);
  });
});
