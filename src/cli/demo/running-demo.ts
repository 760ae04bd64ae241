/**
 * The note that an embedded run leaves in its folder of data while it runs: where it listens and what of it is embedded.
 * By it, and by what it answers itself, other commands find the run of their folder. It holds no secret: the password stays in the file of the server.
 * The folder is looked for in the current one, and a copied project can bring a note along. So a note counts only if its file
 * is ours and closed to other users, its process is ours, and its ledger is on this machine.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { IndexerError } from '../../errors/indexer-error.ts';
import { isLoopback } from '../../config/loopback.ts';
import type { StatusDocument } from '../../observe/health/health-tracker.ts';

export interface DemoNote {
  readonly pid: number;
  /** Base address of the status page. */
  readonly httpUrl: string;
  readonly ledgerUrl: string;
  /** `host:port/name` of its database. */
  readonly database: string;
  readonly schema: string;
  readonly embeddedLedger: boolean;
  readonly embeddedDatabase: boolean;
  /** False until everything up to the ledger end was stored for the first time. */
  readonly live: boolean;
}

/** Leaves or replaces the note of this process. */
export function noteDemo(dataDir: string, note: DemoNote): void {
  const file = fileIn(dataDir);
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(note)}\n`, { flag: 'wx', mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Takes the note of this process away. */
export function forgetDemo(dataDir: string): void {
  if (readNote(dataDir)?.pid === process.pid) rmSync(fileIn(dataDir), { force: true });
}

/** The note of another process that is alive; a process that died hard leaves one, and its id may be another's by now. */
export function notedDemo(dataDir: string): DemoNote | undefined {
  const note = readNote(dataDir);
  return note === undefined || note.pid === process.pid || !isAlive(note.pid) ? undefined : note;
}

/** The same once the process has answered for itself. */
export async function runningDemo(dataDir: string): Promise<DemoNote | undefined> {
  const note = notedDemo(dataDir);
  if (note === undefined) return undefined;
  const answer = await askIndexer(note.httpUrl);
  return answer?.database === note.database ? note : undefined;
}

/** A second run in the folder would write what its own ledger does into the journal of the first. */
export function demoRunning(dataDir: string, note?: DemoNote): IndexerError {
  const who = note === undefined ? 'another process' : `process ${String(note.pid)}`;
  const where = note === undefined ? '' : `; its page is ${note.httpUrl}/`;
  return new IndexerError(`${who} runs the demo with the data in ${resolve(dataDir)}${where}`, {
    code: 'DEMO_RUNNING',
    remedy:
      'use that one (`ledger-indexer demo-info` says how), stop it, or give this one another folder: INDEXER_DATA_DIR',
  });
}

function readNote(dataDir: string): DemoNote | undefined {
  try {
    const note: unknown = JSON.parse(readOwn(dataDir));
    return isNote(note) ? note : undefined;
  } catch {
    return undefined;
  }
}

const longestNote = 64 * 1024;
const byAnyoneElse = 0o077;

/** The text of the note; throws where it is not ours alone. */
function readOwn(dataDir: string): string {
  // A link is not followed, and a pipe not waited for.
  const file = openSync(fileIn(dataDir), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    const isOurs = found.uid === process.getuid?.() && (found.mode & byAnyoneElse) === 0;
    if (!isOurs || !found.isFile() || found.size > longestNote) throw new Error('the note is not ours');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function isNote(value: unknown): value is DemoNote {
  const note = value as Partial<Record<keyof DemoNote, unknown>> | null;
  if (typeof note !== 'object' || note === null) return false;
  const { pid, httpUrl, ledgerUrl, database, schema, embeddedLedger, embeddedDatabase, live } = note;
  if (!Number.isSafeInteger(pid) || Number(pid) <= 0) return false;
  const areFlags = [embeddedLedger, embeddedDatabase, live].every((flag) => typeof flag === 'boolean');
  const areTexts = [httpUrl, ledgerUrl, database, schema].every((text) => typeof text === 'string');
  if (!areFlags || !areTexts || !isAddress(String(httpUrl))) return false;
  return embeddedLedger === false || (isAddress(String(ledgerUrl)) && isLoopback(new URL(String(ledgerUrl)).hostname));
}

/** Whether it is `http://host:port` and nothing else: such a text can be shown and pasted. */
function isAddress(text: string): boolean {
  return URL.canParse(text) && /^http:\/\/(\[[\da-f:]+\]|[\w.-]+)(:\d+)?$/.test(text);
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'running.json');
}

/** Whether there is a process of ours with this id: of another user, it is not the one that left our note. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// What an indexer answers at `/status`.

const limitMs = 2_000;

/** Undefined when nobody answers there, or somebody who is no indexer. @param url base address */
export async function askIndexer(url: string): Promise<StatusDocument | undefined> {
  try {
    const answer = await fetch(`${url}/status`, { signal: AbortSignal.timeout(limitMs) });
    const status = (await answer.json()) as Partial<StatusDocument>;
    return answer.ok && typeof status.state === 'string' ? (status as StatusDocument) : undefined;
  } catch {
    return undefined;
  }
}
