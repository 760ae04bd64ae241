/**
 * Tests an indexer with a participant that adds fields, events, kinds of updates and error codes of no release to every
 * message. The indexer stores the same rows as from the unchanged participant, and counts and reports the rest.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { assign, authorize, unassign } from '../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { releases } from '../../packages/ledger-sandbox/src/wire/release.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { novel, NewerParticipant } from './newer-participant.ts';

/** A transient rejection, although its code is unknown. */
const unavailable = { status: 503, grpcCodeValue: 14 };
/** A rejection with FAILED_PRECONDITION, which the same request would meet again. */
const refused = { status: 400, grpcCodeValue: 9 };

let reference: TestDatabase;
let behind: TestDatabase;
beforeEach(async () => {
  [reference, behind] = [await createMigratedDatabase(), await createMigratedDatabase()];
});
afterEach(async () => {
  await reference.drop();
  await behind.drop();
});

/**
 * Returns a function that appends updates of every kind: trades, a reassigned contract, and a party that is added and
 * removed.
 */
function grower({ ledger }: Sandbox): (updates: number) => void {
  const steps = new Steps(ledger, 31);
  const account = { bank: 'bank', owner: 'owner', number: '1', balance: '10', version: '1' };
  const { contractId } = ledger.create('#sandbox-test:Keyed:Account', account, ['bank']);
  let at = Date.UTC(2026, 0, 5, 8) * 1000;
  let isHosted = false;
  let inFlight: string | undefined;
  return (updates) => {
    for (let done = 1; done <= updates; done += 1) {
      at += 40_000_000;
      steps.step(at);
      if (done % 40 !== 0) continue;
      isHosted = !isHosted;
      authorize(ledger, 'guest::1220aa', isHosted, at);
      if (inFlight === undefined) inFlight = unassign(ledger, contractId, at);
      else {
        assign(ledger, inFlight, at);
        inFlight = undefined;
      }
    }
  };
}

const indexing = (ledgerUrl: string, database: TestDatabase): Promise<IndexerRun> =>
  runIndexer({ LEDGER_URL: ledgerUrl, DATABASE_URL: database.url });

async function isLevel(run: IndexerRun, { ledger }: Sandbox): Promise<void> {
  const end = ledger.ledgerEnd();
  await waitFor('the indexer is live', async () => ((await run.status()).state === 'live' ? true : undefined));
  await run.reaches(end);
  await run.completionsReach(end);
}

const count = async (text: string): Promise<number> =>
  Number((await query(behind.url, `select count(*) as n from ledger.${text}`))[0]?.['n']);

/** Returns a function with the number of occurrences of an unknown name, from `/status`. */
async function counts(run: IndexerRun): Promise<(kind: string, name: string) => number> {
  const { unknown } = (await run.status()) as never as { unknown: { kind: string; name: string; count: number }[] };
  return (kind, name) => unknown.find((one) => one.kind === kind && one.name === name)?.count ?? 0;
}

/** All stored rows, after rows that only the newer participant sent were deleted. */
async function facts({ url }: TestDatabase): Promise<unknown> {
  await query(url, `delete from ledger.updates where kind = 'u'`);
  await query(
    url,
    `with novel as (delete from ledger.topology_events where raw is not null returning "offset")
     update ledger.updates u set event_count = event_count - 1 from novel where novel."offset" = u."offset"`,
  );
  const completions = await query(url, 'select * from ledger.completions order by "offset", command_id');
  return { digest: await digestOf(url, 'ledger', 'named'), completions };
}

describe.each(releases)('a participant newer than %s', (release) => {
  let sandbox: Sandbox;
  let newer: NewerParticipant;
  let grow: (updates: number) => void;
  beforeEach(async () => {
    sandbox = await startSandbox({ release, limits: { checkpointIntervalMs: 50 } });
    newer = await NewerParticipant.before(sandbox.url);
    grow = grower(sandbox);
  });
  afterEach(async () => {
    await newer[Symbol.asyncDispose]();
    await sandbox.close();
  });

  it('is indexed with all known content, and its unknown content is counted', { timeout: 120_000 }, async () => {
    grow(150);
    newer.firstRefusal = unavailable;
    await using alone = await indexing(sandbox.url, reference);
    await using run = await indexing(newer.url, behind);
    for (const one of [alone, run]) await isLevel(one, sandbox);
    grow(250);
    for (const one of [alone, run]) await isLevel(one, sandbox);

    const counted = await counts(run);
    const created = await count('contracts');
    expect(created).toBeGreaterThan(200);
    expect(counted('field', `CreatedEvent.${novel.field}`)).toBeGreaterThanOrEqual(created);
    expect(counted('field', `ExercisedEvent.${novel.field}`)).toBeGreaterThanOrEqual(await count('exercises'));
    expect(counted('field', `Completion.${novel.field}`)).toBeGreaterThanOrEqual(await count('completions'));
    // One of the reassignments was in flight at the seed.
    expect(await count('reassignments')).toBe(7);
    expect(counted('field', `JsUnassignedEvent.${novel.field}`)).toBe(4);
    const events = await count(`topology_events where kind = '${novel.event}'`);
    expect(events).toBe(6);
    expect(counted('topology_event', novel.event)).toBe(events);
    const kept = await query(behind.url, `select "offset"::int as at from ledger.updates where kind = 'u' order by 1`);
    expect(kept.length).toBeGreaterThan(3);
    expect(kept.map(({ at }) => at)).toEqual([...newer.prophecies].sort((a, b) => a - b));
    expect(counted('update', novel.update)).toBe(kept.length);

    expect(await facts(behind)).toEqual(await facts(reference));
  });

  it('parks the indexer while it rejects requests, and is followed again later', { timeout: 60_000 }, async () => {
    grow(60);
    {
      await using run = await indexing(newer.url, behind);
      await isLevel(run, sandbox);
    }
    grow(40);
    newer.updatesRefusal = refused;
    {
      await using run = await indexing(newer.url, behind);
      const parkError = await waitFor('the indexer parks', async () => {
        const { state, lastError } = await run.status();
        return state === 'parked' ? (lastError as { readonly code: string; readonly message: string }) : undefined;
      });
      expect(parkError.code).toBe('LEDGER_REQUEST_INVALID');
      expect(parkError.message).toContain(novel.code);
    }
    newer.updatesRefusal = undefined;
    await using run = await indexing(newer.url, behind);
    await isLevel(run, sandbox);
    await using alone = await indexing(sandbox.url, reference);
    await isLevel(alone, sandbox);
    const active = 'select contract_id from explore.active_contracts order by 1';
    expect(await query(behind.url, active)).toEqual(await query(reference.url, active));
  });
});
