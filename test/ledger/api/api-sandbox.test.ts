/** The client and the sandbox implement the protocol independently. In these tests they communicate over HTTP. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLedgerClient, type LedgerClient } from '../../../src/ledger/api/client.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { decodeActiveContract, decodeUpdate } from '../../support/wire/decode.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import { collect } from '../../support/all.ts';

let sandbox: Sandbox;
let client: LedgerClient;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 11 });
  generateHistory(sandbox.ledger, { seed: 2, updates: 60 });
  const tokenSource = createTokenSource({});
  client = createLedgerClient({ url: sandbox.url, tokenSource, insecure: false, requestTimeoutMs: 5000 });
});
afterEach(async () => {
  await sandbox.close();
});

const anyParty = { filtersByParty: {}, filtersForAnyParty: {} };
const updateFormat = {
  includeTransactions: { eventFormat: anyParty, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' },
  includeReassignments: anyParty,
};

describe('ledger client with the sandbox', () => {
  it('reads the version, readiness, ids and state of the node', async () => {
    expect((await client.node.version()).version).toMatch(/^3\./u);
    await client.node.livez();
    expect(await client.node.readyz()).toContain('readyz check passed');
    expect(await client.parties.participantId()).toBe(sandbox.participantId);
    expect((await client.parties.list()).partyDetails.length).toBeGreaterThan(1);
    expect((await client.packages.list()).length).toBeGreaterThan(1);
    expect(await client.state.latestPrunedOffsets()).toBe(0);
    expect((await client.state.connectedSynchronizers())[0]?.synchronizerId).toContain('::');
    expect(await client.state.ledgerEnd()).toBe(sandbox.ledger.ledgerEnd());
  });

  it('lists updates and active contracts that the decoders accept', async () => {
    const end = await client.state.ledgerEnd();
    const request = { beginExclusive: 0, endInclusive: end, updateFormat };
    const updates = (await collect(client.updates.list(request, { limit: 40 }))).map((text) => decodeUpdate(text));
    expect(updates).toHaveLength(40);
    const entries = await collect(client.state.activeContracts({ activeAtOffset: end, eventFormat: anyParty }));
    expect(entries.map((text) => decodeActiveContract(text)).length).toBeGreaterThan(3);
    expect(await collect(client.state.activeContracts({ activeAtOffset: 0, eventFormat: anyParty }))).toEqual([]);
  });

  it('rejects a list that is longer than the node permits or begins after the ledger end', async () => {
    generateHistory(sandbox.ledger, { seed: 3, updates: 300 });
    const oversizedList = collect(client.updates.list({ beginExclusive: 0, updateFormat }));
    await expect(oversizedList).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID', facts: { httpStatus: 413 } });
    const beginExclusive = (await client.state.ledgerEnd()) + 5;
    const lateUpdates = collect(client.updates.list({ beginExclusive, updateFormat }));
    await expect(lateUpdates).rejects.toMatchObject({ code: 'LEDGER_OFFSET_AFTER_END' });
  });

  it('submits commands and reads their update by offset and by id', async () => {
    const { partyDetails } = await client.parties.list();
    const party = partyDetails[0]?.party ?? '';
    const createArguments = { issuer: party, owner: party, currency: 'USD', amount: '1.0', observers: [] };
    const command = { CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } };
    const commands = { commands: [command], actAs: [party], userId: 'tester' };
    const submitResult = await client.commands.submitAndWait({ ...commands, commandId: 'one' });
    const updateByOffset = await client.updates.byOffset(submitResult.completionOffset, updateFormat);
    expect(updateByOffset?.update?.Transaction?.value).toMatchObject({ updateId: submitResult.updateId });
    expect(await client.updates.byId(submitResult.updateId, updateFormat)).toEqual(updateByOffset);
    const transaction = await client.commands.submitAndWaitForTransaction({ ...commands, commandId: 'two' });
    expect(transaction.events?.[0]?.CreatedEvent?.createArgument).toMatchObject({ currency: 'USD' });
    await client.commands.submit({ ...commands, commandId: 'three' });
    expect(await client.updates.byOffset(submitResult.completionOffset + 1000, updateFormat)).toBeUndefined();
  });
});
