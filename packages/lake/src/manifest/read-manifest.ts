/**
 * Reads the manifest of a lake. An export reads the files that it names, and removes replaced ones, so it must name
 * only files of the lake.
 */
import { createHash } from 'node:crypto';
import { refusedBy } from '../errors/lake-error.ts';
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
    } catch (error) {
      // A concurrent export removes segments that only older heads name.
      const now = await folder.read(manifestName);
      if (now === head) throw error;
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
    if (!(await folder.isEmpty()))
      throw refusedBy('the folder has files, but no manifest of a lake', otherFolderRemedy);
    return new Manifest({ ...identity, until: null, coverage: [], tables: {} }, [], false);
  }
  const manifestHead = parsedHead(text);
  const tables = tablesOf(manifestHead);
  const {
    format: _format,
    version: formatVersion,
    ranges,
    files,
    segments,
    previousSegments,
    ...otherFields
  } = manifestHead;
  const head = { ...(otherFields as unknown as ManifestHead), tables };
  refuseOther(head, identity);
  const isStored = formatVersion === version;
  const segmentRanges = isStored ? await readSegments(folder, segments, tables) : segmentsOf({ ranges, files }, tables);
  const identifiedHead = { ...head, participant: head.participant ?? identity.participant };
  return new Manifest(identifiedHead, segmentRanges, isStored, previousSegmentsOf(previousSegments));
}

function parsedHead(text: string): Fields {
  let manifest: Fields;
  try {
    manifest = JSON.parse(text) as Fields;
  } catch (cause) {
    throw refusedBy('its manifest.json is not valid JSON', otherFolderRemedy, cause);
  }
  if (manifest['format'] !== format)
    throw refusedBy('its manifest.json is not a manifest of a lake', otherFolderRemedy);
  const storedVersion = manifest['version'];
  if (storedVersion !== 1 && storedVersion !== version) {
    throw refusedBy(`its manifest.json has version ${String(storedVersion)}`, 'use the program that wrote it');
  }
  return manifest;
}

/** Name of a table or a typed view; also the folder of its files. */
const tableName = /^\w+(\.\w+)?$/;
const maxNamedPaths = 80;

function tablesOf({ tables }: Fields): Tables {
  if (!isRecord(tables)) throw manifestLacks('tables');
  for (const table of Object.keys(tables)) {
    if (!tableName.test(table))
      throw refusedBy(`its manifest.json has a table "${shortenText(table)}"`, otherFolderRemedy);
  }
  return tables as Tables;
}

/** Segments of a manifest of version 1, which had all ranges and files in one file. */
function segmentsOf(lists: Fields, tables: Tables): readonly Segment[] {
  const { ranges, files } = checked(manifestName, lists, tables);
  const segments: Segment[] = [];
  for (let segmentStart = 0; segmentStart < ranges.length; segmentStart += rangesPerSegment) {
    const rangeBatch = ranges.slice(segmentStart, segmentStart + rangesPerSegment);
    const [first, last] = [rangeBatch[0]?.from ?? 0, rangeBatch.at(-1)?.to ?? 0];
    segments.push(
      new Segment(
        rangeBatch,
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
  if (!Array.isArray(previousSegments)) throw manifestLacks('previousSegments');
  for (const path of previousSegments as readonly unknown[]) {
    if (typeof path === 'string' && isSegmentPath(path)) continue;
    throw refusedBy(
      `its manifest.json names a segment that does not belong to the lake: "${shortenText(String(path))}"`,
      otherFolderRemedy,
    );
  }
  return previousSegments as readonly string[];
}

async function readSegments(folder: LakeStorage, entries: unknown, tables: Tables): Promise<readonly Segment[]> {
  if (!Array.isArray(entries)) throw manifestLacks('segments');
  const segments: Segment[] = [];
  for (const entry of entries as readonly unknown[]) segments.push(await readSegment(folder, entry, tables));
  return segments;
}

async function readSegment(folder: LakeStorage, entry: unknown, tables: Tables): Promise<Segment> {
  if (!isSegmentEntry(entry)) {
    const path = isRecord(entry) ? String(entry['path']) : 'of no name';
    throw refusedBy(
      `its manifest.json names a segment that does not belong to the lake: "${shortenText(path)}"`,
      otherFolderRemedy,
    );
  }
  const { path, sha256 } = entry;
  const text = await folder.read(path);
  if (text === undefined) throw refusedBy(`${path}, which its manifest.json names, is missing`, restoreRemedy);
  if (createHash('sha256').update(text).digest('hex') !== sha256) {
    throw refusedBy(`${path} does not match its manifest.json: its SHA-256 differs`, restoreRemedy);
  }
  const { ranges, files } = checked(path, JSON.parse(text) as Fields, tables);
  if (ranges.length !== entry.ranges || ranges[0]?.from !== entry.from || ranges.at(-1)?.to !== entry.to) {
    throw refusedBy(`${path} has other ranges than its manifest.json`, restoreRemedy);
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
  if (!Array.isArray(ranges) || !Array.isArray(files)) throw manifestLacks('ranges or files', name);
  for (const file of files as readonly unknown[]) {
    if (isRecord(file) && isOfLake(file, tables)) continue;
    const path = isRecord(file) ? String(file['path']) : 'of no name';
    throw refusedBy(
      `its ${name} names a file that does not belong to the lake: "${shortenText(path)}"`,
      otherFolderRemedy,
    );
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

function shortenText(text: string): string {
  return text.slice(0, maxNamedPaths);
}

function refuseOther(head: ManifestHead, { participant, filterHash, shape }: LakeIdentity): void {
  const storedParticipant = head.participant;
  if (storedParticipant !== null && participant !== null && storedParticipant !== participant) {
    throw refusedBy(
      `the lake is of participant ${storedParticipant}, but the database is of ${participant}`,
      otherFolderRemedy,
    );
  }
  if (head.filterHash !== filterHash || head.shape !== shape) {
    throw refusedBy('the lake has another filter or shape than the database', otherFolderRemedy);
  }
}

const otherFolderRemedy = 'choose another folder with --to; for a new lake, an empty one';
const restoreRemedy = 'restore the file from a copy of the lake, or export into another, empty folder';

function manifestLacks(missingField: string, name = manifestName) {
  return refusedBy(`its ${name} lacks ${missingField}`, otherFolderRemedy);
}
