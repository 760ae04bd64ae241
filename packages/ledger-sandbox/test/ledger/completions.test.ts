/**
 * Every submission of a user has a completion, whether it is accepted or refused. Completions are returned as a list
 * and as a stream.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { valueAt, post, stream } from '../server/sockets.ts';
import type { Answer } from '../server/sockets.ts';

const alice = 'Alice::1220aa';
const bank = 'Bank::1220aa';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 5, limits: { listWaitMs: 20 } });
});
afterEach(async () => {
  await sandbox.close();
});

const submit = (commandId: string, overrides: object = {}): ReturnType<typeof post> => {
  const createArguments = { issuer: alice, owner: alice, currency: 'USD', amount: '1', observers: [] };
  const command = { CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } };
  const body = { commands: [command], commandId, userId: 'app', actAs: [alice], ...overrides };
  return post(sandbox.url, '/v2/commands/submit-and-wait', body);
};

async function list(body: object, path = '/v2/commands/completions'): Promise<unknown[]> {
  const response = await post(sandbox.url, path, body);
  expect(response.status).toBe(200);
  return (response.body as unknown as unknown[]).map((completion) =>
    valueAt(completion, 'completionResponse', 'Completion', 'value'),
  );
}

describe('the completion of a submission', () => {
  it('repeats the submission, with the offset and the id of its update', async () => {
    const period = { DeduplicationDuration: { value: { seconds: 30, nanos: 0 } } };
    const { body } = await submit('c-1', { submissionId: 's-1', deduplicationPeriod: period });
    const [completion] = await list({ userId: 'app', parties: [alice] });
    expect(Object.keys(completion as object)).toEqual(
      'commandId status updateId userId actAs submissionId deduplicationPeriod traceContext offset synchronizerTime paidTrafficCost'.split(
        ' ',
      ),
    );
    const update = sandbox.ledger.range(0, 1, 1)[0]?.update;
    const transaction = valueAt(update, 'Transaction', 'value') as Answer;
    expect(completion).toMatchObject({
      commandId: 'c-1',
      status: { code: 0, message: '', details: [] },
      updateId: body['updateId'],
      userId: 'app',
      actAs: [alice],
      submissionId: 's-1',
      deduplicationPeriod: { DeduplicationOffset: { value: 0 } },
      traceContext: transaction['traceContext'],
      offset: body['completionOffset'],
      synchronizerTime: { synchronizerId: transaction['synchronizerId'], recordTime: transaction['recordTime'] },
    });
  });

  it('contains the reason why a duplicate was refused, and has a separate offset', async () => {
    const { body } = await submit('c-1', { submissionId: 's-1' });
    expect((await submit('c-1', { submissionId: 's-2' })).status).toBe(409);
    const completions = await list({ userId: 'app', parties: [alice] });
    expect(completions.map((completion) => valueAt(completion, 'submissionId'))).toEqual(['s-1', 's-2']);
    const refusedCompletion = completions[1];
    expect(valueAt(refusedCompletion, 'offset')).toBe((body['completionOffset'] as number) + 1);
    expect([valueAt(refusedCompletion, 'updateId'), valueAt(refusedCompletion, 'paidTrafficCost')]).toEqual(['', 0]);
    expect(valueAt(refusedCompletion, 'status', 'code')).toBe(6);
    expect(valueAt(refusedCompletion, 'status', 'message')).toMatch(/^DUPLICATE_COMMAND\(10,[0-9a-f]{8}\): /);
    const detail = valueAt(refusedCompletion, 'status', 'details', 0);
    expect(valueAt(detail, 'valueDecoded', 'reason')).toBe('DUPLICATE_COMMAND');
    const encodedDetail = Buffer.from(valueAt(detail, 'value') as string, 'base64').toString();
    expect(encodedDetail.slice(0, 19)).toBe('\n\u0011DUPLICATE_COMMAND');
    expect(encodedDetail).toContain('existing_submission_id\u0012\u0003s-1');
  });

  it('does not exist for a submission that cannot be interpreted', async () => {
    expect((await submit('c-1', { actAs: [bank] })).status).toBe(400);
    expect(await list({ userId: 'app', parties: [alice, bank] })).toEqual([]);
  });

  it('has a transaction hash in 3.6', async () => {
    await sandbox.close();
    sandbox = await startSandbox({ release: '3.6', limits: { listWaitMs: 20 } });
    await submit('c-1');
    expect(await list({ userId: 'app', parties: [alice] })).toMatchObject([{ transactionHash: null }]);
  });
});

describe('completions', () => {
  it('are visible to one user, for the requested parties, after an offset', async () => {
    await submit('c-1');
    await submit('c-2', { actAs: [alice, bank] });
    await submit('c-3', { userId: 'other' });
    const ids = async (body: object): Promise<unknown[]> =>
      (await list(body)).map((completion) => valueAt(completion, 'commandId'));
    expect(await ids({ userId: 'app', parties: [alice] })).toEqual(['c-1', 'c-2']);
    expect(await ids({ userId: 'app', parties: [bank] })).toEqual(['c-2']);
    expect(valueAt((await list({ userId: 'app', parties: [bank] }))[0], 'actAs')).toEqual([bank]);
    expect(await ids({ userId: 'app', parties: [alice], beginExclusive: 1 })).toEqual(['c-2']);
    expect(await ids({ userId: 'other', parties: [alice] })).toEqual(['c-3']);
    expect(await ids({ userId: 'nobody', parties: [alice] })).toEqual([]);
  });

  it('of any user are returned by command-completions, which does not exist in 3.4', async () => {
    await submit('c-1');
    await submit('c-2', { userId: 'other' });
    const completions = await list({}, '/v2/commands/command-completions');
    expect(completions.map((completion) => valueAt(completion, 'userId'))).toEqual(['app', 'other']);
    const olderSandbox = await startSandbox({ release: '3.4' });
    expect((await post(olderSandbox.url, '/v2/commands/command-completions', {})).status).toBe(404);
    await olderSandbox.close();
  });

  it.each([
    ['without a party', { parties: [] }, 'MISSING_FIELD'],
    ['with a negative offset', { parties: [alice], beginExclusive: -1 }, 'NEGATIVE_OFFSET'],
    ['after the ledger end', { parties: [alice], beginExclusive: 9 }, 'OFFSET_AFTER_LEDGER_END'],
    ['before the pruned offset', { parties: [alice], beginExclusive: 1 }, 'PARTICIPANT_PRUNED_DATA_ACCESSED'],
  ])('are refused %s', async (_, body, code) => {
    for (const commandId of ['a', 'b', 'c']) await submit(commandId);
    sandbox.ledger.pruneTo(2);
    const response = await post(sandbox.url, '/v2/commands/completions', { userId: 'app', ...body });
    expect([response.status, response.body['code']]).toEqual([400, code]);
    const { frames, code: close } = await stream(sandbox.url, '/v2/commands/completions', { userId: 'app', ...body });
    expect(frames.map((frame) => (JSON.parse(frame) as Answer)['code'])).toEqual([code]);
    expect(close).toBe(1000);
  });

  it('are streamed without end, with a checkpoint after the covered range', async () => {
    await submit('c-1');
    const { frames } = await stream(
      sandbox.url,
      '/v2/commands/completions',
      { userId: 'app', parties: [alice] },
      (completions) => {
        if (completions.length === 1) void submit('c-2');
        return completions.length >= 3;
      },
    );
    const parsedFrames = frames.map((frame) => JSON.parse(frame) as Answer);
    expect(
      parsedFrames
        .slice(0, 2)
        .map((completion) => valueAt(completion, 'completionResponse', 'Completion', 'value', 'commandId')),
    ).toEqual(['c-1', 'c-2']);
    const checkpoint = valueAt(parsedFrames[2], 'completionResponse', 'OffsetCheckpoint', 'value');
    expect(Object.keys(checkpoint as object)).toEqual(['offset', 'synchronizerTimes']);
    expect(valueAt(checkpoint, 'offset')).toBe(2);
    expect(valueAt(checkpoint, 'synchronizerTimes', 0, 'synchronizerId')).toBe(sandbox.ledger.synchronizers[0].id);
  });
});

describe('completion-by-hash', () => {
  it('finds the result of a signed transaction since 3.6, and nothing for another hash', async () => {
    await sandbox.close();
    sandbox = await startSandbox({ release: '3.6', limits: { listWaitMs: 20 } });
    const hash = `1220${'cd'.repeat(32)}`;
    const command = { kind: 'create', templateId: '#model-tests:Iou:Iou' } as const;
    const argument = { issuer: alice, owner: alice, currency: 'USD', amount: '1', observers: [] };
    const submission = { commands: [{ ...command, argument }], actAs: [alice], userId: 'app', externalHash: hash };
    sandbox.ledger.submit({ ...submission, commandId: 'c-1' });
    expect(() => sandbox.ledger.submit({ ...submission, commandId: 'c-2' })).toThrow();
    const path = '/v2/commands/completion-by-hash';
    const transactionHash = Buffer.from(hash, 'hex').toString('base64');
    const { status, body } = await post(sandbox.url, path, { transactionHash });
    expect(status).toBe(200);
    expect(valueAt(body, 'acceptedCompletion')).toMatchObject({ commandId: 'c-1', transactionHash: hash });
    expect(valueAt(body, 'lastRejectedCompletions')).toMatchObject([{ commandId: 'c-2', updateId: '' }]);
    const otherCompletions = await post(sandbox.url, path, { transactionHash: 'EiA=' });
    expect([otherCompletions.status, otherCompletions.body['code']]).toEqual([404, 'COMPLETION_NOT_FOUND']);
  });
});
