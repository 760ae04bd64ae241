/** The folder of a filled database, and the file in it that describes the fill. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onExit } from '../cleanup.ts';

/** Content of the file. `filledAt` is missing while the database is being filled. */
export interface HistoryNote {
  /** Requested number of updates. */
  readonly updates: number;
  /** Commit of the program that filled it. */
  readonly commit: string;
  readonly filledAt?: string;
  readonly updatesPerSecond?: number;
}

/** Creates the folder, or a temporary one that is removed at the end. */
export function openFolder(keep: string | undefined): string {
  if (keep !== undefined) {
    mkdirSync(keep, { recursive: true });
    return keep;
  }
  mkdirSync('.bench', { recursive: true });
  const folder = mkdtempSync(join('.bench', 'answers-'));
  onExit(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/**
 * The note of a finished fill with this number of updates. If a fill was interrupted, its database is removed.
 * @throws Error if the folder has other contents
 */
export function findHistory(folder: string, updates: number): HistoryNote | undefined {
  const note = readNote(folder);
  if (note === undefined) {
    if (readdirSync(folder).length > 0) throw new Error(`${folder} has other files: expected an empty folder`);
    return undefined;
  }
  if (note.filledAt === undefined) {
    rmSync(join(folder, 'postgres'), { recursive: true, force: true });
    return undefined;
  }
  if (note.updates !== updates) {
    throw new Error(
      `${folder} has ${String(note.updates)} updates: use --updates ${String(note.updates)} or another folder`,
    );
  }
  return note;
}

export function writeNote(folder: string, note: HistoryNote): void {
  writeFileSync(noteFile(folder), `${JSON.stringify(note, null, 2)}\n`);
}

function readNote(folder: string): HistoryNote | undefined {
  const file = noteFile(folder);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as HistoryNote) : undefined;
}

function noteFile(folder: string): string {
  return join(folder, 'history.json');
}
