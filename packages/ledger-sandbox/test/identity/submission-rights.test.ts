/** Rights to submit, prepare and execute, and the visibility of completions. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { token } from '../../../../test/support/tokens.ts';
import { call, refusedBody, sharedSigner, startSecured } from './callers.ts';
import type { ApiResponse } from './callers.ts';
import { keys, signature } from '../external/external-parties.ts';
import { valueAt } from '../server/sockets.ts';

const alice = 'Alice::1220aa';
const createArguments = { issuer: alice, owner: alice, currency: 'USD', amount: '1', observers: [] };
const commands = [{ CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } }];

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSecured({
    users: [
      { id: 'actor', rights: [{ kind: 'CanActAs', party: alice }] },
      { id: 'reader', rights: [{ kind: 'CanReadAs', party: alice }] },
      { id: 'executor', rights: [{ kind: 'CanExecuteAs', party: alice }] },
    ],
  });
});
afterEach(async () => {
  await sandbox.close();
});

/** Sends a request of a user. A response that is a list is parsed too. */
async function completionsAs(sub: string, request: string, body: object): Promise<ApiResponse> {
  const response = await call(sandbox.url, await token(sharedSigner, { sub }), request, body);
  return { ...response, body: JSON.parse(response.text) as unknown };
}

const submit = (sub: string, overrides: object = {}): Promise<ApiResponse> =>
  completionsAs(sub, 'POST /v2/commands/submit-and-wait', { commands, commandId: 'c-1', actAs: [alice], ...overrides });
const deniedResponse = { status: 403, body: { ...refusedBody, grpcCodeValue: 7 } };

describe('a user', () => {
  it('submits only under its own name, for parties that it may act as', async () => {
    expect(await submit('reader')).toMatchObject(deniedResponse);
    expect(await submit('actor', { readAs: ['Bob::1220aa'] })).toMatchObject(deniedResponse);
    expect(await submit('actor', { userId: 'reader' })).toMatchObject(deniedResponse);
    expect((await submit('actor')).status).toBe(200);
    const { body } = await completionsAs('actor', 'POST /v2/commands/completions?limit=1', { parties: [alice] });
    expect(valueAt(body, 0, 'completionResponse', 'Completion', 'value', 'userId')).toBe('actor');
  });

  it('reads only its own completions, for parties that it may read as', async () => {
    await submit('actor');
    const list = (sub: string, body: object): Promise<ApiResponse> =>
      completionsAs(sub, 'POST /v2/commands/completions?stream_idle_timeout_ms=10', body);
    expect(await list('executor', { parties: [alice] })).toMatchObject(deniedResponse);
    expect(await list('reader', { parties: [alice], userId: 'actor' })).toMatchObject(deniedResponse);
    expect(await list('reader', { parties: [alice] })).toMatchObject({ status: 200, body: [] });
    expect(await completionsAs('reader', 'POST /v2/commands/command-completions', {})).toMatchObject(deniedResponse);
    const completions = await completionsAs('reader', 'POST /v2/commands/command-completions?limit=1', {
      parties: [alice],
    });
    expect(valueAt(completions.body, 0, 'completionResponse', 'Completion', 'value', 'commandId')).toBe('c-1');
  });

  it('prepares transactions if it may read as the parties, and executes transactions if it may execute as the parties', async () => {
    const prepare = (sub: string): Promise<ApiResponse> =>
      completionsAs(sub, 'POST /v2/interactive-submission/prepare', {
        commands,
        commandId: 'c-1',
        actAs: [alice],
        synchronizerId: '',
        packageIdSelectionPreference: [],
      });
    expect(await prepare('executor')).toMatchObject(deniedResponse);
    const { status, body } = await prepare('reader');
    expect(status).toBe(200);
    const hash = valueAt(body, 'preparedTransactionHash') as string;
    const execute = (sub: string): Promise<ApiResponse> =>
      completionsAs(sub, 'POST /v2/interactive-submission/execute', {
        preparedTransaction: valueAt(body, 'preparedTransaction'),
        hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V2',
        partySignatures: { signatures: [{ party: alice, signatures: [signature(keys(), hash)] }] },
        submissionId: 's-1',
        deduplicationPeriod: { Empty: {} },
      });
    expect(await execute('reader')).toMatchObject(deniedResponse);
    expect(valueAt((await execute('executor')).body, 'code')).toBe('FAILED_TO_EXECUTE_TRANSACTION');
  });

  it('moves contracts of parties that it may act as', async () => {
    const [source, target] = sandbox.ledger.synchronizers.map(({ id }) => id);
    await submit('actor');
    const contractId = sandbox.ledger.create('#model-tests:Iou:Iou', createArguments, [alice]).contractId;
    const move = (sub: string): Promise<ApiResponse> =>
      completionsAs(sub, 'POST /v2/commands/async/submit-reassignment', {
        reassignmentCommands: {
          commandId: 'm-1',
          submitter: alice,
          commands: [{ command: { UnassignCommand: { value: { contractId, source, target } } } }],
        },
      });
    expect(await move('reader')).toMatchObject(deniedResponse);
    expect((await move('actor')).status).toBe(200);
  });
});
