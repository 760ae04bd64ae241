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
import { novelField, NewerParticipant } from './newer-participant.ts';

/** A transient rejection, although its code is unknown. */
const unavailable = { status: 503, grpcCodeValue: 14 };
/** A rejection with FAILED_PRECONDITION, which the same request would meet again. */
const refusal = { status: 400, grpcCodeValue: 9 };

let reference: TestDatabase;
let laggingDatabase: TestDatabase;
beforeEach(async () => {
  [reference, laggingDatabase] = [await createMigratedDatabase(), await createMigratedDatabase()];
});
afterEach(async () => {
  await reference.drop();
  await laggingDatabase.drop();
});

/**
 * Returns a function that appends updates of every kind: trades, a reassigned contract, and a party that is added and
 * removed.
 */
function ledgerGrower({ ledger }: Sandbox): (updates: number) => void {
  const steps = new Steps(ledger, 31);
  const account = { bank: 'bank', owner: 'owner', number: '1', balance: '10', version: '1' };
  const { contractId } = ledger.create('#sandbox-test:Keyed:Account', account, ['bank']);
  let timeMicros = Date.UTC(2026, 0, 5, 8) * 1000;
  let isHosted = false;
  let inFlight: string | undefined;
  return (updates) => {
    for (let stepCount = 1; stepCount <= updates; stepCount += 1) {
      timeMicros += 40_000_000;
      steps.step(timeMicros);
      if (stepCount % 40 !== 0) continue;
      isHosted = !isHosted;
      authorize(ledger, 'guest::1220aa', isHosted, timeMicros);
      if (inFlight === undefined) inFlight = unassign(ledger, contractId, timeMicros);
      else {
        assign(ledger, inFlight, timeMicros);
        inFlight = undefined;
      }
    }
  };
}

const indexing = (ledgerUrl: string, database: TestDatabase): Promise<IndexerRun> =>
  runIndexer({ LEDGER_URL: ledgerUrl, DATABASE_URL: database.url });

async function waitUntilCaughtUp(run: IndexerRun, { ledger }: Sandbox): Promise<void> {
  const end = ledger.ledgerEnd();
  await waitFor('the indexer is live', async () => ((await run.status()).state === 'live' ? true : undefined));
  await run.reaches(end);
  await run.completionsReach(end);
}

const count = async (text: string): Promise<number> =>
  Number((await query(laggingDatabase.url, `select count(*) as n from ledger.${text}`))[0]?.['n']);

/** Returns a function with the number of occurrences of an unknown name, from `/status`. */
async function counts(run: IndexerRun): Promise<(kind: string, name: string) => number> {
  const { unknown } = (await run.status()) as never as { unknown: { kind: string; name: string; count: number }[] };
  return (kind, name) => unknown.find((counter) => counter.kind === kind && counter.name === name)?.count ?? 0;
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
  let newerParticipant: NewerParticipant;
  let growLedger: (updates: number) => void;
  beforeEach(async () => {
    sandbox = await startSandbox({ release, limits: { checkpointIntervalMs: 50 } });
    newerParticipant = await NewerParticipant.before(sandbox.url);
    growLedger = ledgerGrower(sandbox);
  });
  afterEach(async () => {
    await newerParticipant[Symbol.asyncDispose]();
    await sandbox.close();
  });

  it('is indexed with all known content, and its unknown content is counted', { timeout: 120_000 }, async () => {
    growLedger(150);
    newerParticipant.firstRefusal = unavailable;
    await using singleIndexer = await indexing(sandbox.url, reference);
    await using run = await indexing(newerParticipant.url, laggingDatabase);
    for (const indexerRun of [singleIndexer, run]) await waitUntilCaughtUp(indexerRun, sandbox);
    growLedger(250);
    for (const indexerRun of [singleIndexer, run]) await waitUntilCaughtUp(indexerRun, sandbox);

    const rowCounts = await counts(run);
    const contractCount = await count('contracts');
    expect(contractCount).toBeGreaterThan(200);
    expect(rowCounts('field', `CreatedEvent.${novelField.field}`)).toBeGreaterThanOrEqual(contractCount);
    expect(rowCounts('field', `ExercisedEvent.${novelField.field}`)).toBeGreaterThanOrEqual(await count('exercises'));
    expect(rowCounts('field', `Completion.${novelField.field}`)).toBeGreaterThanOrEqual(await count('completions'));
    // One of the reassignments was in flight at the seed.
    expect(await count('reassignments')).toBe(7);
    expect(rowCounts('field', `JsUnassignedEvent.${novelField.field}`)).toBe(4);
    const events = await count(`topology_events where kind = '${novelField.event}'`);
    expect(events).toBe(6);
    expect(rowCounts('topology_event', novelField.event)).toBe(events);
    const quarantinedRows = await query(
      laggingDatabase.url,
      `select "offset"::int as at from ledger.updates where kind = 'u' order by 1`,
    );
    expect(quarantinedRows.length).toBeGreaterThan(3);
    expect(quarantinedRows.map(({ at }) => at)).toEqual([...newerParticipant.prophecies].sort((a, b) => a - b));
    expect(rowCounts('update', novelField.update)).toBe(quarantinedRows.length);

    expect(await facts(laggingDatabase)).toEqual(await facts(reference));
  });

  it('parks the indexer while it rejects requests, and is followed again later', { timeout: 60_000 }, async () => {
    growLedger(60);
    {
      await using run = await indexing(newerParticipant.url, laggingDatabase);
      await waitUntilCaughtUp(run, sandbox);
    }
    growLedger(40);
    newerParticipant.updatesRefusal = refusal;
    {
      await using run = await indexing(newerParticipant.url, laggingDatabase);
      const parkError = await waitFor('the indexer parks', async () => {
        const { state, lastError } = await run.status();
        return state === 'parked' ? (lastError as { readonly code: string; readonly message: string }) : undefined;
      });
      expect(parkError.code).toBe('LEDGER_REQUEST_INVALID');
      expect(parkError.message).toContain(novelField.code);
    }
    newerParticipant.updatesRefusal = undefined;
    await using run = await indexing(newerParticipant.url, laggingDatabase);
    await waitUntilCaughtUp(run, sandbox);
    await using singleIndexer = await indexing(sandbox.url, reference);
    await waitUntilCaughtUp(singleIndexer, sandbox);
    const activeSql = 'select contract_id from explore.active_contracts order by 1';
    expect(await query(laggingDatabase.url, activeSql)).toEqual(await query(reference.url, activeSql));
  });
});
