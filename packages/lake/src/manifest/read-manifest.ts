/**
 * Reads the manifest of a lake. An export reads the files that it names, and removes replaced ones, so it must name
 * only files of the lake.
 */
import { createHash } from 'node:crypto';
import { refused } from '../errors/lake-error.ts';
import type { LakeStorage } from '../storage/lake-storage.ts';
import type { LakeFile, LakeIdentity, LakeRange, ManifestHead } from './entries.ts';
import { format, manifestName, version } from './head-text.ts';
import { Manifest } from './manifest.ts';
import { isSegmentPath, rangesPerSegment, Segment, type SegmentEntry, segmentPath } from './segment.ts';

type Fields = Readonly<Record<string, unknown>>;
type Tables = ManifestHead['tables'];

/**
 * Returns the manifest of the folder, or an empty one if the folder is empty.
 * @throws LakeError EXPORT_REFUSED if the folder contains other files, or the lake of another source
 */
export async function readManifest(folder: LakeStorage, identity: LakeIdentity): Promise<Manifest> {
  for (let head = await folder.read(manifestName); ;) {
    try {
      return await manifestOf(folder, head, identity);
    } catch (thrown) {
      // A concurrent export removes segments that only older heads name.
      const now = await folder.read(manifestName);
      if (now === head) throw thrown;
      head = now;
    }
  }
}

async function manifestOf(
  folder: LakeStorage,
  text: string | undefined,
  { participant, filterHash, shape }: LakeIdentity,
): Promise<Manifest> {
  const identity = { participant, filterHash, shape };
  if (text === undefined) {
    if (!(await folder.isEmpty())) throw refused('the folder has files, but no manifest of a lake', elsewhere);
    return new Manifest({ ...identity, until: null, coverage: [], tables: {} }, [], false);
  }
  const parsed = parsedHead(text);
  const tables = tablesOf(parsed);
  const { format: _format, version: found, ranges, files, segments, previousSegments, ...rest } = parsed;
  const head = { ...(rest as unknown as ManifestHead), tables };
  refuseOther(head, identity);
  const isStored = found === version;
  const read = isStored ? await readSegments(folder, segments, tables) : segmentsOf({ ranges, files }, tables);
  const known = { ...head, participant: head.participant ?? identity.participant };
  return new Manifest(known, read, isStored, previousSegmentsOf(previousSegments));
}

function parsedHead(text: string): Fields {
  let manifest: Fields;
  try {
    manifest = JSON.parse(text) as Fields;
  } catch (cause) {
    throw refused('its manifest.json is not valid JSON', elsewhere, cause);
  }
  if (manifest['format'] !== format) throw refused('its manifest.json is not a manifest of a lake', elsewhere);
  const found = manifest['version'];
  if (found !== 1 && found !== version) {
    throw refused(`its manifest.json has version ${String(found)}`, 'use the program that wrote it');
  }
  return manifest;
}

/** Name of a table or a typed view; also the folder of its files. */
const tableName = /^\w+(\.\w+)?$/;
const mostNamed = 80;

function tablesOf({ tables }: Fields): Tables {
  if (!isRecord(tables)) throw lacking('tables');
  for (const table of Object.keys(tables)) {
    if (!tableName.test(table)) throw refused(`its manifest.json has a table "${shortened(table)}"`, elsewhere);
  }
  return tables as Tables;
}

/** Segments of a manifest of version 1, which had all ranges and files in one file. */
function segmentsOf(lists: Fields, tables: Tables): readonly Segment[] {
  const { ranges, files } = checked(manifestName, lists, tables);
  const segments: Segment[] = [];
  for (let at = 0; at < ranges.length; at += rangesPerSegment) {
    const part = ranges.slice(at, at + rangesPerSegment);
    const [first, last] = [part[0]?.from ?? 0, part.at(-1)?.to ?? 0];
    segments.push(
      new Segment(
        part,
        files.filter(({ from }) => from >= first && from <= last),
      ),
    );
  }
  return segments;
}

/**
 * Segments that only the previous head names. Older lakes have none. These files are removed later, so each path must
 * be the path of a segment.
 */
function previousSegmentsOf(previousSegments: unknown = []): readonly string[] {
  if (!Array.isArray(previousSegments)) throw lacking('previousSegments');
  for (const path of previousSegments as readonly unknown[]) {
    if (typeof path === 'string' && isSegmentPath(path)) continue;
    throw refused(
      `its manifest.json names a segment that does not belong to the lake: "${shortened(String(path))}"`,
      elsewhere,
    );
  }
  return previousSegments as readonly string[];
}

async function readSegments(folder: LakeStorage, entries: unknown, tables: Tables): Promise<readonly Segment[]> {
  if (!Array.isArray(entries)) throw lacking('segments');
  const segments: Segment[] = [];
  for (const entry of entries as readonly unknown[]) segments.push(await readSegment(folder, entry, tables));
  return segments;
}

async function readSegment(folder: LakeStorage, entry: unknown, tables: Tables): Promise<Segment> {
  if (!isSegmentEntry(entry)) {
    const path = isRecord(entry) ? String(entry['path']) : 'of no name';
    throw refused(
      `its manifest.json names a segment that does not belong to the lake: "${shortened(path)}"`,
      elsewhere,
    );
  }
  const { path, sha256 } = entry;
  const text = await folder.read(path);
  if (text === undefined) throw refused(`${path}, which its manifest.json names, is missing`, bringBack);
  if (createHash('sha256').update(text).digest('hex') !== sha256) {
    throw refused(`${path} does not match its manifest.json: its SHA-256 differs`, bringBack);
  }
  const { ranges, files } = checked(path, JSON.parse(text) as Fields, tables);
  if (ranges.length !== entry.ranges || ranges[0]?.from !== entry.from || ranges.at(-1)?.to !== entry.to) {
    throw refused(`${path} has other ranges than its manifest.json`, bringBack);
  }
  return new Segment(ranges, files, entry);
}

function isSegmentEntry(entry: unknown): entry is SegmentEntry {
  if (!isRecord(entry)) return false;
  const { path, from, to, ranges, sha256 } = entry;
  if (![from, to, ranges].every(Number.isSafeInteger) || typeof sha256 !== 'string') return false;
  return /^[\da-f]{64}$/.test(sha256) && path === segmentPath({ from: Number(from), to: Number(to), sha256 });
}

/** Rejects names that an export could not have written, such as paths outside the lake and files of other ranges. */
function checked(
  name: string,
  { ranges, files }: Fields,
  tables: Tables,
): { readonly ranges: readonly LakeRange[]; readonly files: readonly LakeFile[] } {
  if (!Array.isArray(ranges) || !Array.isArray(files)) throw lacking('ranges or files', name);
  for (const file of files as readonly unknown[]) {
    if (isRecord(file) && isOfLake(file, tables)) continue;
    const path = isRecord(file) ? String(file['path']) : 'of no name';
    throw refused(`its ${name} names a file that does not belong to the lake: "${shortened(path)}"`, elsewhere);
  }
  return { ranges: ranges as readonly LakeRange[], files: files as readonly LakeFile[] };
}

function isOfLake({ table, from, to, path }: Fields, tables: object): boolean {
  if (typeof table !== 'string' || !Object.hasOwn(tables, table)) return false;
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return false;
  if (path === null) return true;
  const start = `${table}/from=${String(from)}-to=${String(to)}`;
  return typeof path === 'string' && path.startsWith(start) && /^(\.r\d+)?\.parquet$/.test(path.slice(start.length));
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shortened(text: string): string {
  return text.slice(0, mostNamed);
}

function refuseOther(head: ManifestHead, { participant, filterHash, shape }: LakeIdentity): void {
  const known = head.participant;
  if (known !== null && participant !== null && known !== participant) {
    throw refused(`the lake is of participant ${known}, but the database is of ${participant}`, elsewhere);
  }
  if (head.filterHash !== filterHash || head.shape !== shape) {
    throw refused('the lake has another filter or shape than the database', elsewhere);
  }
}

const elsewhere = 'choose another folder with --to; for a new lake, an empty one';
const bringBack = 'restore the file from a copy of the lake, or export into another, empty folder';

function lacking(what: string, name = manifestName) {
  return refused(`its ${name} lacks ${what}`, elsewhere);
}
