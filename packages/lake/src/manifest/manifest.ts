/**
 * Content of the lake, in memory during an export: the head, and ranges with their files in segments. A file that the
 * stored manifest does not name counts as missing. Saving writes the changed segments under new names, and then the
 * head, so its cost does not grow with the number of ranges. Segments of the previous head are kept until the next
 * save, because a reader may have read that head but not its segments yet.
 */
import type { LakeStorage } from '../storage/lake-storage.ts';
import {
  type FileChange,
  isNamed,
  type LakeFile,
  type LakeIdentity,
  type LakeRange,
  type ManifestHead,
  type NamedFile,
} from './entries.ts';
import { headText, manifestName } from './head-text.ts';
import { rangesPerSegment, Segment } from './segment.ts';

export class Manifest {
  #head: ManifestHead;
  #isStored: boolean;
  readonly #segments: Segment[];
  readonly #segmentOf = new Map<number, Segment>();
  readonly #changed = new Set<Segment>();
  /** Segments that the stored head names, but the next head will not. */
  #replaced: string[] = [];
  /** Segments that the previous head names and the stored head does not. */
  #former: readonly string[];

  /**
   * @param isStored false if the folder contains no manifest, or one of a different form. The last argument contains
   *   the segments that only the head before the stored one names.
   */
  constructor(
    head: ManifestHead,
    segments: readonly Segment[],
    isStored: boolean,
    previousSegments: readonly string[] = [],
  ) {
    this.#former = previousSegments;
    this.#head = head;
    this.#segments = [...segments];
    this.#isStored = isStored;
    for (const segment of segments) {
      for (const { from } of segment.ranges) this.#segmentOf.set(from, segment);
      if (!isStored) this.#changed.add(segment);
    }
  }

  get head(): ManifestHead {
    return this.#head;
  }

  get isStored(): boolean {
    return this.#isStored;
  }

  /** All ranges in order, as a new list. */
  ranges(): readonly LakeRange[] {
    return this.#segments.flatMap(({ ranges }) => ranges);
  }

  get rangeCount(): number {
    const last = this.#segments.at(-1);
    return last === undefined ? 0 : (this.#segments.length - 1) * rangesPerSegment + last.ranges.length;
  }

  *files(): Generator<LakeFile> {
    for (const segment of this.#segments) yield* segment.files();
  }

  /** Paths of all files, of all stored segments, and of segments that only the previous head names. */
  *paths(): Generator<string> {
    for (const { path } of this.files()) if (path !== null) yield path;
    for (const { stored: segmentEntry } of this.#segments) if (segmentEntry !== undefined) yield segmentEntry.path;
    yield* this.#former;
  }

  /** The file of a table in the range that begins at an offset. */
  file(table: string, from: number): LakeFile | undefined {
    return this.#segmentOf.get(from)?.file(table, from);
  }

  setHead(change: Partial<Omit<ManifestHead, keyof LakeIdentity>>): void {
    this.#head = { ...this.#head, ...change };
  }

  /** Appends a range, with its files. */
  append(range: LakeRange, files: readonly LakeFile[]): FileChange {
    let segment = this.#segments.at(-1);
    if (segment === undefined || segment.ranges.length === rangesPerSegment) {
      segment = new Segment();
      this.#segments.push(segment);
    }
    segment.append(range);
    this.#segmentOf.set(range.from, segment);
    return this.put(files);
  }

  /** Replaces files of existing ranges, identified by table and range. */
  put(files: readonly LakeFile[]): FileChange {
    const [added, removedFiles]: [NamedFile[], NamedFile[]] = [[], []];
    for (const file of files) {
      const segment = this.#segmentOf.get(file.from);
      if (segment === undefined) throw new RangeError(`no range begins at offset ${String(file.from)}`);
      const previous = segment.put(file);
      this.#noteChange(segment);
      if (previous?.path === file.path) continue;
      if (isNamed(file)) added.push(file);
      if (previous !== undefined && isNamed(previous)) removedFiles.push(previous);
    }
    return { added, gone: removedFiles };
  }

  /** Keeps only the first `count` ranges. */
  truncate(count: number): FileChange {
    const removedFiles: NamedFile[] = [];
    for (let remainingCount = this.rangeCount - count; remainingCount > 0;) {
      const segment = this.#segments.at(-1);
      if (segment === undefined) break;
      this.#noteChange(segment);
      const droppedRanges = segment.dropLast(remainingCount);
      remainingCount -= droppedRanges.ranges.length;
      for (const { from } of droppedRanges.ranges) this.#segmentOf.delete(from);
      removedFiles.push(...droppedRanges.files.filter(isNamed));
      if (segment.ranges.length > 0) break;
      this.#segments.pop();
      this.#changed.delete(segment);
    }
    return { added: [], gone: removedFiles };
  }

  /**
   * Writes the changes. The head is written last, so the process may stop at any point.
   * @returns paths of segments that neither the new nor the previous head names, to be removed
   */
  async save(folder: LakeStorage): Promise<readonly string[]> {
    for (const segment of this.#changed) await segment.save(folder);
    const storedPaths = new Set(this.#segments.map(({ stored: segmentEntry }) => segmentEntry?.path));
    const previousSegments = this.#replaced.filter((path) => !storedPaths.has(path));
    await folder.write(manifestName, headText(this.#head, this.#segments, previousSegments));
    const removedPaths = this.#former.filter((path) => !storedPaths.has(path) && !previousSegments.includes(path));
    this.#changed.clear();
    this.#replaced = [];
    this.#former = previousSegments;
    this.#isStored = true;
    return removedPaths;
  }

  #noteChange(segment: Segment): void {
    if (segment.stored !== undefined) this.#replaced.push(segment.stored.path);
    segment.stored = undefined;
    this.#changed.add(segment);
  }
}
