/**
 * The snapshot of a demo: its complete state after a number of steps, so that a start loads it instead of replaying the
 * steps. One line describes it. The remainder is V8's serialization of the data, in which shared objects remain shared.
 * At any interruption of the process or the machine, the file is complete or absent.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, readSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { SavedLedger } from '../ledger/ledger.ts';
import type { SavedParties } from '../parties/parties.ts';
import type { SavedSchedule } from './live-schedule.ts';
import type { SavedPlay } from './play.ts';

/** Description of a snapshot. */
export interface SnapshotHead {
  /** Start time of the demo, which identifies it, as in its journal. */
  readonly startAt: number;
  /**
   * Generation of the journal that continues where the snapshot ends. The journal of the previous generation continues
   * after `entries`.
   */
  readonly generation: number;
  readonly entries: number;
  readonly steps: number;
}

export interface Snapshot {
  readonly ledger: SavedLedger;
  readonly parties: SavedParties;
  readonly play: SavedPlay;
  readonly schedule: SavedSchedule;
}

/** Changed whenever the form of the saved data changes. */
const version = 4;
/** V8 reads serialized data of older versions, but not of newer ones. */
const node = Number(process.versions.node.split('.')[0]);
const longestHead = 1_000;

/** Path of the snapshot of a journal. */
export function snapshotOf(journal: string): string {
  return `${journal}.snapshot`;
}

/** Writes a temporary file, and renames it once it is completely on disk. */
export function replaceFile(file: string, chunks: readonly (string | Uint8Array)[]): void {
  const temporary = `${file}.tmp`;
  const descriptor = openSync(temporary, 'w', 0o600);
  try {
    for (const fileChunk of chunks) {
      const bytes = Buffer.from(fileChunk as Uint8Array);
      for (let writtenBytes = 0; writtenBytes < bytes.length;)
        writtenBytes += writeSync(descriptor, bytes, writtenBytes);
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

export function writeSnapshot(file: string, head: SnapshotHead, snapshot: Snapshot): void {
  replaceFile(file, [`${JSON.stringify({ snapshot: version, node, ...head })}\n`, serialize(snapshot)]);
}

/** Description of a snapshot; undefined if there is none, or if this version cannot read it. */
export function snapshotHead(file: string): SnapshotHead | undefined {
  if (!existsSync(file)) return undefined;
  const bytes = Buffer.alloc(longestHead);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, bytes, 0, longestHead, 0);
  } finally {
    closeSync(descriptor);
  }
  const [line = ''] = bytes.toString('latin1').split('\n', 1);
  if (!line.startsWith(`{"snapshot":${version},`)) return undefined;
  const head = JSON.parse(line) as SnapshotHead & { readonly node: number };
  return head.node <= node ? head : undefined;
}

export function readSnapshot(file: string): Snapshot {
  const bytes = readFileSync(file);
  return deserialize(bytes.subarray(bytes.indexOf('\n') + 1)) as Snapshot;
}
