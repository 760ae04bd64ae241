/**
 * Token events of `/changes` equal those of an independent model, over traffic of both versions of the token standard, with
 * projections filled and not filled.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { fillAll } from '../projections/projected.ts';
import { units } from '../read/tokens/token-books.ts';
import { tokenEvents } from '../../src/config/selection/event-names.ts';
import { listen, type ReceivedEvents } from './listener.ts';
import { expectedEvents, type ExpectedEvents } from './token-event-model.ts';

let sandbox: Sandbox;
let database: TestDatabase;
let indexer: IndexerRun;
let expected: ExpectedEvents;
beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 5, updates: 2_500 });
  archiveOpenRequests();
  database = await createTestDatabase();
  indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_START: 'genesis',
    LEDGER_INTERFACES: 'tokens',
    INDEXER_PROJECTIONS: 'off',
  });
  await indexer.reaches(sandbox.ledger.ledgerEnd());
  expected = expectedEvents(sandbox.ledger);
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
});

/** Archives every open transfer and allocation by its signatories, in turn after and before its deadline. */
function archiveOpenRequests(): void {
  const { ledger } = sandbox;
  const open = [...ledger.activeAt(ledger.ledgerEnd())].map(({ activation }) => activation.created);
  const requests = open.filter(({ templateId }) =>
    /:(?:\w*TransferInstruction|DepositTransfer|\w*Allocation)$/.test(templateId),
  );
  for (const [index, { contractId, signatories, createArgument }] of requests.entries()) {
    const [, deadline = ''] =
      /"(?:executeBefore|settleBefore|settlementDeadline)":"([^"]+)"/.exec(JSON.stringify(createArgument)) ?? [];
    const at = (Date.parse(deadline) + (index % 2 === 0 ? 1 : -1)) * 1_000;
    ledger.submit({
      actAs: signatories,
      commands: [{ kind: 'exercise', contractId, choice: 'Archive', argument: {} }],
      at,
    });
  }
}

interface TokenEvent {
  readonly event: string;
  readonly owner?: string;
  readonly sender?: string;
  readonly receiver?: string;
  readonly instrument_id: string;
  readonly amount: string;
}

function tokenEventsOf({ ids, data }: ReceivedEvents): readonly (TokenEvent & { readonly id: string })[] {
  return data.flatMap((change, index) =>
    (change['token_events'] as readonly TokenEvent[]).map((event) => ({ ...event, id: ids[index] ?? '' })),
  );
}

/** One line as in the model. */
function lineOf({ id, event, ...details }: TokenEvent & { readonly id: string }): string {
  const { owner = '', sender = '-', receiver = '-', amount } = details;
  if (event === 'holding.locked') return `${id} ${event} ${owner} ${amount}`;
  return `${id} ${event} ${event.startsWith('transfer') ? `${sender} ${receiver} ${amount}` : ''}`.trim();
}

async function receiveAll(parameters: string): Promise<ReceivedEvents> {
  const end = sandbox.ledger.ledgerEnd();
  const received = listen(`${indexer.httpUrl}/changes?after=0&until=${String(end)}&${parameters}`);
  await waitFor('the end', () => (received.ends.length > 0 ? true : undefined));
  received.close();
  return received;
}

function supplyOf(received: ReceivedEvents): ReadonlyMap<string, bigint> {
  const supply = new Map<string, bigint>();
  for (const { id, event, instrument_id: instrument, amount } of tokenEventsOf(received)) {
    const key = `${id.slice(0, id.indexOf('-'))} ${instrument}`;
    supply.set(key, (supply.get(key) ?? 0n) + (event === 'mint' ? units(amount) : -units(amount)));
  }
  return new Map([...supply].filter(([, change]) => change !== 0n));
}

/** Allocations have a token event for each leg, and are compared once. */
const linesOf = (received: ReceivedEvents): readonly string[] => [...new Set(tokenEventsOf(received).map(lineOf))];

const checkAll = async (): Promise<void> => {
  const requests = await receiveAll('event=transfer.*&event=allocation.*&event=holding.*');
  expect([...linesOf(requests)].sort()).toEqual([...new Set(expected.names)].sort());
  expect(new Set(requests.ids).size).toBe(requests.ids.length);
  expect(requests.ends).toEqual([expect.stringContaining('"reason":"complete"')]);
  expect(supplyOf(await receiveAll('event=mint&event=burn'))).toEqual(expected.supply);
};

describe('token events of /changes', () => {
  it('occur in the traffic, each of them', () => {
    const names = new Set(expected.names.map((line) => line.split(' ')[1] ?? ''));
    const others = new Set(['mint', 'burn']);
    expect(names).toEqual(new Set(tokenEvents.filter((name) => !others.has(name))));
    expect([...expected.supply.values()].filter((change) => change > 0n).length).toBeGreaterThan(5);
    expect([...expected.supply.values()].filter((change) => change < 0n).length).toBeGreaterThan(5);
  });

  it('equal the model while no projection is filled', checkAll);

  it('equal the model, whatever the projections contain', async () => {
    await fillAll(database.url, 300);
    await query(database.url, 'delete from ledger.projected_token_changes where true');
    await query(database.url, 'update ledger.projected_token_transfer_steps set amount = 1');
    await checkAll();
  });
});
