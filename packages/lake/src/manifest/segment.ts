/**
 * A part of the manifest: up to a hundred ranges and their files. Its name contains the hash of its text. A changed
 * segment therefore gets a new name, and equal segments have equal names.
 */
import { createHash } from 'node:crypto';
import type { LakeStorage } from '../storage/lake-storage.ts';
import type { LakeFile, LakeRange } from './entries.ts';

/** Maximum number of ranges in a segment. All segments except the last have exactly this many. */
export const rangesPerSegment = 100;

export const segmentFolder = 'segments';

/** A segment as the head of the manifest names it. */
export interface SegmentEntry {
  readonly path: string;
  /** First and last offset of its ranges, inclusive. */
  readonly from: number;
  readonly to: number;
  readonly ranges: number;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

export class Segment {
  /** Entry of the stored segment; undefined if the segment has changed since, or was never written. */
  stored: SegmentEntry | undefined;
  readonly #ranges: LakeRange[];
  readonly #files = new Map<string, LakeFile>();

  constructor(ranges: readonly LakeRange[] = [], files: Iterable<LakeFile> = [], segmentEntry?: SegmentEntry) {
    this.#ranges = [...ranges];
    for (const file of files) this.#files.set(keyOf(file.table, file.from), file);
    this.stored = segmentEntry;
  }

  get ranges(): readonly LakeRange[] {
    return this.#ranges;
  }

  files(): Iterable<LakeFile> {
    return this.#files.values();
  }

  file(table: string, from: number): LakeFile | undefined {
    return this.#files.get(keyOf(table, from));
  }

  append(range: LakeRange): void {
    this.#ranges.push(range);
  }

  /** Puts a file into its range. @returns the file that it replaces */
  put(file: LakeFile): LakeFile | undefined {
    const key = keyOf(file.table, file.from);
    const previous = this.#files.get(key);
    this.#files.set(key, file);
    return previous;
  }

  /** Removes up to `count` ranges from the end, and their files. */
  dropLast(count: number): { readonly ranges: readonly LakeRange[]; readonly files: readonly LakeFile[] } {
    const ranges = this.#ranges.splice(Math.max(0, this.#ranges.length - count));
    const first = ranges[0]?.from ?? Infinity;
    const files = [...this.#files.values()].filter(({ from }) => from >= first);
    for (const { table, from } of files) this.#files.delete(keyOf(table, from));
    return { ranges, files };
  }

  /** Writes the segment. @returns its path, which its text determines */
  async save(folder: LakeStorage): Promise<string> {
    const text = textOf(this.#ranges, [...this.#files.values()]);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const [from, to] = [this.#ranges[0]?.from ?? 0, this.#ranges.at(-1)?.to ?? 0];
    const path = segmentPath({ from, to, sha256 });
    const { bytes } = await folder.write(path, text);
    this.stored = { path, from, to, ranges: this.#ranges.length, bytes, sha256 };
    return path;
  }
}

/** Path of a segment. Sixteen digits of the hash distinguish the versions of a segment. */
export function segmentPath({ from, to, sha256 }: Pick<SegmentEntry, 'from' | 'to' | 'sha256'>): string {
  return `${segmentFolder}/from=${String(from)}-to=${String(to)}-${sha256.slice(0, 16)}.json`;
}

/** Whether {@link segmentPath} could have returned this path. */
export function isSegmentPath(path: string): boolean {
  const [folder, name = '', extraSegment] = path.split('/');
  return folder === segmentFolder && extraSegment === undefined && isSegmentName.test(name);
}

/** Matches names that {@link segmentPath} returns, without the folder. */
export const isSegmentName = /^from=\d+-to=\d+-[\da-f]{16}\.json$/;

/**
 * One line for each range and each file, ordered by offset and table, so that the text can be read, compared and
 * searched.
 */
function textOf(ranges: readonly LakeRange[], files: LakeFile[]): string {
  files.sort((a, b) => a.from - b.from || (a.table < b.table ? -1 : a.table > b.table ? 1 : 0));
  return `{\n  "ranges": [\n${linesOf(ranges)}\n  ],\n  "files": [\n${linesOf(files)}\n  ]\n}\n`;
}

export function linesOf(list: readonly object[]): string {
  return list.map((entry) => `    ${JSON.stringify(entry)}`).join(',\n');
}

function keyOf(table: string, from: number): string {
  return `${String(from)} ${table}`;
}
