/** Tokens of the participant: how long an answer is used, and when a stream ends. */
import { expect, it } from 'vitest';
import { nodeRights } from '../../src/model/push/node-rights.ts';
import { isJsonWebToken, NodeTokens, type AskNode, type NodeCaller } from '../../src/observe/http/node-tokens.ts';

const caller = (parties: readonly string[], validMs = 60_000): NodeCaller => ({
  user: 'alice',
  rights: nodeRights(parties, false),
  expiresAt: Date.now() + validMs,
});

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** An answer that can be replaced, and the number of requests for it. */
function participant(first: NodeCaller) {
  const state = { answer: first as Awaited<ReturnType<AskNode>> | 'silent', requests: 0 };
  const ask: AskNode = async () => {
    state.requests += 1;
    await after(5);
    const { answer } = state;
    return answer === 'silent' ? new Promise(() => undefined) : answer;
  };
  return { state, ask };
}

/** The reason for which a stream ends, and the time until then. */
async function endOf(tokens: NodeTokens, opened: NodeCaller): Promise<{ end: string; ms: number }> {
  const known = await tokens.check('token');
  if ('status' in known) throw new Error(known.error);
  expect(known.rights).toEqual(opened.rights);
  const startedAt = performance.now();
  const end = await new Promise<string>((resolve) => tokens.watch('token', known, resolve));
  return { end, ms: performance.now() - startedAt };
}

it('an answer is requested once for concurrent requests, and again after its time', async () => {
  const { state, ask } = participant(caller(['a']));
  const tokens = new NodeTokens(ask, 200);
  await Promise.all(Array.from({ length: 20 }, () => tokens.check('token')));
  await tokens.check('token');
  expect(state.requests).toBe(1);
  state.answer = { status: 401, error: 'refused' };
  expect(await tokens.check('token')).toMatchObject({ user: 'alice' });
  await after(220);
  expect(await tokens.check('token')).toEqual({ status: 401, error: 'refused' });
  expect(await tokens.check('token')).toEqual({ status: 401, error: 'refused' });
  expect(state.requests).toBe(3);
});

it('an answer is not used after the expiry of its token, or if it comes too late', async () => {
  const { ask } = participant(caller(['a'], 60));
  const tokens = new NodeTokens(ask, 10_000);
  expect(await tokens.check('token')).toMatchObject({ user: 'alice' });
  await after(80);
  expect(await tokens.check('token')).toMatchObject({ status: 503 });
  const late = new NodeTokens(async () => {
    await after(50);
    return caller(['a']);
  }, 20);
  expect(await late.check('token')).toMatchObject({ status: 503 });
});

it('at most a hundred tokens wait for an answer', async () => {
  const tokens = new NodeTokens(() => new Promise(() => undefined), 1_000);
  for (let index = 0; index < 100; index += 1) void tokens.check(`token-${String(index)}`);
  expect(await tokens.check('another')).toMatchObject({ status: 503 });
});

it.each([
  ['expired', () => caller(['a'], 150), undefined],
  ['changed', () => caller(['a']), caller(['a', 'b'])],
  ['changed', () => caller(['a']), caller([])],
  ['changed', () => caller(['a']), { ...caller(['a']), user: 'bob' }],
  ['revoked', () => caller(['a']), { status: 401, error: 'refused' }],
  ['revoked', () => caller(['a']), { status: 403, error: 'refused' }],
  ['unconfirmed', () => caller(['a']), { status: 503, error: 'unavailable' }],
  ['unconfirmed', () => caller(['a']), 'silent'],
] as const)('a stream ends as %s within the time of its answer', async (reason, makeCaller, next) => {
  const opened = makeCaller();
  const { state, ask } = participant(opened);
  const tokens = new NodeTokens(ask, 400);
  await tokens.check('token');
  if (next !== undefined) state.answer = next;
  const { end, ms } = await endOf(tokens, opened);
  expect(end).toBe(reason);
  expect(ms).toBeLessThan(600);
});

it('a stream stays open while its rights are confirmed, also after a failed request', async () => {
  const opened = caller(['a']);
  const { state, ask } = participant(opened);
  const tokens = new NodeTokens(ask, 600);
  const known = await tokens.check('token');
  if ('status' in known) throw new Error(known.error);
  let end: string | undefined;
  const stop = tokens.watch('token', known, (reason) => (end = reason));
  await after(360);
  state.answer = { status: 503, error: 'unavailable' };
  await after(120);
  state.answer = opened;
  await after(1_800);
  expect(end).toBeUndefined();
  const { requests } = state;
  stop();
  await after(900);
  expect(state.requests).toBe(requests);
  expect(end).toBeUndefined();
});

it('only texts with three parts are verified', () => {
  expect(['a.b.c', 'a.b.'].map(isJsonWebToken)).toEqual([true, true]);
  expect(['', 'lir_x', 'a.b', 'a.b.c.d.e', 'a.b.c d'].map(isJsonWebToken)).toEqual([false, false, false, false, false]);
});
