/**
 * Every submission of a user has a completion, whether it is accepted or refused. Completions are returned as a list
 * and as a stream.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { at, post, stream } from '../server/sockets.ts';
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

const submit = (commandId: string, more: object = {}): ReturnType<typeof post> => {
  const createArguments = { issuer: alice, owner: alice, currency: 'USD', amount: '1', observers: [] };
  const command = { CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } };
  const body = { commands: [command], commandId, userId: 'app', actAs: [alice], ...more };
  return post(sandbox.url, '/v2/commands/submit-and-wait', body);
};

async function list(body: object, path = '/v2/commands/completions'): Promise<unknown[]> {
  const answer = await post(sandbox.url, path, body);
  expect(answer.status).toBe(200);
  return (answer.body as unknown as unknown[]).map((one) => at(one, 'completionResponse', 'Completion', 'value'));
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
    const transaction = at(update, 'Transaction', 'value') as Answer;
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
    expect(completions.map((one) => at(one, 'submissionId'))).toEqual(['s-1', 's-2']);
    const refused = completions[1];
    expect(at(refused, 'offset')).toBe((body['completionOffset'] as number) + 1);
    expect([at(refused, 'updateId'), at(refused, 'paidTrafficCost')]).toEqual(['', 0]);
    expect(at(refused, 'status', 'code')).toBe(6);
    expect(at(refused, 'status', 'message')).toMatch(/^DUPLICATE_COMMAND\(10,[0-9a-f]{8}\): /);
    const detail = at(refused, 'status', 'details', 0);
    expect(at(detail, 'valueDecoded', 'reason')).toBe('DUPLICATE_COMMAND');
    const encoded = Buffer.from(at(detail, 'value') as string, 'base64').toString();
    expect(encoded.slice(0, 19)).toBe('\n\u0011DUPLICATE_COMMAND');
    expect(encoded).toContain('existing_submission_id\u0012\u0003s-1');
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
    const ids = async (body: object): Promise<unknown[]> => (await list(body)).map((one) => at(one, 'commandId'));
    expect(await ids({ userId: 'app', parties: [alice] })).toEqual(['c-1', 'c-2']);
    expect(await ids({ userId: 'app', parties: [bank] })).toEqual(['c-2']);
    expect(at((await list({ userId: 'app', parties: [bank] }))[0], 'actAs')).toEqual([bank]);
    expect(await ids({ userId: 'app', parties: [alice], beginExclusive: 1 })).toEqual(['c-2']);
    expect(await ids({ userId: 'other', parties: [alice] })).toEqual(['c-3']);
    expect(await ids({ userId: 'nobody', parties: [alice] })).toEqual([]);
  });

  it('of any user are returned by command-completions, which does not exist in 3.4', async () => {
    await submit('c-1');
    await submit('c-2', { userId: 'other' });
    const all = await list({}, '/v2/commands/command-completions');
    expect(all.map((one) => at(one, 'userId'))).toEqual(['app', 'other']);
    const older = await startSandbox({ release: '3.4' });
    expect((await post(older.url, '/v2/commands/command-completions', {})).status).toBe(404);
    await older.close();
  });

  it.each([
    ['without a party', { parties: [] }, 'MISSING_FIELD'],
    ['with a negative offset', { parties: [alice], beginExclusive: -1 }, 'NEGATIVE_OFFSET'],
    ['after the ledger end', { parties: [alice], beginExclusive: 9 }, 'OFFSET_AFTER_LEDGER_END'],
    ['before the pruned offset', { parties: [alice], beginExclusive: 1 }, 'PARTICIPANT_PRUNED_DATA_ACCESSED'],
  ])('are refused %s', async (_, body, code) => {
    for (const commandId of ['a', 'b', 'c']) await submit(commandId);
    sandbox.ledger.pruneTo(2);
    const answer = await post(sandbox.url, '/v2/commands/completions', { userId: 'app', ...body });
    expect([answer.status, answer.body['code']]).toEqual([400, code]);
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
      (all) => {
        if (all.length === 1) void submit('c-2');
        return all.length >= 3;
      },
    );
    const parsed = frames.map((frame) => JSON.parse(frame) as Answer);
    expect(parsed.slice(0, 2).map((one) => at(one, 'completionResponse', 'Completion', 'value', 'commandId'))).toEqual([
      'c-1',
      'c-2',
    ]);
    const checkpoint = at(parsed[2], 'completionResponse', 'OffsetCheckpoint', 'value');
    expect(Object.keys(checkpoint as object)).toEqual(['offset', 'synchronizerTimes']);
    expect(at(checkpoint, 'offset')).toBe(2);
    expect(at(checkpoint, 'synchronizerTimes', 0, 'synchronizerId')).toBe(sandbox.ledger.synchronizers[0].id);
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
    expect(at(body, 'acceptedCompletion')).toMatchObject({ commandId: 'c-1', transactionHash: hash });
    expect(at(body, 'lastRejectedCompletions')).toMatchObject([{ commandId: 'c-2', updateId: '' }]);
    const other = await post(sandbox.url, path, { transactionHash: 'EiA=' });
    expect([other.status, other.body['code']]).toEqual([404, 'COMPLETION_NOT_FOUND']);
  });
});
