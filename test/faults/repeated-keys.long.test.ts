/**
 * Tests data that Postgres never accepts. Only the affected update, or the affected entry of the active contracts, is
 * found and named. If the server is only slow, the indexer waits, and nothing is quarantined.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { move, scriptedLedger, validUpdates } from '../e2e/runs/scripted-ledger.ts';
import { startFakeLedger } from '../ledger/fake-ledger.ts';
import { query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import type { JsonRecord } from '../support/frames.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createMigratedDatabase();
});
afterEach(() => database.drop());

const env = (url: string, extraEnv: Record<string, string> = {}): Record<string, string> => ({
  LEDGER_URL: url,
  DATABASE_URL: database.url,
  INDEXER_START: 'genesis',
  ...extraEnv,
});

interface ParkedState {
  readonly checkpoint: number | null;
  readonly code: string;
  readonly message: string;
}

async function waitUntilParked(run: IndexerRun): Promise<ParkedState> {
  return waitFor(
    'the indexer parks',
    async () => {
      const { state, checkpoint, lastError } = await run.status();
      return state === 'parked' ? { checkpoint, ...(lastError as { code: string; message: string }) } : undefined;
    },
    60_000,
  );
}

const offsets = async (): Promise<readonly unknown[]> =>
  (await query(database.url, 'select "offset"::int from ledger.updates order by 1')).map((row) => row['offset']);

const create = (id: string, change: JsonRecord = {}): JsonRecord => ({
  CreatedEvent: frames.created({ contractId: id, offset: 3, ...change }),
});
const view = (frames.created()['interfaceViews'] as JsonRecord[])[0] ?? {};
const useContract = (nodeId: number): JsonRecord => ({
  ExercisedEvent: frames.exercised({ contractId: '00b', offset: 3, nodeId, consuming: false }),
});
/** Updates that contain a key twice, with the name of the key. */
const repeatedKeyUpdates = [
  ['contract id', [create('00x'), create('00x', { nodeId: 1 })], 'live'],
  ['node id', [useContract(4), useContract(4)], 'exercises'],
  ['interface view of a contract', [create('00x', { interfaceViews: [view, view] })], 'interface_views'],
] as const;

describe('an update with a duplicate key', () => {
  it.each(repeatedKeyUpdates)('parks the indexer with its offset and the key: %s', async (key, events, table) => {
    await using ledger = await scriptedLedger([
      validUpdates[0],
      validUpdates[1],
      frames.transaction(3, [...events]),
      validUpdates[3],
      validUpdates[4],
    ]);
    await using run = await runIndexer(env(ledger.url));
    const { checkpoint, code, message } = await waitUntilParked(run);
    expect({ checkpoint, code }).toEqual({ checkpoint: 2, code: 'DUPLICATE_KEY' });
    expect(message).toContain('update at offset 3: ');
    expect(message).toContain(`expected each ${key} once in an update, found one twice (table ${table}, constraint `);
    expect(run.log.join('')).not.toContain('another program');
    expect(await offsets()).toEqual([1, 2]);
  });

  it('is quarantined with INDEXER_QUARANTINE, and later updates are stored', async () => {
    const twice = frames.transaction(3, [useContract(4), useContract(4)]);
    await using ledger = await scriptedLedger([
      validUpdates[0],
      validUpdates[1],
      twice,
      validUpdates[3],
      validUpdates[4],
    ]);
    await using run = await runIndexer(env(ledger.url, { INDEXER_QUARANTINE: 'true' }));
    await run.reaches(5);
    expect(await offsets()).toEqual([1, 2, 4, 5]);
    const [row] = await query(
      database.url,
      `select "offset"::int, code, convert_from(frame, 'UTF8') as frame from ledger.quarantine`,
    );
    expect(row).toEqual({ offset: 3, code: 'DUPLICATE_KEY', frame: frames.text(twice) });
  });
});

describe('updates that cannot be converted to rows', () => {
  const beyond = (offset: number): JsonRecord =>
    frames.transaction(offset, [
      { ExercisedEvent: frames.exercised({ offset, consuming: false, lastDescendantNodeId: 3_000_000_000 }) },
    ]);
  const bad = [20, 21, 35];
  const all = Array.from({ length: 40 }, (_, index) => index + 1);
  const sent = all.map((offset) =>
    bad.includes(offset) ? beyond(offset) : frames.transaction(offset, [useContract(4)]),
  );

  it.each([1, 2])('are quarantined one by one, without other updates of the batch (concurrency %d)', async (lanes) => {
    await using ledger = await scriptedLedger(sent);
    const options = { INDEXER_QUARANTINE: 'true', INDEXER_WRITE_CONCURRENCY: String(lanes) };
    await using run = await runIndexer(env(ledger.url, options));
    await run.reaches(40);
    expect(await offsets()).toEqual(all.filter((offset) => !bad.includes(offset)));
    const aside = await query(database.url, `select "offset"::int, code from ledger.quarantine order by 1`);
    expect(aside).toEqual(bad.map((offset) => ({ offset, code: 'STORE_DATA_REFUSED' })));
  });

  it('park the indexer with the first offset, after earlier updates are stored', async () => {
    await using ledger = await scriptedLedger(sent);
    await using run = await runIndexer(env(ledger.url));
    const { checkpoint, code, message } = await waitUntilParked(run);
    expect({ checkpoint, code }).toEqual({ checkpoint: 19, code: 'STORE_DATA_REFUSED' });
    expect(message).toContain('update at offset 20: ');
    expect(await offsets()).toEqual(all.slice(0, 19));
  });
});

describe('rows after the checkpoint', () => {
  it('park the indexer with STORE_DUPLICATE and their offset, without quarantine', async () => {
    {
      await using first = await scriptedLedger(validUpdates.slice(0, 2));
      await using run = await runIndexer(env(first.url));
      await run.reaches(2);
    }
    await query(
      database.url,
      `insert into ledger.exercises select 3, 0, last_descendant_node_id, template_pk, choice_pk, parties_pk, consuming,
         acs_delta, contract_id, argument, result from ledger.exercises`,
    );
    await using ledger = await scriptedLedger(validUpdates);
    await using run = await runIndexer(env(ledger.url, { INDEXER_QUARANTINE: 'true' }));
    const { checkpoint, code, message } = await waitUntilParked(run);
    expect({ checkpoint, code }).toEqual({ checkpoint: 2, code: 'STORE_DUPLICATE' });
    expect(message).toContain('update at offset 3: expected no rows after the checkpoint, found some');
    expect(await query(database.url, `select from ledger.quarantine`)).toEqual([]);
  });
});

describe('a statement timeout', () => {
  /** Makes contracts with this id slow to store, as an update that is too large would be. */
  const slow = (id: string): Promise<unknown> =>
    query(
      database.url,
      `create function ledger.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(5); return new; end $$;
       create trigger slow before insert on ledger.contracts for each row when (ledger.id_text(new.contract_id) = '${id}') execute function ledger.slow()`,
    );

  it('parks the indexer with the offset of the slow update, without quarantine', async () => {
    {
      await using first = await scriptedLedger(validUpdates.slice(0, 1));
      await using run = await runIndexer(env(first.url));
      await run.reaches(1);
    }
    await slow('00c');
    await using ledger = await scriptedLedger(validUpdates);
    const options = { INDEXER_QUARANTINE: 'true', POSTGRES_STATEMENT_TIMEOUT: '1s' };
    await using run = await runIndexer(env(ledger.url, options));
    const { checkpoint, code, message } = await waitUntilParked(run);
    // Offset 2 was in the same batch and was stored without waiting.
    expect({ checkpoint, code }).toEqual({ checkpoint: 2, code: 'STORE_STATEMENT_TIMEOUT' });
    expect(message).toContain('update at offset 3: ');
    expect(await query(database.url, `select from ledger.quarantine`)).toEqual([]);
  });

  it('is retried, and updates are stored after its cause is removed', async () => {
    {
      await using first = await scriptedLedger(validUpdates.slice(0, 1));
      await using run = await runIndexer(env(first.url));
      await run.reaches(1);
    }
    await slow('00b');
    await using ledger = await scriptedLedger(validUpdates);
    await using run = await runIndexer(env(ledger.url, { POSTGRES_STATEMENT_TIMEOUT: '1s' }));
    await waitFor(
      'three batches have taken too long',
      () => (run.logged('store failed, trying again') >= 3 ? true : undefined),
      60_000,
    );
    await query(database.url, `drop trigger slow on ledger.contracts`);
    await run.reaches(5);
    expect(await offsets()).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('an invalid active-contracts entry', () => {
  const listed = (id: string, change: JsonRecord, synchronizerId = frames.here): JsonRecord =>
    frames.entry('JsActiveContract', {
      createdEvent: frames.created({ contractId: id, ...change }),
      synchronizerId,
      reassignmentCounter: 0,
    });

  async function seeded(entries: readonly JsonRecord[], tokens: boolean): Promise<ParkedState> {
    const answers: Record<string, object> = {
      '/v2/parties/participant-id': { participantId: 'p::1220' },
      '/v2/state/ledger-end': { offset: 50 },
      '/v2/state/latest-pruned-offsets': { participantPrunedUpToInclusive: 0 },
    };
    const ledger = await startFakeLedger({
      http: (request, response) => response.end(JSON.stringify(answers[request.url ?? ''] ?? {})),
      socket: (socket, request) => {
        const after = Number(/"streamContinuationToken":"(\d+)"/.exec(request)?.[1] ?? 0);
        entries.forEach((entry, at) => {
          const token = tokens ? String(at + 1) : null;
          if (at >= after) socket.send(frames.text({ ...entry, streamContinuationToken: token }));
        });
        socket.close(1000);
      },
    });
    try {
      const batches = { INDEXER_START: 'seed', INDEXER_BATCH_UPDATES: '3' };
      await using run = await runIndexer(env(ledger.url, batches));
      return await waitUntilParked(run);
    } finally {
      await ledger.stop();
    }
  }

  it.each([
    ['a list with continuation tokens', true],
    ['a list without continuation tokens', false],
  ])('parks the indexer with its number and contract if it occurs twice in %s', async (_what, tokens) => {
    // In releases without offsets, the contract looks the same on both synchronizers.
    const twice = [listed('00twice', { offset: null }), listed('00twice', { offset: null }, frames.there)];
    const many = [1, 2, 3, 4, 5, 6].map((at) => listed(`00${String(at)}`, { offset: at }));
    const entries = [
      ...many.slice(0, 3),
      ...twice.slice(0, 1),
      ...many.slice(3, 5),
      ...twice.slice(1),
      ...many.slice(5),
    ];
    const { checkpoint, code, message } = await seeded(entries, tokens);
    expect({ checkpoint, code }).toEqual({ checkpoint: null, code: 'DUPLICATE_KEY' });
    expect(message).toContain(
      'entry 7 of the active contracts at offset 50, contract 00twice: expected each node id once at an offset',
    );
  });

  it('parks the indexer with its number and contract if Postgres rejects one of its values', async () => {
    const bad = listed('00bad', { offset: 7, witnessParties: ['Eve\u0000'] });
    const { code, message } = await seeded([listed('001', { offset: 1 }), bad, listed('002', { offset: 2 })], true);
    expect(code).toBe('STORE_DATA_REFUSED');
    expect(message).toContain('entry 2 of the active contracts at offset 50, contract 00bad: ');
  });
});

describe('a key in two updates', () => {
  it('is accepted, because a contract may be assigned again', async () => {
    await using ledger = await scriptedLedger([validUpdates[0], move(2, '00a', '00b'), move(3, '00b', '00a')]);
    await using run = await runIndexer(env(ledger.url));
    await run.reaches(3);
    expect(await offsets()).toEqual([1, 2, 3]);
  });
});
