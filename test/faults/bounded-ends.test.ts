/**
 * Tests bounded runs whose end offset has no transaction. It has a topology update, a reassignment, a checkpoint, or no
 * update.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAccess } from '../../src/ledger/open-access.ts';
import { loadConfig } from '../../src/config/config.ts';
import { startIndexer } from '../../src/indexer/indexer.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import * as frames from '../support/frames.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';

const { here: homeSynchronizer, there: awaySynchronizer, created } = frames;

let sandbox: Sandbox;
let database: TestDatabase;

/**
 * Updates by offset: 1 creates a and b. 2 is a topology update. 3 unassigns a. 4 assigns a. 9 creates c. 10 is a
 * topology update. 11 archives b. There are no updates at 5 to 8 and 12 to 15. The ledger end is after 15.
 */
beforeEach(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  const { ledger } = sandbox;
  const creates = (offset: number, ...ids: readonly string[]): frames.JsonRecord => {
    const events = ids.map((contractId, nodeId) => ({
      CreatedEvent: created({ offset, nodeId, contractId, interfaceViews: [] }),
    }));
    return frames.transaction(offset, events);
  };
  // These updates are not appended raw, because raw updates are visible to every filter.
  const topology = (offset: number): number => ledger.append(frames.topology(offset)['update'] as never);
  const append = (frame: frames.JsonRecord): number => ledger.appendRaw(frames.text(frame));
  append(creates(1, 'a', 'b'));
  topology(2);
  append(
    frames.reassignment(
      3,
      { JsUnassignedEvent: { value: frames.unassigned({ offset: 3, contractId: 'a' }) } },
      homeSynchronizer,
    ),
  );
  const assignment = frames.assigned({ createdEvent: created({ offset: 4, contractId: 'a', interfaceViews: [] }) });
  append(frames.reassignment(4, { JsAssignmentEvent: assignment }, awaySynchronizer));
  ledger.skipOffsets(4);
  append(creates(9, 'c'));
  topology(10);
  const archives = frames.exercised({ offset: 11, nodeId: 0, contractId: 'b', choice: 'Archive', interfaceId: null });
  append(frames.transaction(11, [{ ExercisedEvent: archives }]));
  ledger.skipOffsets(4);
  database = await createMigratedDatabase();
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

/** Offsets and kinds of the appended updates. */
const history = [
  [1, 'transaction'],
  [2, 'topology'],
  [3, 'reassignment'],
  [4, 'reassignment'],
  [9, 'transaction'],
  [10, 'topology'],
  [11, 'transaction'],
] as const;

function activeAt(offset: number): readonly string[] {
  const a = offset < 3 ? ['a here'] : offset === 3 ? [] : ['a there'];
  return offset < 1 ? [] : [...a, ...(offset < 11 ? ['b here'] : []), ...(offset < 9 ? [] : ['c here'])];
}

/** Starts a bounded run inside the test process. Resolves when the run has ended without being stopped. */
async function runUpTo(
  stopAt: number,
  schema = 'ledger',
  extraEnv: Readonly<Record<string, string>> = {},
): Promise<void> {
  const env = {
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: schema,
    INDEXER_START: 'genesis',
    INDEXER_STOP_AT: String(stopAt),
    INDEXER_HTTP_PORT: '0',
    INDEXER_RETRY_MAX_DELAY: '200ms',
    ...extraEnv,
  };
  const config = loadConfig(env);
  const log: string[] = [];
  const logging = createLogger({ level: 'info', format: 'json', stream: { write: (line) => log.push(line) > 0 } });
  const access = await openAccess(config.ledger, new AbortController().signal);
  const { LEDGER_URL: ledgerUrl, DATABASE_URL: databaseUrl } = env;
  const indexer = await startIndexer({ config, access, ledgerUrl, databaseUrl, version: 'test', logging });
  let timer: NodeJS.Timeout | undefined;
  const neverResolves = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`the run up to ${String(stopAt)} did not end: ${log.slice(-3).join('')}`));
    }, 20_000);
  });
  try {
    await Promise.race([indexer.done, neverResolves]);
  } finally {
    clearTimeout(timer);
    await indexer.stop();
  }
  // An end offset without an update must not cause failures.
  expect(log.filter((line) => line.includes('"msg":"backing off"'))).toEqual([]);
}

/** Expects that exactly the history up to the offset is stored, and that the checkpoint is the offset. */
async function isStoredUpTo(offset: number): Promise<void> {
  const updates = await query(database.url, 'select "offset", kind from ledger.decoded_updates order by "offset"');
  expect(updates.map((row) => [Number(row['offset']), row['kind']])).toEqual(
    history.filter(([currentOffset]) => currentOffset <= offset),
  );
  const [stream] = await query(
    database.url,
    `select checkpoint::int, (select max(event_index) from ledger.topology_events where "offset" = 10) is not null as topology
       from ledger.stream`,
  );
  expect(stream).toEqual({ checkpoint: offset, topology: offset >= 10 });
  const activeRows = await query(
    database.url,
    `select contract_id || ' ' || split_part(synchronizer_id, '::', 1) as one
       from ledger.lifetimes join ledger.synchronizers using (synchronizer_pk)
      where deactivated_offset is null order by 1`,
  );
  expect(activeRows.map(({ one }) => one)).toEqual(activeAt(offset));
}

describe('a bounded run', () => {
  it.each([
    ['a topology update', 2],
    ['an unassign', 3],
    ['an assign', 4],
    ['an offset without an update', 6],
    ['the last offset before an update', 8],
    ['a topology update after a hole', 10],
    ['the ledger end without an update', 15],
  ])('stores all updates up to %s, and ends', async (_caseName, offset) => {
    await runUpTo(offset);
    await isStoredUpTo(offset);
  });

  it('changes nothing when it is repeated', async () => {
    await runUpTo(2);
    await runUpTo(2);
    await isStoredUpTo(2);
  });

  it('stores the same rows in several runs as in one run', async () => {
    for (const offset of [1, 2, 3, 4, 6, 9, 10, 15]) {
      await runUpTo(offset);
      await isStoredUpTo(offset);
    }
    await runUpTo(15, 'whole');
    expect(await digestOf(database.url, 'ledger')).toBe(await digestOf(database.url, 'whole'));
  });

  it.each([2, 10])('ends at offset %i, a topology update outside the filter', async (offset) => {
    const topologyEnv = { LEDGER_TOPOLOGY: 'false' };
    await runUpTo(offset, 'ledger', topologyEnv);
    const [stream] = await query(database.url, 'select checkpoint::int from ledger.stream');
    expect(stream).toEqual({ checkpoint: offset });
  });

  it('waits until the ledger end passes an end offset without an update', async () => {
    const whenIndexed = runUpTo(20);
    await waitFor('it waits', async () => {
      const rows = await query(database.url, 'select checkpoint from ledger.stream').catch(() => []);
      return Number(rows[0]?.['checkpoint']) === 15 ? true : undefined;
    });
    sandbox.ledger.skipOffsets(9);
    await whenIndexed;
    await isStoredUpTo(20);
  });
});
