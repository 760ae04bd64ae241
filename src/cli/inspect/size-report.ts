/**
 * The report of `status --sizes`: sizes by group of tables, bytes per event, growth, and the day when the disk is full.
 * Pure.
 */
import type { Bytes, IndexSize, StoredSizes, TableSize } from '../../store/reads/sizes.ts';
import { sizeGroups, type TableEntry } from '../../store/tables/entry.ts';
import { storedTables } from '../../store/tables/tables.ts';

/** Facts about the disk that are known. */
export type DiskRoom =
  | { readonly source: 'free' | 'embedded'; readonly freeBytes: number }
  | { readonly source: 'disk'; readonly diskBytes: number }
  | { readonly source: null };

interface Group extends Bytes {
  readonly group: string;
  /** Number of rows of all tables in the group; null if it is unknown for one of them. */
  readonly rows: number | null;
  readonly bytesPerEvent: number | null;
}

interface GrowthReport {
  readonly from: Date;
  readonly to: Date;
  readonly hours: number;
  readonly events: number;
  readonly eventsPerDay: number;
  readonly bytesPerDay: number | null;
  readonly days: readonly {
    readonly from: Date;
    readonly to: Date;
    readonly events: number;
    readonly bytes: number | null;
  }[];
}

/**
 * The keys are those of `--json`, which docs/reference/endpoints.md describes. Sizes are in bytes; rows and events are
 * estimates.
 */
export interface SizeReport {
  readonly takenAt: Date;
  readonly server: { readonly version: string; readonly standby: boolean; readonly distributed: boolean };
  readonly bytes: Bytes & { readonly elsewhere: number; readonly database: number };
  readonly groups: readonly Group[];
  readonly tables: readonly (TableSize & { readonly group: string })[];
  readonly indexes: readonly IndexSize[];
  readonly events: number | null;
  readonly bytesPerEvent: number | null;
  readonly growth: GrowthReport | null;
  readonly disk: {
    readonly source: DiskRoom['source'];
    readonly free: number | null;
    readonly daysLeft: number | null;
    readonly fullAt: Date | null;
  };
  /** Sentences about facts that are unknown or not included in the numbers. */
  readonly notes: readonly string[];
}

/** Tables in which each row is an event: a create, an assign or a seeded contract; an exercise; an archived event. */
const eventTables: ReadonlySet<string> = new Set(['contracts', 'exercises', 'archives']);

/** @param now time at which the sizes were read */
export function sizeReport(sizes: StoredSizes, diskRoom: DiskRoom, now: Date): SizeReport {
  const { version, standby, distributed, databaseBytes } = sizes.server;
  const tables = groupedTables(sizes);
  const totals = sum(tables);
  const events = rowsOf(sizes.tables.filter(({ table }) => eventTables.has(table)));
  const bytesPerEvent = bytesPerEventOf(totals.total, events);
  const growth = growthReport(sizes, bytesPerEvent);
  const disk = diskOf(sizes, diskRoom, growth, now);
  const otherBytes = Math.max(0, databaseBytes - totals.total);
  const report = {
    takenAt: now,
    server: { version, standby, distributed },
    bytes: { ...totals, elsewhere: otherBytes, database: databaseBytes },
    groups: groupTables(tables, events),
    tables,
    indexes: [...sizes.indexes, ...sizes.derived.indexes],
    events,
    bytesPerEvent,
    growth,
    disk,
  };
  return { ...report, notes: sizeNotes(report, sizes, diskRoom) };
}

/** Group of the tables in schema `derived`. */
const userGroup = 'user projections';

type GroupedTable = SizeReport['tables'][number];

function groupedTables({ tables, derived }: StoredSizes): readonly GroupedTable[] {
  return [
    ...tables.map((table) => ({ ...table, group: groupOf(table.table) })),
    ...derived.tables.map((table) => ({ ...table, group: userGroup })),
  ];
}

function groupOf(table: string): string {
  const entries: Readonly<Record<string, TableEntry | undefined>> = storedTables;
  return entries[table]?.sizes ?? 'other';
}

function groupTables(tables: readonly GroupedTable[], events: number | null): readonly Group[] {
  return [...sizeGroups, userGroup, 'other'].flatMap((group) => {
    const members = tables.filter((table) => table.group === group);
    const bytes = sum(members);
    return members.length === 0
      ? []
      : [{ group, rows: rowsOf(members), ...bytes, bytesPerEvent: bytesPerEventOf(bytes.total, events) }];
  });
}

function sum(tables: readonly Bytes[]): Bytes {
  const sumOf = (byteKind: keyof Bytes): number => tables.reduce((bytes, table) => bytes + table[byteKind], 0);
  return { heap: sumOf('heap'), toast: sumOf('toast'), indexes: sumOf('indexes'), total: sumOf('total') };
}

function rowsOf(tables: readonly TableSize[]): number | null {
  return tables.reduce<number | null>(
    (rowTotal, { rows }) => (rowTotal === null || rows === null ? null : rowTotal + rows),
    0,
  );
}

function bytesPerEventOf(bytes: number, events: number | null): number | null {
  return events === null || events === 0 ? null : Math.round((10 * bytes) / events) / 10;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function growthReport({ growth }: StoredSizes, bytesPerEvent: number | null): GrowthReport | null {
  if (growth === undefined) return null;
  const { from, to, events, days } = growth;
  const hours = Math.round((to.getTime() - from.getTime()) / hourMs);
  const eventsPerDay = Math.round((events * 24) / hours);
  const bytes = (count: number): number | null => (bytesPerEvent === null ? null : Math.round(count * bytesPerEvent));
  const withBytes = days.map((day) => ({ ...day, bytes: bytes(day.events) }));
  return { from, to, hours, events, eventsPerDay, bytesPerDay: bytes(eventsPerDay), days: withBytes };
}

/** Maximum number of days: a prediction beyond that has no meaning. */
const daysAtMost = 36_500;

function diskOf(
  { server }: StoredSizes,
  diskRoom: DiskRoom,
  growth: GrowthReport | null,
  now: Date,
): SizeReport['disk'] {
  const freeBytes = freeOf(server, diskRoom);
  const bytesPerDay = growth?.bytesPerDay ?? 0;
  const daysLeft = freeBytes === null || bytesPerDay === 0 ? null : Math.round((10 * freeBytes) / bytesPerDay) / 10;
  const fullDate = daysLeft === null || daysLeft > daysAtMost ? null : new Date(now.getTime() + daysLeft * dayMs);
  return { source: diskRoom.source, free: freeBytes, daysLeft, fullAt: fullDate };
}

/**
 * Free bytes of the disk. Other databases use a part of the disk, and a checkpoint cycle needs space for its
 * write-ahead log.
 */
function freeOf({ databasesBytes, walBytes }: StoredSizes['server'], diskRoom: DiskRoom): number | null {
  if (diskRoom.source === null) return null;
  return diskRoom.source === 'disk' ? Math.max(0, diskRoom.diskBytes - databasesBytes - walBytes) : diskRoom.freeBytes;
}

/** Minimum number of events: with fewer, the pages of almost empty tables distort the result. */
const minEventCount = 100_000;

function sizeNotes(
  { server, events, growth, disk }: Omit<SizeReport, 'notes'>,
  { tables, indexes, derived, prunedToOffset, server: { databasesUnseen } }: StoredSizes,
  diskRoom: DiskRoom,
): readonly string[] {
  const uncountedTables = [...tables, ...derived.tables].filter(({ rows }) => rows === null).map(({ table }) => table);
  const invalidIndexes = [...indexes, ...derived.indexes].filter(({ valid }) => !valid).map(({ index }) => index);
  const notes: readonly (readonly [boolean, string])[] = [
    [tables.length === 0, 'the role sees no tables in this schema; check POSTGRES_SCHEMA'],
    [
      uncountedTables.length > 0,
      `rows of ${uncountedTables.join(', ')} are not counted yet: wait for autovacuum, or run \`analyze\`${server.standby ? ' on the primary' : ''}`,
    ],
    [events !== null && events < minEventCount, 'few events: bytes per event include the size of empty tables'],
    [growth === null, 'growth is unknown: no complete hour of record time is stored, or the role may not read it'],
    [
      prunedToOffset !== undefined,
      `history up to offset ${String(prunedToOffset)} was pruned: its space is reused, so files grow more slowly than estimated`,
    ],
    [
      server.distributed,
      'tables may be distributed by Citus: sizes and rows are those of this node, without the workers',
    ],
    [server.standby, 'a standby: its disk may differ from the disk of the primary'],
    [invalidIndexes.length > 0, `invalid indexes of failed builds: drop ${invalidIndexes.join(', ')}`],
    [diskRoom.source === null, 'free space is unknown, because Postgres does not report it; pass --free or --disk'],
    [
      diskRoom.source === 'disk',
      'free space is --disk minus all databases and max_wal_size; it does not include slots, archives and other programs',
    ],
    [
      diskRoom.source === 'disk' && databasesUnseen > 0,
      `${String(databasesUnseen)} databases whose size the role may not read are not subtracted from --disk`,
    ],
    [disk.free !== null && disk.daysLeft === null && growth !== null, 'nothing grew, so the disk does not fill up'],
  ];
  return notes.flatMap(([applies, note]) => (applies ? [note] : []));
}
