/**
 * The note that an embedded run keeps in its data folder while it runs. It contains the addresses of the run and says
 * which servers are embedded. Other commands find the run of their folder by this note and by its HTTP responses. The
 * note contains no secret. The password is only in the file of the server.
 *
 * The data folder is below the current folder, so a copied project may contain a foreign note. A note is valid only if
 * its file and its process belong to this user and no other user can write to the file. Its ledger must be on this
 * machine.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { IndexerError } from '../../errors/indexer-error.ts';
import { isLoopback } from '../../config/loopback.ts';
import type { StatusDocument } from '../../observe/health/health-tracker.ts';

export interface DemoNote {
  readonly pid: number;
  /** Base URL of the status page. */
  readonly httpUrl: string;
  readonly ledgerUrl: string;
  /** `host:port/name` of the run's database. */
  readonly database: string;
  readonly schema: string;
  readonly embeddedLedger: boolean;
  readonly embeddedDatabase: boolean;
  /** False until everything up to the ledger end was stored for the first time. */
  readonly live: boolean;
}

/** Writes or replaces the note of this process. */
export function saveDemoNote(dataDir: string, note: DemoNote): void {
  const file = demoNoteFile(dataDir);
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(note)}\n`, { flag: 'wx', mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Removes the note of this process. */
export function forgetDemo(dataDir: string): void {
  if (readNote(dataDir)?.pid === process.pid) rmSync(demoNoteFile(dataDir), { force: true });
}

/**
 * The note of another process that is still running. A killed process leaves its note behind, and its id may then
 * belong to a different process.
 */
export function readRunningDemoNote(dataDir: string): DemoNote | undefined {
  const note = readNote(dataDir);
  return note === undefined || note.pid === process.pid || !isAlive(note.pid) ? undefined : note;
}

/** Like {@link readRunningDemoNote}, but only if the process also responds with its own identity. */
export async function runningDemo(dataDir: string): Promise<DemoNote | undefined> {
  const note = readRunningDemoNote(dataDir);
  if (note === undefined) return undefined;
  const response = await fetchIndexerStatus(note.httpUrl);
  return response?.database === note.database ? note : undefined;
}

/**
 * The error if a second run starts in the folder. That run would write events of its own ledger to the journal of the
 * first run.
 */
export function demoRunning(dataDir: string, note?: DemoNote): IndexerError {
  const processLabel = note === undefined ? 'another process' : `process ${String(note.pid)}`;
  const pageHint = note === undefined ? '' : `; its page is ${note.httpUrl}/`;
  return new IndexerError(`${processLabel} runs the demo with the data in ${resolve(dataDir)}${pageHint}`, {
    code: 'DEMO_RUNNING',
    remedy: 'use the running demo (run `ledger-indexer demo-info`), stop it, or set INDEXER_DATA_DIR to another folder',
  });
}

function readNote(dataDir: string): DemoNote | undefined {
  try {
    const parsedNote: unknown = JSON.parse(readOwnFile(dataDir));
    return isNote(parsedNote) ? parsedNote : undefined;
  } catch {
    return undefined;
  }
}

const longestNote = 64 * 1024;
const groupOrOtherBits = 0o077;

/** The text of the note. Throws if the note does not belong exclusively to this user. */
function readOwnFile(dataDir: string): string {
  // The file is opened without following a symbolic link and without waiting for a pipe.
  const file = openSync(demoNoteFile(dataDir), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const fileStats = fstatSync(file);
    const isPrivate = fileStats.uid === process.getuid?.() && (fileStats.mode & groupOrOtherBits) === 0;
    if (!isPrivate || !fileStats.isFile() || fileStats.size > longestNote) throw new Error('the note is not ours');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function isNote(value: unknown): value is DemoNote {
  const note = value as Partial<Record<keyof DemoNote, unknown>> | null;
  if (typeof note !== 'object' || note === null) return false;
  const { pid, httpUrl, ledgerUrl, database, schema, embeddedLedger, embeddedDatabase, live: isLive } = note;
  if (!Number.isSafeInteger(pid) || Number(pid) <= 0) return false;
  const hasValidFlags = [embeddedLedger, embeddedDatabase, isLive].every((flag) => typeof flag === 'boolean');
  const hasValidTexts = [httpUrl, ledgerUrl, database, schema].every((text) => typeof text === 'string');
  if (!hasValidFlags || !hasValidTexts || !isAddress(String(httpUrl))) return false;
  return embeddedLedger === false || (isAddress(String(ledgerUrl)) && isLoopback(new URL(String(ledgerUrl)).hostname));
}

/** Whether the text has exactly the form `http://host:port`, which is safe to print and to paste. */
function isAddress(text: string): boolean {
  return URL.canParse(text) && /^http:\/\/(\[[\da-f:]+\]|[\w.-]+)(:\d+)?$/.test(text);
}

function demoNoteFile(dataDir: string): string {
  return join(dataDir, 'running.json');
}

/** Whether a process with this id belongs to this user. A process of another user did not write the note. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// Reads the status document of an indexer from `/status`.

const limitMs = 2_000;

/** Resolves to undefined if no server responds, or if the server is not an indexer. @param url base URL */
export async function fetchIndexerStatus(url: string): Promise<StatusDocument | undefined> {
  try {
    const response = await fetch(`${url}/status`, { signal: AbortSignal.timeout(limitMs) });
    const status = (await response.json()) as Partial<StatusDocument>;
    return response.ok && typeof status.state === 'string' ? (status as StatusDocument) : undefined;
  } catch {
    return undefined;
  }
}
