/** Lookups of one update and of one contract, and snapshots with incomplete reassignments. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { assign, assignAhead, unassign } from '../../src/ledger/reassignments.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { anyParty, valueAt, post, updateFormat } from '../server/sockets.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3 });
});
afterEach(async () => {
  await sandbox.close();
});

const effects = updateFormat('LEDGER_EFFECTS');

/** An Iou that alice issues to herself. */
function iou(ledger = sandbox.ledger): string {
  const argument = { issuer: 'alice', owner: 'alice', currency: 'USD', amount: '1.0', observers: ['bob'] };
  return ledger.create('#model-tests:Iou:Iou', argument, ['alice']).contractId;
}

/** The keys of the contract entries of a snapshot. */
async function snapshot(activeAtOffset: number): Promise<string[]> {
  const { body } = await post(sandbox.url, '/v2/state/active-contracts', { activeAtOffset, eventFormat: anyParty });
  return (body as unknown as object[]).map((entry) => Object.keys(valueAt(entry, 'contractEntry') as object)[0] ?? '');
}

describe('an update', () => {
  it('is found by its id, whatever its kind is, even if it was recorded', async () => {
    const contractId = iou();
    unassign(sandbox.ledger, contractId);
    const recordedUpdates = '{"update":{"Novelty":{"value":{"updateId":"1220aa","offset":9}}}}';
    sandbox.ledger.appendRaw(recordedUpdates);
    const { body } = await post(sandbox.url, '/v2/updates', {
      beginExclusive: 0,
      endInclusive: 9,
      updateFormat: effects,
    });
    for (const update of body as unknown as object[]) {
      const [kind = ''] = Object.keys(valueAt(update, 'update') as object);
      const updateId = valueAt(update, 'update', kind, 'value', 'updateId');
      const response = await post(sandbox.url, '/v2/updates/update-by-id', { updateId, updateFormat: effects });
      expect(response).toEqual({ status: 200, body: update });
    }
    expect(body).toHaveLength(3);
  });

  it('is not found by a removed id, by a part of its id, or with a format that hides it', async () => {
    iou();
    const { body } = await post(sandbox.url, '/v2/updates/update-by-offset', { offset: 1, updateFormat: effects });
    const updateId = valueAt(body, 'update', 'Transaction', 'value', 'updateId');
    const notFoundResponse = { status: 404, body: { code: 'UPDATE_NOT_FOUND' } };
    const lookUpUpdate = (id: unknown, format: unknown): Promise<unknown> =>
      post(sandbox.url, '/v2/updates/update-by-id', { updateId: id, updateFormat: format });
    expect(await lookUpUpdate(updateId, effects)).toMatchObject({ status: 200 });
    expect(await lookUpUpdate(updateId, { includeReassignments: anyParty })).toMatchObject(notFoundResponse);
    expect(await lookUpUpdate(String(updateId).slice(0, 10), effects)).toMatchObject(notFoundResponse);
    sandbox.ledger.pruneTo(1);
    expect(await lookUpUpdate(updateId, effects)).toMatchObject(notFoundResponse);
  });

  it('is found by the hash of its transaction since 3.6', async () => {
    await using newerSandbox = await startSandbox({ seed: 3, release: '3.6' });
    const hash = `1220${'ab'.repeat(32)}`;
    newerSandbox.ledger.append({
      Transaction: { value: { updateId: 'u1', externalTransactionHash: hash, events: eventsOfAlice() } },
    });
    const transactionHash = Buffer.from(hash, 'hex').toString('base64');
    const request = { transactionHash, updateFormat: effects };
    const response = await post(newerSandbox.url, '/v2/updates/update-by-hash', request);
    const value = valueAt(response.body, 'update', 'Transaction', 'value');
    expect(value).toMatchObject({ updateId: 'u1', transactionHash: hash, externalTransactionHash: hash });
    expect((await post(sandbox.url, '/v2/updates/update-by-hash', request)).status).toBe(404);
  });

  it('is returned as a bare transaction by the deprecated lookups', async () => {
    iou();
    const updateByOffset = await post(sandbox.url, '/v2/updates/transaction-by-offset', {
      offset: 1,
      requestingParties: ['bob'],
    });
    expect(valueAt(updateByOffset.body, 'transaction', 'events', 0, 'CreatedEvent', 'witnessParties')).toEqual(['bob']);
    const updateId = valueAt(updateByOffset.body, 'transaction', 'updateId');
    const request = { updateId, requestingParties: ['bob'] };
    expect(await post(sandbox.url, '/v2/updates/transaction-by-id', request)).toEqual(updateByOffset);
  });
});

function eventsOfAlice(): [{ CreatedEvent: never }] {
  const createdEvent = {
    contractId: '00aa',
    templateId: 'p:Iou:Iou',
    packageName: 'model-tests',
    signatories: ['alice'],
  };
  return [{ CreatedEvent: { ...createdEvent, witnessParties: ['alice'], observers: [] } as never }];
}

describe('a contract', () => {
  const path = '/v2/events/events-by-contract-id';

  it('has a create, later also an archive, and neither after both are pruned', async () => {
    const contractId = iou();
    const lookUpEvents = (eventFormat: unknown = anyParty): ReturnType<typeof post> =>
      post(sandbox.url, path, { contractId, eventFormat });
    const createdEvent = (await lookUpEvents()).body;
    expect(createdEvent['archived']).toBeNull();
    expect(valueAt(createdEvent, 'created', 'createdEvent', 'contractId')).toBe(contractId);
    expect(valueAt(createdEvent, 'created', 'synchronizerId')).toBe(sandbox.ledger.synchronizers[0].id);
    sandbox.ledger.pruneTo(1);
    expect((await lookUpEvents()).body).toEqual(createdEvent);
    sandbox.ledger.exercise(contractId, 'Archive', {}, ['alice']);
    const archivedEvent = valueAt((await lookUpEvents()).body, 'archived', 'archivedEvent');
    expect(Object.keys(archivedEvent as object)).toEqual([
      'offset',
      'nodeId',
      'contractId',
      'templateId',
      'witnessParties',
      'packageName',
      'implementedInterfaces',
    ]);
    const notFoundResponse = { status: 404, body: { code: 'CONTRACT_EVENTS_NOT_FOUND' } };
    expect(await lookUpEvents({ filtersByParty: { carol: {} } })).toMatchObject(notFoundResponse);
    sandbox.ledger.pruneTo(2);
    expect(await lookUpEvents()).toMatchObject(notFoundResponse);
  });

  it('has both events if it existed for a single transaction', async () => {
    const argument = { issuer: 'alice', owner: 'alice', currency: 'USD', amount: '1.0', observers: [] };
    const templateId = '#model-tests:Iou:Iou';
    const createdContract = {
      kind: 'create-and-exercise',
      templateId,
      argument,
      choice: 'Archive',
      choiceArgument: {},
    } as const;
    const { events } = sandbox.ledger.submit({ commands: [createdContract], actAs: ['alice'] });
    const contractId = valueAt(events, 0, 'CreatedEvent', 'contractId');
    const { body } = await post(sandbox.url, path, { contractId, eventFormat: anyParty });
    expect([
      valueAt(body, 'created', 'createdEvent', 'offset'),
      valueAt(body, 'archived', 'archivedEvent', 'offset'),
    ]).toEqual([1, 1]);
  });

  it('is returned with its payload to stakeholders, even after its archive', async () => {
    const contractId = iou();
    sandbox.ledger.exercise(contractId, 'Archive', {}, ['alice']);
    const lookUpContract = (queryingParties: string[]): ReturnType<typeof post> =>
      post(sandbox.url, '/v2/contracts/contract-by-id', { contractId, queryingParties });
    const response = await lookUpContract(['bob', 'carol']);
    expect(valueAt(response.body, 'createdEvent', 'createArgument', 'currency')).toBe('USD');
    expect(valueAt(response.body, 'createdEvent', 'witnessParties')).toEqual(['bob']);
    expect(await lookUpContract(['carol'])).toMatchObject({
      status: 404,
      body: { code: 'CONTRACT_PAYLOAD_NOT_FOUND' },
    });
  });
});

describe('a snapshot', () => {
  it('contains a contract between two synchronizers as incomplete, never as active', async () => {
    const reassignmentId = unassign(sandbox.ledger, iou());
    assign(sandbox.ledger, reassignmentId);
    expect(await snapshot(1)).toEqual(['JsActiveContract']);
    expect(await snapshot(2)).toEqual(['JsIncompleteUnassigned']);
    expect(await snapshot(3)).toEqual(['JsActiveContract']);
  });

  it('contains an assign that is visible before its unassign as incomplete, in addition to both activations', async () => {
    const contractId = iou();
    const completeUnassign = assignAhead(sandbox.ledger, contractId);
    expect(await snapshot(2)).toEqual(['JsActiveContract', 'JsActiveContract', 'JsIncompleteAssigned']);
    completeUnassign();
    expect(await snapshot(3)).toEqual(['JsActiveContract']);
    expect(await snapshot(2)).toEqual(['JsActiveContract', 'JsActiveContract', 'JsIncompleteAssigned']);
    const { body } = await post(sandbox.url, '/v2/state/active-contracts', {
      activeAtOffset: 2,
      eventFormat: anyParty,
    });
    const event = valueAt(body, 2, 'contractEntry', 'JsIncompleteAssigned', 'assignedEvent');
    expect(Object.keys(event as object)).toEqual([
      'source',
      'target',
      'reassignmentId',
      'submitter',
      'reassignmentCounter',
      'createdEvent',
    ]);
    expect(valueAt(event, 'createdEvent', 'offset')).toBe(2);
    sandbox.ledger.exercise(contractId, 'Archive', {}, ['alice']);
    expect(await snapshot(4)).toEqual([]);
  });
});
