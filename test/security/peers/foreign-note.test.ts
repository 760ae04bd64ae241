/** The note file of a running demo may come from an untrusted project. The ledger in that file receives no token. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { programInProcess } from '../../cli/in-process.ts';
import type { ProcessResult } from '../../cli/program.ts';

let folder: string;
let listener: Server;
let receivedHeaders: IncomingHttpHeaders[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-cloned-'));
  await mkdir(join(folder, '.ledger-indexer'));
  receivedHeaders = [];
  listener = createServer((request, response) => {
    receivedHeaders.push(request.headers);
    response.setHeader('content-type', 'application/json').end('{"offset":7}');
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  listener.closeAllConnections();
  await new Promise((resolve) => listener.close(resolve));
  await rm(folder, { recursive: true });
});

const ledgerUrl = (): string => `http://127.0.0.1:${String((listener.address() as AddressInfo).port)}`;

async function writeForeignNote(change: object = {}, mode = 0o600, name = 'running.json'): Promise<void> {
  const foreignNoteFields = {
    pid: process.ppid,
    httpUrl: ledgerUrl(),
    ledgerUrl: ledgerUrl(),
    database: '127.0.0.1:9/ledger',
    schema: 'ledger',
    embeddedLedger: true,
    embeddedDatabase: false,
    live: true,
    ...change,
  };
  await writeFile(join(folder, '.ledger-indexer', name), JSON.stringify(foreignNoteFields), { mode });
}

/** Runs `ledger end` with a database URL and a ledger token, as a user in that project would. */
const ledgerEnd = (...flags: readonly string[]): Promise<ProcessResult> =>
  programInProcess(
    ['ledger', 'end', ...flags],
    { DATABASE_URL: 'postgres://me@127.0.0.1:9/ledger', LEDGER_TOKEN: 'victims-ledger-token' },
    folder,
  );

it('a note file that other users can read is ignored', async () => {
  await writeForeignNote({}, 0o644);
  expect((await ledgerEnd()).stderr).toContain('LEDGER_URL');
  expect(receivedHeaders).toEqual([]);
});

it('a symbolic link to a note file is ignored', async () => {
  await writeForeignNote({}, 0o600, 'elsewhere.json');
  await symlink('elsewhere.json', join(folder, '.ledger-indexer', 'running.json'));
  expect((await ledgerEnd()).stderr).toContain('LEDGER_URL');
  expect(receivedHeaders).toEqual([]);
});

it.each([
  ['an invalid process id', { pid: -1 }],
  ['a ledger on another machine', { ledgerUrl: 'http://192.0.2.1:7575' }],
  ['a shell command in a URL', { ledgerUrl: 'http://127.0.0.1:9/$(id)' }],
  ['a value that is not a string', { httpUrl: { port: 9 } }],
])('a note file with %s is ignored', async (_, change) => {
  await writeForeignNote(change);
  expect((await ledgerEnd()).stderr).toContain('LEDGER_URL');
  expect(receivedHeaders).toEqual([]);
});

it('a request to the ledger of a note file contains no token', async () => {
  await writeForeignNote();
  await ledgerEnd();
  expect(receivedHeaders.length).toBeGreaterThan(0);
  for (const headers of receivedHeaders) expect(JSON.stringify(headers)).not.toContain('victims-ledger-token');
});

it('--ledger-token-file is not sent to the ledger of a note file', async () => {
  await writeForeignNote();
  await writeFile(join(folder, 'token'), 'victims-ledger-token');
  expect((await ledgerEnd('--ledger-token-file', 'token')).stderr).toContain('LEDGER_URL');
  expect(receivedHeaders).toEqual([]);
});
