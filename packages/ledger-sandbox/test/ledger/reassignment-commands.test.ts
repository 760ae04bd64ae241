/** Reassignment commands over HTTP: a contract leaves one synchronizer and arrives on the other. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { valueAt, post } from '../server/sockets.ts';

const alice = 'Alice::1220aa';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 5 });
});
afterEach(async () => {
  await sandbox.close();
});

type PostResult = ReturnType<typeof post>;

function createContract(): string {
  const payload = { issuer: alice, owner: alice, currency: 'USD', amount: '1', observers: [] };
  return sandbox.ledger.create('#model-tests:Iou:Iou', payload, [alice]).contractId;
}

describe('reassignment commands', () => {
  const submit = (command: object, commandId: string, eventFormat?: object): PostResult =>
    post(sandbox.url, '/v2/commands/submit-and-wait-for-reassignment', {
      reassignmentCommands: { commandId, submitter: alice, commands: [{ command }] },
      eventFormat,
    });

  it('move a contract to the other synchronizer', async () => {
    const contractId = createContract();
    const [source, target] = sandbox.ledger.synchronizers.map(({ id }) => id);
    const eventFormat = { filtersByParty: { [alice]: {} } };
    const unassignResponse = await submit(
      { UnassignCommand: { value: { contractId, source, target } } },
      'u-1',
      eventFormat,
    );
    expect(unassignResponse.status).toBe(200);
    const unassignedEvent = valueAt(unassignResponse.body, 'reassignment', 'events', 0, 'JsUnassignedEvent', 'value');
    expect(unassignedEvent).toMatchObject({ contractId, source, target, submitter: alice, reassignmentCounter: 1 });
    expect(unassignResponse.body['reassignment']).toMatchObject({ commandId: 'u-1', synchronizerId: source });
    const assign = {
      AssignCommand: { value: { reassignmentId: valueAt(unassignedEvent, 'reassignmentId'), source, target } },
    };
    const assignResponse = await submit(assign, 'a-1');
    expect(assignResponse.body['reassignment']).toMatchObject({ commandId: 'a-1', synchronizerId: target, events: [] });
    expect(sandbox.ledger.find(contractId)?.synchronizerId).toBe(target);
    expect((await submit(assign, 'a-2')).status).toBe(404);
  });

  it('are refused if source and target are the same, or if the contract is on another synchronizer', async () => {
    const contractId = createContract();
    const [source, target] = sandbox.ledger.synchronizers.map(({ id }) => id);
    const sameResponse = await submit({ UnassignCommand: { value: { contractId, source, target: source } } }, 'a');
    expect(sameResponse.body['cause']).toBe(
      `The submitted request has invalid arguments: Cannot unassign contract \`ContractId(${contractId})\`: source and target domains are the same`,
    );
    const unassignElsewhere = { UnassignCommand: { value: { contractId, source: target, target: source } } };
    expect((await submit(unassignElsewhere, 'b')).body['code']).toBe('INVALID_ARGUMENT');
    const asynchronous = await post(sandbox.url, '/v2/commands/async/submit-reassignment', {
      reassignmentCommands: {
        commandId: 'c',
        submitter: alice,
        commands: [{ command: { UnassignCommand: { value: { contractId, source, target } } } }],
      },
    });
    expect(asynchronous).toEqual({ status: 200, body: {} });
    expect(sandbox.ledger.find(contractId)).toBeUndefined();
  });
});
