/** Reassignment commands over HTTP: a contract leaves one synchronizer and arrives on the other. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { at, post } from '../server/sockets.ts';

const alice = 'Alice::1220aa';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 5 });
});
afterEach(async () => {
  await sandbox.close();
});

type Posted = ReturnType<typeof post>;

function created(): string {
  const payload = { issuer: alice, owner: alice, currency: 'USD', amount: '1', observers: [] };
  return sandbox.ledger.create('#model-tests:Iou:Iou', payload, [alice]).contractId;
}

describe('reassignment commands', () => {
  const submit = (command: object, commandId: string, eventFormat?: object): Posted =>
    post(sandbox.url, '/v2/commands/submit-and-wait-for-reassignment', {
      reassignmentCommands: { commandId, submitter: alice, commands: [{ command }] },
      eventFormat,
    });

  it('move a contract to the other synchronizer', async () => {
    const contractId = created();
    const [source, target] = sandbox.ledger.synchronizers.map(({ id }) => id);
    const eventFormat = { filtersByParty: { [alice]: {} } };
    const left = await submit({ UnassignCommand: { value: { contractId, source, target } } }, 'u-1', eventFormat);
    expect(left.status).toBe(200);
    const unassigned = at(left.body, 'reassignment', 'events', 0, 'JsUnassignedEvent', 'value');
    expect(unassigned).toMatchObject({ contractId, source, target, submitter: alice, reassignmentCounter: 1 });
    expect(left.body['reassignment']).toMatchObject({ commandId: 'u-1', synchronizerId: source });
    const assign = { AssignCommand: { value: { reassignmentId: at(unassigned, 'reassignmentId'), source, target } } };
    const arrived = await submit(assign, 'a-1');
    expect(arrived.body['reassignment']).toMatchObject({ commandId: 'a-1', synchronizerId: target, events: [] });
    expect(sandbox.ledger.find(contractId)?.synchronizerId).toBe(target);
    expect((await submit(assign, 'a-2')).status).toBe(404);
  });

  it('are refused if source and target are the same, or if the contract is on another synchronizer', async () => {
    const contractId = created();
    const [source, target] = sandbox.ledger.synchronizers.map(({ id }) => id);
    const same = await submit({ UnassignCommand: { value: { contractId, source, target: source } } }, 'a');
    expect(same.body['cause']).toBe(
      `The submitted request has invalid arguments: Cannot unassign contract \`ContractId(${contractId})\`: source and target domains are the same`,
    );
    const elsewhere = { UnassignCommand: { value: { contractId, source: target, target: source } } };
    expect((await submit(elsewhere, 'b')).body['code']).toBe('INVALID_ARGUMENT');
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
