/** Long party lists: a small heap is enough to store new lists and to load stored ones. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { startDaemon } from '../../e2e/runs/daemon.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { created, transaction } from '../../support/frames.ts';
import { waitFor } from '../../support/wait-for.ts';

const updates = 8;
const observers = 40_000;

let database: TestDatabase;
let sandbox: Sandbox;
beforeEach(async () => {
  database = await createTestDatabase();
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

/** Appends a contract with many observers that no other contract has. Returns its offset. */
function append(count: number): number {
  const offset = sandbox.ledger.ledgerEnd() + 1;
  const event = created({
    offset,
    nodeId: 0,
    contractId: `00${String(offset)}`,
    interfaceViews: [],
    observers: Array.from({ length: count }, (_, index) => `p${String(offset)}-${String(index)}::1220`),
  });
  sandbox.ledger.appendRaw(transaction(offset, [{ CreatedEvent: event }]));
  return offset;
}

/** Runs an indexer with a small heap until it has stored an offset. Resolves to the failure or to `stored`. */
async function runUntilOffset(offset: number): Promise<string> {
  const env = { INDEXER_START: 'genesis', NODE_OPTIONS: '--max-old-space-size=104' };
  await using daemon = startDaemon({ ledgerUrl: sandbox.url, databaseUrl: database.url, schema: 'ledger', env });
  const readStored = async (): Promise<string | undefined> => {
    const exit = daemon.exit();
    if (exit !== undefined) return `ended by ${String(exit.code ?? exit.signal)}: ${daemon.output().slice(-500)}`;
    const rows = await query(database.url, 'select checkpoint from ledger.stream').catch(() => []);
    return Number(rows[0]?.['checkpoint']) >= offset ? 'stored' : undefined;
  };
  return await waitFor('the offset to be stored', readStored, 120_000);
}

it('many long party lists neither crash the indexer nor prevent a restart', { timeout: 300_000 }, async () => {
  let end = 0;
  for (let update = 0; update < updates; update += 1) end = append(observers);
  expect(await runUntilOffset(end)).toBe('stored');
  expect(await runUntilOffset(append(1))).toBe('stored');
  const [row] = await query(database.url, 'select max(cardinality(observers)) as most from ledger.contract_parties');
  expect(row).toEqual({ most: observers });
});
