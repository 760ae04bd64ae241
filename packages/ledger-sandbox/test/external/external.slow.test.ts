/**
 * Submissions that external parties sign. Preparing a submission does not change the ledger. It is executed only with
 * the right signature, and only once.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDemoLedger } from '../../src/demo/demo-ledger.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { keys, onboard, signature } from './external-parties.ts';
import type { Keys } from './external-parties.ts';
import { valueAt, post } from '../server/sockets.ts';
import type { Answer } from '../server/sockets.ts';

let now = Date.UTC(2026, 7, 14);
let sandbox: Sandbox;
let alice: Keys;
beforeEach(async () => {
  now = Date.UTC(2026, 7, 14);
  sandbox = await startSandbox({ seed: 5, now: () => now });
  alice = keys();
});
afterEach(async () => {
  await sandbox.close();
});

const iou = (party: string): object => ({
  CreateCommand: {
    templateId: '#model-tests:Iou:Iou',
    createArguments: { issuer: party, owner: party, currency: 'USD', amount: '1', observers: [] },
  },
});

const preparation = (party: string, overrides: object = {}): object => ({
  commandId: 'c-1',
  commands: [iou(party)],
  actAs: [party],
  synchronizerId: '',
  packageIdSelectionPreference: [],
  ...overrides,
});

const prepare = (party: string, overrides: object = {}, url = sandbox.url): ReturnType<typeof post> =>
  post(url, '/v2/interactive-submission/prepare', preparation(party, overrides));

function executeBody(party: string, preparedResponse: Answer, signatures: unknown[], overrides: object = {}): object {
  return {
    preparedTransaction: preparedResponse['preparedTransaction'],
    hashingSchemeVersion: preparedResponse['hashingSchemeVersion'],
    partySignatures: { signatures: [{ party, signatures }] },
    submissionId: 's-1',
    deduplicationPeriod: { Empty: {} },
    ...overrides,
  };
}

const executePath = '/v2/interactive-submission/execute';
const hashOf = (preparedResponse: Answer): string => preparedResponse['preparedTransactionHash'] as string;

describe('a prepared submission', () => {
  it('contains the hash to sign and does not change the ledger', async () => {
    const party = await onboard(sandbox.url, alice);
    const end = sandbox.ledger.ledgerEnd();
    const { status, body } = await prepare(party, { verboseHashing: true });
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(
      'preparedTransaction preparedTransactionHash hashingSchemeVersion hashingDetails costEstimation'.split(' '),
    );
    expect(Buffer.from(hashOf(body), 'base64')).toHaveLength(32);
    expect(body['hashingSchemeVersion']).toBe('HASHING_SCHEME_VERSION_V2');
    expect(body['hashingDetails']).toContain(Buffer.from(hashOf(body), 'base64').toString('hex'));
    const cost = body['costEstimation'] as Record<string, number>;
    expect(cost['totalTrafficCostEstimation']).toBe(
      (cost['confirmationRequestTrafficCostEstimation'] ?? 0) +
        (cost['confirmationResponseTrafficCostEstimation'] ?? 0),
    );
    const plainCost = (await prepare(party, { estimateTrafficCost: { disabled: true } })).body;
    expect([plainCost['hashingDetails'], plainCost['costEstimation']]).toEqual([null, null]);
    expect(sandbox.ledger.ledgerEnd()).toBe(end);
  });

  it('does not change the next random number of the ledger', async () => {
    const plainSandbox = await startSandbox({ seed: 5, now: () => now });
    await prepare('bob::1220aa');
    const create = {
      kind: 'create',
      templateId: '#model-tests:Iou:Iou',
      argument: { amount: '1', issuer: 'b' },
    } as const;
    const run = (createIn: Sandbox): string =>
      createIn.ledger.submit({ commands: [create], actAs: ['b', ''], at: 1 }).updateId;
    expect(run(sandbox)).toBe(run(plainSandbox));
    await plainSandbox.close();
  });

  it('is refused with several commands, a failing command, or an unknown scheme', async () => {
    const party = await onboard(sandbox.url, alice);
    const largeTransaction = await prepare(party, { commands: [iou(party), iou(party)] });
    expect([largeTransaction.status, largeTransaction.body['code']]).toEqual([400, 'FAILED_TO_PREPARE_TRANSACTION']);
    const archive = { templateId: '#model-tests:Iou:Iou', contractId: '00ff', choice: 'Archive', choiceArgument: {} };
    expect((await prepare(party, { commands: [{ ExerciseCommand: archive }] })).body['code']).toBe(
      'CONTRACT_NOT_FOUND',
    );
    const unknown = await fetch(`${sandbox.url}/v2/interactive-submission/prepare`, {
      method: 'POST',
      body: JSON.stringify(preparation(party, { hashingSchemeVersion: 'V9' })),
    });
    expect([unknown.status, unknown.headers.get('content-type')]).toEqual([400, 'text/plain; charset=UTF-8']);
  });

  it('becomes a transaction with the signed hash', async () => {
    const party = await onboard(sandbox.url, alice);
    const { body: preparedResponse } = await prepare(party);
    const body = executeBody(party, preparedResponse, [signature(alice, hashOf(preparedResponse))]);
    const response = await post(sandbox.url, `${executePath}AndWaitForTransaction`, body);
    expect(response.status).toBe(200);
    expect(response.body['transaction']).toMatchObject({
      commandId: 'c-1',
      externalTransactionHash: Buffer.from(hashOf(preparedResponse), 'base64').toString('hex'),
      events: [{ CreatedEvent: { signatories: [party] } }],
    });
    const completions = await post(sandbox.url, '/v2/commands/completions?limit=1', { parties: [party] });
    expect(valueAt(completions.body, 0, 'completionResponse', 'Completion', 'value')).toMatchObject({
      commandId: 'c-1',
      submissionId: 's-1',
      updateId: valueAt(response.body, 'transaction', 'updateId'),
    });
  });

  it('can be executed with or without waiting, and is signed with the requested scheme', async () => {
    const party = await onboard(sandbox.url, alice);
    const thirdPreparation = (await prepare(party, { hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V3' })).body;
    expect(thirdPreparation['hashingSchemeVersion']).toBe('HASHING_SCHEME_VERSION_V3');
    const waitRequest = executeBody(party, thirdPreparation, [signature(alice, hashOf(thirdPreparation))]);
    expect(await post(sandbox.url, `${executePath}AndWait`, waitRequest)).toMatchObject({
      status: 200,
      body: { completionOffset: 2 },
    });
    const second = (await prepare(party, { commandId: 'c-2' })).body;
    const body = executeBody(party, second, [signature(alice, hashOf(second))]);
    expect(await post(sandbox.url, executePath, body)).toEqual({ status: 200, body: {} });
    expect(sandbox.ledger.ledgerEnd()).toBe(3);
  });
});

describe('the execution of a prepared submission', () => {
  it('is refused if the signature is wrong, missing or by another party, if the scheme differs, or if the bytes were changed', async () => {
    const party = await onboard(sandbox.url, alice);
    const mallory = keys();
    const otherParty = await onboard(sandbox.url, mallory);
    const { body: preparedResponse } = await prepare(party);
    const validSignature = signature(alice, hashOf(preparedResponse));
    const text = Buffer.from(preparedResponse['preparedTransaction'] as string, 'base64').toString();
    const changedTransaction = Buffer.from(text.replace('"amount":"1"', '"amount":"9"')).toString('base64');
    expect(changedTransaction).not.toBe(preparedResponse['preparedTransaction']);
    const bodies = [
      executeBody(party, preparedResponse, [signature(alice, Buffer.alloc(32).toString('base64'))]),
      executeBody(party, preparedResponse, [signature(mallory, hashOf(preparedResponse))]),
      executeBody(party, preparedResponse, [
        { ...signature(mallory, hashOf(preparedResponse)), signedBy: alice.fingerprint },
      ]),
      executeBody(party, preparedResponse, [{ ...validSignature, signedBy: mallory.fingerprint }]),
      executeBody(otherParty, preparedResponse, [signature(mallory, hashOf(preparedResponse))]),
      executeBody(party, preparedResponse, [validSignature], { hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V3' }),
      executeBody(party, { ...preparedResponse, preparedTransaction: changedTransaction }, [validSignature]),
    ];
    const end = sandbox.ledger.ledgerEnd();
    for (const body of bodies) {
      const response = await post(sandbox.url, executePath, body);
      expect([response.status, response.body['code']]).toEqual([400, 'FAILED_TO_EXECUTE_TRANSACTION']);
      expect(response.body['cause']).toContain('Received 0 valid signatures from distinct keys');
    }
    expect(sandbox.ledger.ledgerEnd()).toBe(end);
    expect((await post(sandbox.url, executePath, executeBody(party, preparedResponse, [validSignature]))).status).toBe(
      200,
    );
  });

  it('is refused if no preparation created the bytes, or if the submission id is missing', async () => {
    const party = await onboard(sandbox.url, alice);
    const { body: preparedResponse } = await prepare(party);
    const garbage = { ...preparedResponse, preparedTransaction: Buffer.from('garbage').toString('base64') };
    const response = await post(sandbox.url, executePath, executeBody(party, garbage, []));
    expect([response.status, response.body['code']]).toEqual([400, 'INVALID_ARGUMENT']);
    const anonymous = executeBody(party, preparedResponse, [], { submissionId: '' });
    expect((await post(sandbox.url, executePath, anonymous)).body['code']).toBe('MISSING_FIELD');
  });

  it('happens once, whatever the deduplication period is', async () => {
    const party = await onboard(sandbox.url, alice);
    const { body: preparedResponse } = await prepare(party);
    const period = { DeduplicationDuration: { value: { seconds: 1, nanos: 0 } } };
    const body = executeBody(party, preparedResponse, [signature(alice, hashOf(preparedResponse))], {
      deduplicationPeriod: period,
    });
    expect((await post(sandbox.url, `${executePath}AndWait`, body)).status).toBe(200);
    now += 60_000;
    const secondResponse = await post(sandbox.url, `${executePath}AndWait`, { ...body, submissionId: 's-2' });
    expect([secondResponse.status, secondResponse.body['code']]).toEqual([409, 'DUPLICATE_COMMAND']);
    expect(valueAt(secondResponse.body, 'context', 'existing_submission_id')).toBe('s-1');
  });

  it('is refused after the maximum record time, and one day after the preparation', async () => {
    const party = await onboard(sandbox.url, alice);
    const { body: limitedTransaction } = await prepare(party, { maxRecordTime: '2026-08-14T00:00:10Z' });
    const { body: unlimited } = await prepare(party, { commandId: 'c-2' });
    now += 11_000;
    const lateRequest = executeBody(party, limitedTransaction, [signature(alice, hashOf(limitedTransaction))]);
    expect((await post(sandbox.url, `${executePath}AndWait`, lateRequest)).body['code']).toBe('NOT_SEQUENCED_TIMEOUT');
    now += 24 * 3600 * 1000;
    const old = executeBody(party, unlimited, [signature(alice, hashOf(unlimited))]);
    expect((await post(sandbox.url, `${executePath}AndWait`, old)).body['cause']).toContain('24 hours');
  });

  it('is the only way to act as an external party', async () => {
    const party = await onboard(sandbox.url, alice);
    const body = { commands: [iou(party)], commandId: 'c-1', actAs: [party] };
    const response = await post(sandbox.url, '/v2/commands/submit-and-wait', body);
    expect([response.status, response.body['code']]).toEqual([
      400,
      'NO_SYNCHRONIZER_ON_WHICH_ALL_SUBMITTERS_CAN_SUBMIT',
    ]);
  });
});

describe('the demo ledger', () => {
  it('keeps external parties, their transactions and their completions after a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'external-'));
    const options = { seed: 5, updatesPerSecond: 0, journal: join(folder, 'journal') };
    const first = await startDemoLedger(options);
    const party = await onboard(first.url, alice);
    const { body: preparedResponse } = await prepare(party, {}, first.url);
    const body = executeBody(party, preparedResponse, [signature(alice, hashOf(preparedResponse))]);
    expect((await post(first.url, `${executePath}AndWait`, body)).status).toBe(200);
    expect((await post(first.url, `${executePath}AndWait`, body)).status).toBe(409);
    const completions = { parties: [party], beginExclusive: first.ledgerEnd() - 2 };
    const path = '/v2/commands/completions?limit=2';
    const stateBefore = [first.ledgerEnd(), await post(first.url, path, completions)];
    await first.close();
    const second = await startDemoLedger(options);
    expect([second.ledgerEnd(), await post(second.url, path, completions)]).toEqual(stateBefore);
    const { body: next } = await prepare(party, { commandId: 'c-2' }, second.url);
    const signedRequest = executeBody(party, next, [signature(alice, hashOf(next))]);
    expect((await post(second.url, `${executePath}AndWait`, signedRequest)).status).toBe(200);
    await second.close();
    await rm(folder, { recursive: true });
  });
});
