/** Lookups of reader tokens. Waiting requests share one read of the table, and each watcher is notified once. */
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { ReaderTokens, type ReadTokens } from '../../src/observe/http/reader-tokens.ts';
import { hashOf, newToken, type ReaderToken } from '../../src/reader-token.ts';

const showing = (authorization: string) => ({ headers: { authorization } }) as IncomingMessage;

/** A table with changeable rows that counts its reads. */
function table() {
  const rows = new Map<string, ReaderToken>();
  const facts = { reads: 0, together: 0 };
  const read: ReadTokens = async (hashes) => {
    facts.reads += 1;
    facts.together = Math.max(facts.together, hashes.length);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return rows;
  };
  return { rows, facts, read };
}

function good(rows: Map<string, ReaderToken>): string {
  const token = newToken();
  rows.set(hashOf(token).toString('hex'), { id: '1', role: 'reader', login: 'login', ended: undefined });
  return token;
}

it('the token lookup reads the table only twice for 600 invalid tokens and a valid one', async () => {
  const { rows, facts, read } = table();
  const tokens = new ReaderTokens(read, 5);
  const token = good(rows);
  const guesses = Array.from({ length: 600 }, () => tokens.check(showing(`Bearer ${newToken()}`)));
  const found = await tokens.check(showing(`bearer ${token}`));
  expect(found).toMatchObject({ token: { role: 'reader' }, secret: token });
  for (const refused of await Promise.all(guesses)) expect(refused).toMatchObject({ status: 401 });
  expect(facts.reads).toBe(2);
  expect(facts.together).toBeGreaterThan(500);
  tokens.close();
});

it('the token lookup returns 401 to malformed tokens without a read, and 503 if too many wait', async () => {
  const { facts, read } = table();
  const tokens = new ReaderTokens(read, 5);
  for (const text of ['', 'Bearer', 'Bearer x', `Bearer ${newToken()}x`, `Basic ${newToken()}`, newToken()]) {
    expect(await tokens.check(showing(text))).toMatchObject({ status: 401 });
  }
  expect(facts.reads).toBe(0);
  const many = await Promise.all(Array.from({ length: 1_500 }, () => tokens.check(showing(`Bearer ${newToken()}`))));
  expect(
    many.filter((result) => result !== undefined && 'status' in result && result.status === 503).length,
  ).toBeGreaterThan(0);
  tokens.close();
});

it('the token lookup returns 503 while the table is unreadable, and recovers afterwards', async () => {
  const { rows, read } = table();
  let isAway = true;
  const errors: unknown[] = [];
  const readOrFail: ReadTokens = (hashes) => (isAway ? Promise.reject(new Error('away')) : read(hashes));
  const tokens = new ReaderTokens(readOrFail, 5, (thrown) => errors.push(thrown));
  const token = good(rows);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    expect(await tokens.check(showing(`Bearer ${token}`))).toMatchObject({ status: 503 });
  }
  isAway = false;
  expect(await tokens.check(showing(`Bearer ${token}`))).toMatchObject({ secret: token });
  isAway = true;
  expect(await tokens.check(showing(`Bearer ${token}`))).toMatchObject({ status: 503 });
  // Each failure is counted, and logged once until the table can be read again.
  expect([tokens.failures, errors]).toEqual([3, [new Error('away'), new Error('away')]]);
  tokens.close();
});

it('the token lookup notifies each current watcher once, and no removed watcher', async () => {
  const { rows, facts, read } = table();
  const tokens = new ReaderTokens(read, 5);
  const token = good(rows);
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
