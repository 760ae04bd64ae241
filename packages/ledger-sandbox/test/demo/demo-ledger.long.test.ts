/** The ledger of the demo is unchanged after a restart. */
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDemoLedger, type DemoLedger } from '../../src/demo/demo-ledger.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-ledger-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const start = (): Promise<DemoLedger> =>
  startDemoLedger({ seed: 7, updatesPerSecond: 0, journal: join(folder, 'journal') });

async function post(url: string, path: string, body: object): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.text();
}

/** The last updates in the form in which the ledger prints them. */
function newestUpdateId(ledger: DemoLedger): Promise<string> {
  const wildcard = {
    cumulative: [{ identifierFilter: { WildcardFilter: { value: { includeCreatedEventBlob: false } } } }],
  };
  const eventFormat = { filtersByParty: {}, filtersForAnyParty: wildcard, verbose: false };
  return post(ledger.url, '/v2/updates', {
    beginExclusive: ledger.ledgerEnd() - 50,
    endInclusive: ledger.ledgerEnd(),
    updateFormat: {
      includeTransactions: { eventFormat, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' },
      includeReassignments: eventFormat,
    },
  });
}

describe('the demo ledger', () => {
  it('returns the same offsets and updates after a restart, including those of submitted commands', async () => {
    const first = await start();
    const owner = 'alice::1220aa';
    const submitResponse = await post(first.url, '/v2/commands/submit-and-wait', {
      commands: [
        {
          CreateCommand: {
            templateId: '#model-tests:Iou:Iou',
            createArguments: { issuer: owner, owner, amount: '1.0' },
          },
        },
      ],
      commandId: 'test',
      actAs: [owner],
    });
    const stateBefore = [first.ledgerEnd(), await newestUpdateId(first)];
    await first.close();
    const second = await start();
    const after = [second.ledgerEnd(), await newestUpdateId(second)];
    await second.close();
    expect(submitResponse).toContain('updateId');
    expect(after).toEqual(stateBefore);
  });

  it('drops a journal line that a crash truncated', async () => {
    const first = await start();
    const end = first.ledgerEnd();
    await first.close();
    await appendFile(join(folder, 'journal'), '{"step":17');
    const second = await start();
    expect(second.ledgerEnd()).toBe(end);
    await second.close();
  });
});

it.each([[{ reset: true }], [{ restore: { to: 2200 } }]])('continues to generate traffic after %j', async (action) => {
  const ledger = await startDemoLedger({ seed: 7, updatesPerSecond: 200, admin: true });
  try {
    const { ledgerEnd } = JSON.parse(await post(ledger.url, '/sandbox/ledger', action)) as { ledgerEnd: number };
    await expect.poll(() => ledger.ledgerEnd(), { timeout: 40_000 }).toBeGreaterThan(ledgerEnd + 200);
  } finally {
    await ledger.close();
  }
});
