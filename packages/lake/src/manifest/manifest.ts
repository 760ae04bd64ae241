/**
 * `manifest.json`: what the lake is. A file that it does not name does not exist, whatever lies in the folder. Files that it
 * names are read, and removed when others take their place, so it names files of the lake and no others.
 */
import type { ReadCoverage, ReadFacts } from 'ledger-indexer/read';
import { refused } from '../errors/lake-error.ts';
import type { LakeColumn } from '../parquet/lake-column.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';

const manifestName = 'manifest.json';
const format = 'ledger-indexer lake';
const version = 1;

/** A table within a range. */
export interface LakeFile {
  readonly table: string;
  /** First and last offset of the range, both part of it. */
  readonly from: number;
  readonly to: number;
  /** From the folder of the lake; null where the range has no rows. */
  readonly path: string | null;
  readonly rows: number;
  readonly bytes: number;
  /** In hexadecimal digits; null without a file. */
  readonly sha256: string | null;
  readonly marks: FileMarks;
}

/** By what it is known later whether rows of the range have changed. */
export interface FileMarks {
  /** Rows in it whose contents were redacted. */
  readonly redacted?: number;
  /** Epoch of the newest update that came late and that it holds. */
  readonly late?: number;
  /** Packages that nobody had read when it was written: their names are not in it. */
  readonly unread?: readonly string[];
  /** Which views of interfaces there were. */
  readonly interfaces?: string;
}

export interface LakeRange {
  readonly from: number;
  readonly to: number;
  /** Epoch of the batch that wrote its last update; null where none is known. */
  readonly epoch: number | null;
}

export interface Manifest {
  readonly format: typeof format;
  readonly version: typeof version;
  readonly participant: string | null;
  readonly filterHash: string;
  readonly shape: string;
  /** Everything up to this offset is in the files; null before the first range. */
  readonly until: number | null;
  readonly coverage: readonly ReadCoverage[];
  /** Which redactions there were when it was written: none of their contents are in the files. */
  readonly redactions?: string;
  readonly ranges: readonly LakeRange[];
  readonly tables: Readonly<Record<string, LakeTableEntry>>;
  readonly files: readonly LakeFile[];
}

export interface LakeTableEntry {
  readonly columns: readonly LakeColumn[];
  /** The first offset of its first file, where what came before was pruned when it was first asked for. */
  readonly from?: number;
}

/** What a lake must be of. */
export type LakeIdentity = Pick<ReadFacts, 'participant' | 'filterHash' | 'shape'>;

/**
 * The one of the folder, or one of nothing where the folder is empty.
 * @throws LakeError LAKE_REFUSED where there is something else, or a lake of something else
 */
export async function readManifest(
  folder: LakeStorage,
  { participant, filterHash, shape }: LakeIdentity,
): Promise<Manifest> {
  const identity = { participant, filterHash, shape };
  const text = await folder.read(manifestName);
  if (text === undefined) {
    if (!(await folder.isEmpty())) throw refused('the folder holds files, and none is a manifest of a lake', elsewhere);
    return { format, version, ...identity, until: null, coverage: [], ranges: [], tables: {}, files: [] };
  }
  const manifest = parsed(text);
  refuseOther(manifest, identity);
  return { ...manifest, participant: manifest.participant ?? identity.participant };
}

export async function writeManifest(folder: LakeStorage, manifest: Manifest): Promise<void> {
  // One line for each file, so that it can be read, compared and searched.
  const { files, ranges, ...head } = manifest;
  const lines = (list: readonly object[]): string => list.map((each) => `    ${JSON.stringify(each)}`).join(',\n');
  const text = `${JSON.stringify(head, null, 2).slice(0, -2)},
  "ranges": [
${lines(ranges)}
  ],
  "files": [
${lines(files)}
  ]
}
`;
  await folder.write(manifestName, text);
}

/** Paths of all files. */
export function pathsOf({ files }: Manifest): ReadonlySet<string> {
  return new Set(files.flatMap(({ path }) => (path === null ? [] : [path])));
}

/** In the order of tables and offsets, with `fresh` in the place of what was there of the same table and range. */
export function withFiles(files: readonly LakeFile[], fresh: readonly LakeFile[]): readonly LakeFile[] {
  const keyOf = ({ table, from }: LakeFile): string => `${table} ${String(from)}`;
  const all = new Map([...files, ...fresh].map((file) => [keyOf(file), file]));
  return [...all.values()].sort((a, b) => a.from - b.from || (a.table < b.table ? -1 : a.table > b.table ? 1 : 0));
}

function parsed(text: string): Manifest {
  let manifest: Partial<Manifest>;
  try {
    manifest = JSON.parse(text) as Partial<Manifest>;
  } catch (cause) {
    throw refused('its manifest.json is no JSON', elsewhere, cause);
  }
  if (manifest.format !== format) throw refused('its manifest.json is none of a lake', elsewhere);
  if (manifest.version !== version) {
    throw refused(`its manifest.json is of version ${String(manifest.version)}`, 'use the program that wrote it');
  }
  refuseForeignNames(manifest);
  return manifest as Manifest;
}

/** A table or a typed view; also the folder of its files. */
const tableName = /^\w+(\.\w+)?$/;
const mostNamed = 80;

/** Names that an export could not have written: of folders elsewhere, and of other files than those of the range. */
function refuseForeignNames({ tables, ranges, files }: Partial<Manifest>): void {
  if (!isRecord(tables) || !Array.isArray(ranges) || !Array.isArray(files)) {
    throw refused('its manifest.json lacks tables, ranges or files', elsewhere);
  }
  for (const table of Object.keys(tables)) {
    if (!tableName.test(table)) throw refused(`its manifest.json has a table "${shortened(table)}"`, elsewhere);
  }
  for (const file of files as readonly unknown[]) {
    if (!isRecord(file) || !isOfLake(file, tables)) {
      const path = isRecord(file) ? String(file['path']) : 'of no name';
      throw refused(`its manifest.json names a file that is none of the lake: "${shortened(path)}"`, elsewhere);
    }
  }
}

function isOfLake({ table, from, to, path }: Readonly<Record<string, unknown>>, tables: object): boolean {
  if (typeof table !== 'string' || !Object.hasOwn(tables, table)) return false;
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return false;
  if (path === null) return true;
  const start = `${table}/from=${String(from)}-to=${String(to)}`;
  return typeof path === 'string' && path.startsWith(start) && /^(\.r\d+)?\.parquet$/.test(path.slice(start.length));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shortened(text: string): string {
  return text.slice(0, mostNamed);
}

function refuseOther(manifest: Manifest, { participant, filterHash, shape }: LakeIdentity): void {
  const known = manifest.participant;
  if (known !== null && participant !== null && known !== participant) {
    throw refused(`it is the lake of participant ${known}, the database is of ${participant}`, elsewhere);
  }
  if (manifest.filterHash !== filterHash || manifest.shape !== shape) {
    throw refused('it is the lake of another filter or shape than the database has', elsewhere);
  }
}

const elsewhere = 'name another folder with --to, an empty one for a new lake';
