/** Lookups of reader tokens. Waiting requests share one read of the table, and each watcher is notified once. */
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { ReaderTokens, type ReadTokens } from '../../src/observe/http/reader-tokens.ts';
import { hashOf, newToken, type ReaderToken } from '../../src/reader-token.ts';

const requestWithToken = (authorization: string) => ({ headers: { authorization } }) as IncomingMessage;

/** A table with changeable rows that counts its reads. */
function table() {
  const rows = new Map<string, ReaderToken>();
  const facts = { reads: 0, together: 0 };
  const readTokens: ReadTokens = async (hashes) => {
    facts.reads += 1;
    facts.together = Math.max(facts.together, hashes.length);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return rows;
  };
  return { rows, facts, read: readTokens };
}

function addValidToken(rows: Map<string, ReaderToken>): string {
  const token = newToken();
  rows.set(hashOf(token).toString('hex'), { id: '1', role: 'reader', login: 'login', ended: undefined });
  return token;
}

it('the token lookup reads the table only twice for 600 invalid tokens and a valid one', async () => {
  const { rows, facts, read: readTokens } = table();
  const tokens = new ReaderTokens(readTokens, 5);
  const token = addValidToken(rows);
  const guessedChecks = Array.from({ length: 600 }, () => tokens.check(requestWithToken(`Bearer ${newToken()}`)));
  const tokenCheck = await tokens.check(requestWithToken(`bearer ${token}`));
  expect(tokenCheck).toMatchObject({ token: { role: 'reader' }, secret: token });
  for (const refusedCheck of await Promise.all(guessedChecks)) expect(refusedCheck).toMatchObject({ status: 401 });
  expect(facts.reads).toBe(2);
  expect(facts.together).toBeGreaterThan(500);
  tokens.close();
});

it('the token lookup returns 401 to malformed tokens without a read, and 503 if too many wait', async () => {
  const { facts, read: readTokens } = table();
  const tokens = new ReaderTokens(readTokens, 5);
  for (const text of ['', 'Bearer', 'Bearer x', `Bearer ${newToken()}x`, `Basic ${newToken()}`, newToken()]) {
    expect(await tokens.check(requestWithToken(text))).toMatchObject({ status: 401 });
  }
  expect(facts.reads).toBe(0);
  const manyChecks = await Promise.all(
    Array.from({ length: 1_500 }, () => tokens.check(requestWithToken(`Bearer ${newToken()}`))),
  );
  expect(
    manyChecks.filter((result) => result !== undefined && 'status' in result && result.status === 503).length,
  ).toBeGreaterThan(0);
  tokens.close();
});

it('the token lookup returns 503 while the table is unreadable, and recovers afterwards', async () => {
  const { rows, read: readTokens } = table();
  let isUnreachable = true;
  const errors: unknown[] = [];
  const readUnlessAway: ReadTokens = (hashes) =>
    isUnreachable ? Promise.reject(new Error('away')) : readTokens(hashes);
  const tokens = new ReaderTokens(readUnlessAway, 5, (error) => errors.push(error));
  const token = addValidToken(rows);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    expect(await tokens.check(requestWithToken(`Bearer ${token}`))).toMatchObject({ status: 503 });
  }
  isUnreachable = false;
  expect(await tokens.check(requestWithToken(`Bearer ${token}`))).toMatchObject({ secret: token });
  isUnreachable = true;
  expect(await tokens.check(requestWithToken(`Bearer ${token}`))).toMatchObject({ status: 503 });
  // Each failure is counted, and logged once until the table can be read again.
  expect([tokens.failures, errors]).toEqual([3, [new Error('away'), new Error('away')]]);
  tokens.close();
});

it('the token lookup notifies each current watcher once, and no removed watcher', async () => {
  const { rows, facts, read: readTokens } = table();
  const tokens = new ReaderTokens(readTokens, 5);
  const token = addValidToken(rows);
  const notifications: string[] = [];
  const first = new Promise<void>((resolve) => {
    tokens.watch(token, (end) => {
      notifications.push(`first ${end}`);
      resolve();
    });
  });
  tokens.watch(token, (end) => notifications.push(`left ${end}`))();
  rows.set(hashOf(token).toString('hex'), { id: '1', role: 'reader', login: 'login', ended: 'expired' });
  await first;
  expect(notifications).toEqual(['first expired']);
  expect(facts).toMatchObject({ reads: 1, together: 1 });
  tokens.close();
});
