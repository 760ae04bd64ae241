/** Several hosts in one database URL. */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { HostList, databaseLabel, isSameDatabase, urlsOf } from '../../../src/store/connection/hosts.ts';
import { createTestDatabase } from '../../support/database.ts';

const unreachableError = new IndexerError('gone', { code: 'STORE_UNREACHABLE', retry: 'retry' });

describe('HostList', () => {
  it.each([
    ['postgres://u:p@h1:5432,h2:5433/db?a=b', ['postgres://u:p@h1:5432/db?a=b', 'postgres://u:p@h2:5433/db?a=b']],
    ['postgresql://h1,[::1]:5433/db', ['postgresql://h1/db', 'postgresql://[::1]:5433/db']],
    ['postgres://u:p,q@r@h1,h2', ['postgres://u:p,q@r@h1', 'postgres://u:p,q@r@h2']],
    ['postgres://u:p,q@h1:5432/db?x=a,b', ['postgres://u:p,q@h1:5432/db?x=a,b']],
    ['postgres://u@h1/db', ['postgres://u@h1/db']],
    ['postgres://u@h1/db?sslrootcert=system', ['postgres://u@h1/db?sslmode=verify-full']],
    [
      'postgres://u@h1/db?sslmode=require&sslrootcert=system&a=b',
      ['postgres://u@h1/db?sslmode=require&sslmode=verify-full&a=b'],
    ],
    ['postgres://u@h1/db?sslrootcert=system.pem', ['postgres://u@h1/db?sslrootcert=system.pem']],
  ])('parses %s into one URL per host', (url, urls) => {
    expect(urlsOf(url)).toEqual(urls);
  });

  it('advances once per failed host for any number of callers, and wraps around', () => {
    const hosts = new HostList('postgres://h1,h2/db');
    expect(hosts.moveOn(unreachableError, 0)).toBe(true);
    expect(hosts.moveOn(unreachableError, 0)).toBe(true);
    expect(hosts.url()).toBe('postgres://h2/db');
    hosts.moveOn(unreachableError, 1);
    expect(hosts.url()).toBe('postgres://h1/db');
  });

  it('keeps the host after an unrelated error, and detects clients of a previous host', () => {
    const hosts = new HostList('postgres://h1,h2/db');
    const client = new Client(hosts.url());
    hosts.note(client);
    expect(hosts.moveOn(new IndexerError('x', { code: 'STORE_LOCKED', retry: 'retry' }), 0)).toBe(false);
    expect(hosts.isCurrent(client)).toBe(true);
    hosts.moveOn(unreachableError, 0);
    expect(hosts.isCurrent(client)).toBe(false);
  });
});

describe('database label', () => {
  it.each([
    ['postgres://u:p@localhost/db', 'postgres://v@127.0.0.1:5432/db', true],
    ['postgres://u@[::1]:5432/db', 'postgres://u@localhost/db', true],
    ['postgres://u@DB.example.com/db', 'postgres://u@db.example.com:5432/db', true],
    ['postgres://u@localhost:5433/db', 'postgres://u@localhost/db', false],
    ['postgres://u@localhost/db', 'postgres://u@localhost/other', false],
    ['postgres://u@h1,h2/db', 'postgres://u@h1:5432,h2:5432/db', true],
    ['postgres://u@h1,h2/db', 'postgres://u@h1/db', false],
  ])('is equal for %s and %s: %s', (firstUrl, otherUrl, isSame) => {
    expect(isSameDatabase(databaseLabel(firstUrl), databaseLabel(otherUrl))).toBe(isSame);
  });
});

describe('database URL with several hosts', () => {
  it('connects to the first host that responds, and fails if no host responds', async () => {
    await using testDatabase = await createTestDatabase();
    const { host } = new URL(testDatabase.url);
    const openHosts = (hosts: string) =>
      openDatabase({
        url: testDatabase.url.replace(host, hosts),
        schema: 'public',
        statementTimeoutMs: 5_000,
        applicationName: 'test',
      });
    const hostsDatabase = openHosts(`127.0.0.1:9,${host}`);
    expect((await hostsDatabase.withClient((client) => client.query('select 1'))).rowCount).toBe(1);
    await hostsDatabase.close();
    const unreachableHosts = openHosts('127.0.0.1:9,127.0.0.1:10');
    await expect(unreachableHosts.withClient((client) => client.query('select 1'))).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
    });
    await unreachableHosts.close();
  });
});
