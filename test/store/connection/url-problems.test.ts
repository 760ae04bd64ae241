/**
 * A database URL that would not be parsed as the user intended is rejected before a connection is opened. The error
 * contains no part of the password.
 */
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { toIndexerError, type IndexerError } from '../../../src/errors/indexer-error.ts';
import { createTestDatabase } from '../../support/database.ts';

function urlProblem(url: string, schema = 'ledger'): IndexerError | undefined {
  try {
    void openDatabase({ url, schema, statementTimeoutMs: 1_000, applicationName: 'test' }).close();
    return undefined;
  } catch (error) {
    return toIndexerError(error);
  }
}

describe('database URL password without percent-encoding', () => {
  it.each(['p@ss/w:or#d%?&', 'Sec@ret9/abc', 'Sec/ret9', 'pa#ss', 'Sec?ret9', 'Sec/@ret9', 'a[b/c'])(
    'is rejected with an error that does not contain the password: %s',
    (password) => {
      const error = urlProblem(`postgres://pct:${password}@db.example:5432/ledger`);
      expect(error).toMatchObject({
        code: 'STORE_URL_INVALID',
        remedy: expect.stringMatching(/^percent-encode/) as unknown,
      });
      for (const secretPart of ['Sec', 'ret9', 'ss/w', 'pa#']) expect(error?.message).not.toContain(secretPart);
    },
  );

  it.each([
    'postgres://u:p%40ss%2Fw@db:5432/ledger',
    'postgres://u:p@ss@db/ledger',
    'postgres://u@h1:5432,h2:5433/ledger?sslmode=require',
    'postgres://u:p@[::1]:5432/ledger',
    'postgres:///ledger?host=/tmp&user=a@b',
    'postgresql://u@/ledger',
  ])('is not reported for %s', (url) => {
    expect(urlProblem(url)).toBeUndefined();
  });
});

it.each([
  ['postgres://u@::1:15432/db', /IPv6 address/, /write it as \[::1\]:5432/],
  ['postgres://u@db:0/db', /the port .* is not one of 1 to 65535/, /host:port/],
  [
    'postgres://u@db/db?sslmode=foo',
    /^sslmode .* unknown value/,
    /disable, prefer, require, verify-ca, verify-full, no-verify/,
  ],
  ['postgres://u@db/db?schema=public', /^schema .* is not read: the schema here is "ledger"/, /set POSTGRES_SCHEMA/],
  ['postgres://u@db/db?search_path=x', /^search_path .* is not read/, /set POSTGRES_SCHEMA/],
])('openDatabase() rejects %s', (url, message, remedy) => {
  expect(urlProblem(url)).toMatchObject({
    code: 'STORE_URL_INVALID',
    message: expect.stringMatching(message) as unknown,
    remedy: expect.stringMatching(remedy) as unknown,
  });
});

it('openDatabase() accepts a schema parameter equal to the configured schema', () => {
  expect(urlProblem('postgres://u@db/db?schema=ledger')).toBeUndefined();
});

it.each([
  [(name: string) => `${name}/`, /remove the slash at the end/],
  [(name: string) => name.toUpperCase(), /names in Postgres are case-sensitive/],
])('missing database is reported with its name and the likely mistake in the name', async (mistypedName, remedy) => {
  await using testDatabase = await createTestDatabase();
  const url = new URL(testDatabase.url);
  const name = mistypedName(url.pathname.slice(1));
  url.pathname = `/${name}`;
  const database = openDatabase({
    url: url.href,
    schema: 'ledger',
    statementTimeoutMs: 5_000,
    applicationName: 'test',
  });
  await expect(database.withClient((client) => client.query('select 1'))).rejects.toMatchObject({
    code: 'STORE_DATABASE_MISSING',
    message: expect.stringContaining(`"${name}"`) as unknown,
    remedy: expect.stringMatching(remedy) as unknown,
  });
  await database.close();
});
