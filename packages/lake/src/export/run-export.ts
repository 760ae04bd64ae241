/**
 * One export. It takes a snapshot of the database and writes the missing files of the lake. A range is completed in the
 * manifest, the log and the folder before the next range begins. An interrupted export therefore resumes where it
 * stopped.
 */
import type { ReadFacts, Reads, ReadTable, Snapshot } from 'ledger-indexer/read';
import type { DeltaLogs } from '../delta/delta-log.ts';
import { LakeError } from '../errors/lake-error.ts';
import { activeSql, activeSqlName } from '../manifest/active-sql.ts';
import type { FileChange, LakeFile, LakeRange, ManifestHead } from '../manifest/entries.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { readManifest } from '../manifest/read-manifest.ts';
import { isSegmentName, segmentFolder } from '../manifest/segment.ts';
import { type Codec, lakeCodec } from '../parquet/codec.ts';
import { ParquetFile } from '../parquet/parquet-file.ts';
import { rangeRows } from '../parquet/range-source.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';
import { Eraser } from './erase.ts';
import { isReshaped, fingerprintOf, rejectPrunedRange, refusePruned, reviewOf, wasRedacted } from '../plan/plan.ts';
import { fileEnd, notStoredReason, storedEnd } from '../plan/projection.ts';
import { standingRanges } from '../plan/standing-ranges.ts';

export interface ExportOptions {
  /** The last offset to export; undefined for the checkpoint. */
  readonly until: number | undefined;
  /**
   * Selects typed views and projections of users by name (`typed.NAME`, `derived.NAME`); those that are already in the
   * lake are always exported.
   */
  readonly isWanted: (name: string) => boolean;
  readonly stop: AbortSignal;
  readonly onProgress: (progress: ExportProgress) => void;
  /** Delta logs of the folder; valid while it is locked. */
  readonly logs: DeltaLogs;
  /** A range ends when one of its tables has this many rows; default 100,000. */
  readonly rowsPerRange?: number;
}

export interface ExportProgress {
  /** Number of rows written so far. */
  readonly rows: number;
  /** Bytes of files written so far. */
  readonly bytes: number;
  readonly files: number;
  /** Everything up to this offset is written; null before the first range is complete. */
  readonly offset: number | null;
  /** The last offset to export. */
  readonly until: number;
}

export interface ExportResult {
  readonly until: number;
  /** Number of rows written by this run. */
  readonly rows: number;
  readonly bytes: number;
  readonly files: number;
  /** Number of these files that replaced others. */
  readonly rewritten: number;
  /** Number of ranges in the lake now. */
  readonly ranges: number;
  readonly tables: readonly string[];
  /** Projections of users whose rows are not all stored yet, with the offset up to which the lake has them. */
  readonly incomplete: Readonly<Record<string, number>>;
}

const defaultRows = 100_000;

/** @throws LakeError EXPORT_REFUSED, EXPORT_NOT_READY, EXPORT_STOPPED; errors of the snapshot and the file system */
export function exportOnce(databaseReads: Reads, folder: LakeStorage, options: ExportOptions): Promise<ExportResult> {
  return databaseReads.inSnapshot(async (snapshot) => {
    const { checkpoint } = snapshot.facts;
    const untilOffset = options.until ?? checkpoint;
    if (untilOffset > checkpoint) throw beyondCheckpoint(untilOffset, checkpoint);
    const manifest = await readManifest(folder, snapshot.facts);
    const run = new ExportRun(snapshot, folder, manifest, options);
    await run.tidy();
    await run.describe();
    await run.dropProjections();
    await run.dropUndone();
    await run.renew();
    await run.goOn(untilOffset);
    return run.result(untilOffset);
  });
}

class ExportRun {
  readonly #snapshot: Snapshot;
  readonly #folder: LakeStorage;
  readonly #facts: ReadFacts;
  readonly #options: ExportOptions;
  readonly #logs: DeltaLogs;
  readonly #codec: Codec = lakeCodec();
  readonly #manifest: Manifest;
  #sources: readonly ReadTable[] = [];
  #rows = 0;
  #bytes = 0;
  #files = 0;
  #rewritten = 0;

  constructor(snapshot: Snapshot, folder: LakeStorage, manifest: Manifest, options: ExportOptions) {
    this.#snapshot = snapshot;
    this.#folder = folder;
    this.#facts = snapshot.facts;
    this.#manifest = manifest;
    this.#options = options;
    this.#logs = options.logs;
  }

  /** Completes the manifest and folder after an interrupted run. */
  async tidy(): Promise<void> {
    await this.#folder.sweep();
    // Written before any other file, because the manifest marks the folder as a lake.
    if (!this.#manifest.isStored) await this.#manifest.save(this.#folder);
    if ((await this.#folder.read(activeSqlName)) !== activeSql) await this.#folder.write(activeSqlName, activeSql);
    await this.#logs.compare(this.#manifest);
    const referencedPaths = new Set(this.#manifest.paths());
    for (const folder of await this.#folder.folders()) {
      const isOfLake = folder === segmentFolder ? isSegmentName : fileNamePattern;
      const files = (await this.#folder.list(folder)).filter((name) => isOfLake.test(name));
      await this.#folder.remove(files.map((name) => `${folder}/${name}`).filter((path) => !referencedPaths.has(path)));
    }
  }

  /** Selects the tables; typed views and projections that are in the lake are always included. */
  async describe(): Promise<void> {
    const knownTables = this.#manifest.head.tables;
    this.#sources = await this.#snapshot.tables(
      (name) => Object.hasOwn(knownTables, name) || this.#options.isWanted(name),
    );
  }

  /** Removes the files of projections that were dropped, because later redactions could not be applied to them. */
  async dropProjections(): Promise<void> {
    const names = new Set(this.#sources.map(({ name }) => name));
    const isDropped = (table: string): boolean => table.startsWith('derived.') && !names.has(table);
    const files = [...this.#manifest.files()].filter((file) => isDropped(file.table) && fileEnd(file) >= file.from);
    if (files.length > 0) await this.#publish({}, this.#manifest.put(files.map(withoutRows)));
  }

  /** Drops ranges that a reset or rewind has undone. They are written again when the history returns. */
  async dropUndone(): Promise<void> {
    const ranges = this.#manifest.ranges();
    const unchangedRanges = await standingRanges(ranges, this.#snapshot);
    if (unchangedRanges.length === ranges.length) return;
    for (const range of ranges.slice(unchangedRanges.length))
      refusePruned(range, 'the stream was rewound', this.#facts);
    const change = this.#manifest.truncate(unchangedRanges.length);
    await this.#publish({ until: unchangedRanges.at(-1)?.to ?? null }, change);
  }

  /** Writes missing and outdated files of ranges that are in the lake. */
  async renew(): Promise<void> {
    this.#beginLater();
    const review = reviewOf(this.#manifest, this.#sources, this.#facts);
    const plan = this.#manifest.ranges().map((range) => ({
      range,
      sources: this.#sources.filter((source) => {
        const staleReason = review(range, source);
        if (staleReason === undefined || (staleReason === wasRedacted && this.#isPruned(range))) return false;
        refusePruned(range, staleReason, this.#facts, source);
        return staleReason !== notStoredReason || this.#hasMore(range, source);
      }),
    }));
    await this.#erase();
    // If the columns of a table change, all its files are replaced at once, so that they always have the same columns.
    const rangesPerWrite = this.#sources.some((source) => isReshaped(this.#manifest, source));
    const newFiles: LakeFile[] = [];
    for (const { range, sources } of plan) {
      if (sources.length === 0) continue;
      const files = await this.#write(range, sources);
      if (rangesPerWrite) newFiles.push(...files);
      else await this.#publish({}, this.#manifest.put(files));
    }
    const { head } = this.#manifest;
    const isSame =
      newFiles.length === 0 &&
      this.#facts.redactionsFingerprint === head.redactionsFingerprint &&
      this.#facts.prunedRedactionsFingerprint === head.prunedRedactionsFingerprint &&
      JSON.stringify(this.#facts.coverage) === JSON.stringify(head.coverage);
    if (isSame || this.#manifest.rangeCount === 0) return;
    await this.#publish(this.#headFacts(), this.#manifest.put(newFiles));
  }

  #headFacts(): Pick<ManifestHead, 'coverage' | 'redactionsFingerprint' | 'prunedRedactionsFingerprint'> {
    const { coverage, redactionsFingerprint, prunedRedactionsFingerprint } = this.#facts;
    return { coverage, redactionsFingerprint, prunedRedactionsFingerprint };
  }

  /** Whether more rows of a projection are stored than its file has. */
  #hasMore(range: LakeRange, { name, projection }: ReadTable): boolean {
    const file = this.#manifest.file(name, range.from);
    return projection !== undefined && (file === undefined || storedEnd(projection, range) > fileEnd(file));
  }

  /** Erases redacted contents, also from files of pruned ranges. Runs once for each list of redactions. */
  async #erase(): Promise<void> {
    if (this.#manifest.head.redactionsFingerprint === this.#facts.redactionsFingerprint) return;
    const prunedRanges = this.#manifest.ranges().filter((range) => this.#isPruned(range));
    if (prunedRanges.length === 0) return;
    const redactions = await this.#snapshot.redactions();
    if (redactions === undefined) return;
    const eraser = new Eraser(this.#folder, this.#codec, redactions);
    for (const range of prunedRanges) {
      const newFiles: LakeFile[] = [];
      for (const source of this.#sources) {
        if (this.#options.stop.aborted) throw stopped();
        const file = this.#manifest.file(source.name, range.from);
        if (file === undefined || source.redacted === undefined) continue;
        const path = `${source.name}/${nameOf(range.from, range.to, file)}`;
        const redactedFile = await eraser.withoutContents(
          file,
          source,
          this.#manifest.file('updates', range.from),
          path,
        );
        if (redactedFile !== undefined) this.#rewritten += 1;
        if (redactedFile !== undefined) this.#report(redactedFile.bytes);
        const cleanFile = withRedactions(
          { ...file, ...(redactedFile !== undefined && { ...redactedFile, path }) },
          source,
          this.#facts,
        );
        if (JSON.stringify(cleanFile) !== JSON.stringify(file)) newFiles.push(cleanFile);
      }
      if (newFiles.length > 0) await this.#publish({}, this.#manifest.put(newFiles));
    }
  }

  /** Whether rows of the range may have been pruned from Postgres. */
  #isPruned({ from }: LakeRange): boolean {
    return from <= this.#facts.prunedToOffset;
  }

  /** If a table is added after its oldest rows were pruned, it begins with the first complete range. */
  #beginLater(): void {
    const { until: untilOffset, tables } = this.#manifest.head;
    const firstUnprunedRange = this.#manifest.ranges().find((range) => range.from > this.#facts.prunedToOffset);
    const from = firstUnprunedRange?.from ?? (untilOffset ?? -1) + 1;
    if (from === 0) return;
    const laterSources = this.#sources.filter(({ name }) => tables[name] === undefined);
    const entries = laterSources.map(({ name, columns }) => [name, { columns, from }] as const);
    this.#manifest.setHead({ tables: { ...tables, ...Object.fromEntries(entries) } });
  }

  /** Writes the ranges that the lake lacks, up to `until`. */
  async goOn(untilOffset: number): Promise<void> {
    rejectPrunedRange(this.#manifest, this.#facts);
    for (
      let after = this.#manifest.head.until ?? -1;
      after < untilOffset;
      after = this.#manifest.head.until ?? untilOffset
    ) {
      const to = await this.#snapshot.endOfRange(after, untilOffset, this.#options.rowsPerRange ?? defaultRows);
      const range = { from: after + 1, to, epoch: await this.#snapshot.epochAt(to) };
      const files = await this.#write(range, this.#sources);
      await this.#publish({ until: to, ...this.#headFacts() }, this.#manifest.append(range, files));
    }
  }

  result(untilOffset: number): ExportResult {
    return {
      until: untilOffset,
      rows: this.#rows,
      bytes: this.#bytes,
      files: this.#files,
      rewritten: this.#rewritten,
      ranges: this.#manifest.rangeCount,
      tables: Object.keys(this.#manifest.head.tables),
      incomplete: this.#incomplete(),
    };
  }

  #incomplete(): ExportResult['incomplete'] {
    const review = reviewOf(this.#manifest, this.#sources, this.#facts);
    const ends: Record<string, number> = {};
    for (const source of this.#sources.filter(({ projection }) => projection !== undefined)) {
      const range = this.#manifest.ranges().find((candidate) => review(candidate, source) === notStoredReason);
      const file = range === undefined ? undefined : this.#manifest.file(source.name, range.from);
      if (file !== undefined) ends[source.name] = fileEnd(file);
    }
    return ends;
  }

  /** Saves the manifest, whose files must exist, and then removes the files that it no longer names. */
  async #publish(head: Partial<Omit<ManifestHead, 'tables'>>, change: FileChange): Promise<void> {
    const knownTables = this.#manifest.head.tables;
    const tables = this.#sources.map(({ name, columns }) => [name, { ...knownTables[name], columns }] as const);
    this.#manifest.setHead({ ...head, tables: { ...knownTables, ...Object.fromEntries(tables) } });
    const obsoletePaths = await this.#manifest.save(this.#folder);
    await this.#logs.follow(this.#manifest.head.tables, change);
    await this.#folder.remove([...change.gone.map(({ path }) => path), ...obsoletePaths]);
  }

  async #write(range: LakeRange, sources: readonly ReadTable[]): Promise<readonly LakeFile[]> {
    const files: LakeFile[] = [];
    for (const source of sources) {
      if (this.#options.stop.aborted) throw stopped();
      files.push(await this.#writeTable(range, source, this.#manifest.file(source.name, range.from)));
    }
    return files;
  }

  async #writeTable({ from, to }: LakeRange, source: ReadTable, previous: LakeFile | undefined): Promise<LakeFile> {
    const unfinished = await this.#folder.begin();
    const entry = { table: source.name, from, to, fingerprint: fingerprintOf(source, { from, to }, this.#facts) };
    if (previous !== undefined) this.#rewritten += 1;
    const end = source.projection === undefined ? to : storedEnd(source.projection, { from, to });
    try {
      const parquet = new ParquetFile(unfinished, source, this.#codec);
      for await (const { values, rows } of rangeRows(this.#snapshot, source, [from, end])) {
        await parquet.add(values, rows);
        this.#rows += rows;
        this.#report(0);
      }
      // A folder needs at least one file to be readable, even if its table is empty.
      if (end < from || (parquet.rows === 0 && from !== (this.#manifest.head.tables[source.name]?.from ?? 0))) {
        await unfinished.discard();
        return { ...entry, path: null, rows: 0, bytes: 0, sha256: null };
      }
      await parquet.finish();
      const path = `${source.name}/${nameOf(from, to, previous)}`;
      const { bytes, sha256 } = await unfinished.finish(path);
      this.#report(bytes);
      return { ...entry, path, rows: parquet.rows, bytes, sha256 };
    } catch (error) {
      await unfinished.discard();
      throw error;
    }
  }

  /** @param bytes size of a finished file */
  #report(bytes: number): void {
    this.#bytes += bytes;
    if (bytes > 0) this.#files += 1;
    const untilOffset = this.#options.until ?? this.#facts.checkpoint;
    this.#options.onProgress({
      rows: this.#rows,
      bytes: this.#bytes,
      files: this.#files,
      offset: this.#manifest.head.until,
      until: untilOffset,
    });
  }
}

/** Marks a file that is about to be written as redacted, because the rows it is written from are redacted. */
function withRedactions(file: LakeFile, source: ReadTable, facts: ReadFacts): LakeFile {
  const redactedEpoch = Math.max(file.fingerprint.redacted ?? 0, fingerprintOf(source, file, facts).redacted ?? 0);
  return redactedEpoch === 0 ? file : { ...file, fingerprint: { ...file.fingerprint, redacted: redactedEpoch } };
}

/** The entry of a range whose rows are not in the lake. */
function withoutRows({ table, from, to }: LakeFile): LakeFile {
  return { table, from, to, path: null, rows: 0, bytes: 0, sha256: null, fingerprint: { storedTo: from - 1 } };
}

const fileNamePattern = /^from=\d+-to=\d+(?:\.r(\d+))?\.parquet$/;

/**
 * A replacement gets a different name, because the stored manifest names the previous file until the new manifest is
 * written.
 */
function nameOf(from: number, to: number, previous: LakeFile | undefined): string {
  const name = `from=${String(from)}-to=${String(to)}`;
  if (previous?.path === undefined || previous.path === null) return `${name}.parquet`;
  const revision = Number(fileNamePattern.exec(previous.path.slice(previous.table.length + 1))?.[1] ?? 1);
  return `${name}.r${String(revision + 1)}.parquet`;
}

function beyondCheckpoint(untilOffset: number, checkpoint: number): LakeError {
  return new LakeError(`offset ${String(untilOffset)} is beyond the checkpoint ${String(checkpoint)}`, {
    code: 'EXPORT_NOT_READY',
    remedy: `name an offset up to ${String(checkpoint)}, or wait until the stream has passed ${String(untilOffset)}`,
  });
}

function stopped(): LakeError {
  return new LakeError('the export was stopped between two files', {
    code: 'EXPORT_STOPPED',
    remedy: 'run the command again: it resumes where it stopped',
  });
}
