/**
 * The snapshot of a demo: all it is made of after so many steps, so that a start loads it instead of playing the steps again.
 * One line says what it is of, the rest is V8's own form of the data: what is shared stays shared. The file is whole or not
 * there, whenever the process or the machine ends.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, readSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { SavedLedger } from '../ledger/ledger.ts';
import type { SavedParties } from '../parties/parties.ts';
import type { SavedSchedule } from './live-schedule.ts';
import type { SavedPlay } from './play.ts';

/** What a snapshot is of. */
export interface SnapshotHead {
  /** Of the demo, as its journal has it. */
  readonly startAt: number;
  /** The journal of this generation goes on where the snapshot ends; that of the one before goes on after `entries`. */
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

/** Changes whenever what is saved has another form. */
const version = 3;
/** V8 reads what older ones wrote, not the other way round. */
const node = Number(process.versions.node.split('.')[0]);
const longestHead = 1_000;

/** Where the snapshot of a journal is. */
export function snapshotOf(journal: string): string {
  return `${journal}.snapshot`;
}

/** Writes beside the file and puts the new one in its place when all of it is on disk. */
export function replaceFile(file: string, parts: readonly (string | Uint8Array)[]): void {
  const temporary = `${file}.tmp`;
  const descriptor = openSync(temporary, 'w', 0o600);
  try {
    for (const part of parts) {
      const bytes = Buffer.from(part as Uint8Array);
      for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
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

/** What the snapshot is of; undefined when there is none that can be read here. */
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
