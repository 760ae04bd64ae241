/** What `status --sizes` says: sizes by group of tables, bytes of an event, growth, and when there is no room left. Pure. */
import type { Bytes, IndexSize, StoredSizes, TableSize } from '../../store/reads/sizes.ts';
import { sizeGroups, type TableEntry } from '../../store/tables/entry.ts';
import { storedTables } from '../../store/tables/tables.ts';

/** What is known of the disk. */
export type Room =
  | { readonly source: 'free' | 'embedded'; readonly freeBytes: number }
  | { readonly source: 'disk'; readonly diskBytes: number }
  | { readonly source: null };

interface Group extends Bytes {
  readonly group: string;
  /** Of all its tables; null where of one of them nothing is known. */
  readonly rows: number | null;
  readonly bytesPerEvent: number | null;
}

interface Growth {
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

/** The keys are those of `--json`: docs/reference/endpoints.md describes them. Sizes are bytes, rows and events estimates. */
export interface SizeReport {
  readonly takenAt: Date;
  readonly server: { readonly version: string; readonly standby: boolean; readonly distributed: boolean };
  readonly bytes: Bytes & { readonly elsewhere: number; readonly database: number };
  readonly groups: readonly Group[];
  readonly tables: readonly (TableSize & { readonly group: string })[];
  readonly indexes: readonly IndexSize[];
  readonly events: number | null;
  readonly bytesPerEvent: number | null;
  readonly growth: Growth | null;
  readonly disk: {
    readonly source: Room['source'];
    readonly free: number | null;
    readonly daysLeft: number | null;
    readonly fullAt: Date | null;
  };
  /** What is not known or not in the figures, in sentences. */
  readonly notes: readonly string[];
}

/** A row of these is an event: a create, an assign or a seeded contract, an exercise, an archived event. */
const eventTables: ReadonlySet<string> = new Set(['contracts', 'exercises', 'archives']);

/** @param now when the sizes were read */
export function sizeReport(stored: StoredSizes, room: Room, now: Date): SizeReport {
  const { version, standby, distributed, databaseBytes } = stored.server;
  const all = sum(stored.tables);
  const events = rowsOf(stored.tables.filter(({ table }) => eventTables.has(table)));
  const bytesPerEvent = perEvent(all.total, events);
  const growth = growthOf(stored, bytesPerEvent);
  const disk = diskOf(stored, room, growth, now);
  const elsewhere = Math.max(0, databaseBytes - all.total);
  const report = {
    takenAt: now,
    server: { version, standby, distributed },
    bytes: { ...all, elsewhere, database: databaseBytes },
    groups: grouped(stored.tables, events),
    tables: stored.tables.map((table) => ({ ...table, group: groupOf(table.table) })),
    indexes: stored.indexes,
    events,
    bytesPerEvent,
    growth,
    disk,
  };
  return { ...report, notes: notesOn(report, stored, room) };
}

function groupOf(table: string): string {
  const stored: Readonly<Record<string, TableEntry | undefined>> = storedTables;
  return stored[table]?.sizes ?? 'other';
}

function grouped(tables: readonly TableSize[], events: number | null): readonly Group[] {
  return [...sizeGroups, 'other'].flatMap((group) => {
    const own = tables.filter(({ table }) => groupOf(table) === group);
    const bytes = sum(own);
    return own.length === 0
      ? []
      : [{ group, rows: rowsOf(own), ...bytes, bytesPerEvent: perEvent(bytes.total, events) }];
  });
}

function sum(tables: readonly Bytes[]): Bytes {
  const of = (part: keyof Bytes): number => tables.reduce((bytes, table) => bytes + table[part], 0);
  return { heap: of('heap'), toast: of('toast'), indexes: of('indexes'), total: of('total') };
}

function rowsOf(tables: readonly TableSize[]): number | null {
  return tables.reduce<number | null>((all, { rows }) => (all === null || rows === null ? null : all + rows), 0);
}

function perEvent(bytes: number, events: number | null): number | null {
  return events === null || events === 0 ? null : Math.round((10 * bytes) / events) / 10;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function growthOf({ growth }: StoredSizes, bytesPerEvent: number | null): Growth | null {
  if (growth === undefined) return null;
  const { from, to, events, days } = growth;
  const hours = Math.round((to.getTime() - from.getTime()) / hourMs);
  const eventsPerDay = Math.round((events * 24) / hours);
  const bytes = (count: number): number | null => (bytesPerEvent === null ? null : Math.round(count * bytesPerEvent));
  const withBytes = days.map((day) => ({ ...day, bytes: bytes(day.events) }));
  return { from, to, hours, events, eventsPerDay, bytesPerDay: bytes(eventsPerDay), days: withBytes };
}

/** Farther away a day says nothing. */
const daysAtMost = 36_500;

function diskOf({ server }: StoredSizes, room: Room, growth: Growth | null, now: Date): SizeReport['disk'] {
  const free = freeOf(server, room);
  const perDay = growth?.bytesPerDay ?? 0;
  const daysLeft = free === null || perDay === 0 ? null : Math.round((10 * free) / perDay) / 10;
  const fullAt = daysLeft === null || daysLeft > daysAtMost ? null : new Date(now.getTime() + daysLeft * dayMs);
  return { source: room.source, free, daysLeft, fullAt };
}

/** Of a disk the databases take their part, and a checkpoint cycle its write-ahead log. */
function freeOf({ databasesBytes, walBytes }: StoredSizes['server'], room: Room): number | null {
  if (room.source === null) return null;
  return room.source === 'disk' ? Math.max(0, room.diskBytes - databasesBytes - walBytes) : room.freeBytes;
}

/** With fewer the pages that empty tables take weigh. */
const enoughEvents = 100_000;

function notesOn(
  { server, events, growth, disk }: Omit<SizeReport, 'notes'>,
  { tables, indexes, prunedToOffset, server: { databasesUnseen } }: StoredSizes,
  room: Room,
): readonly string[] {
  const uncounted = tables.filter(({ rows }) => rows === null).map(({ table }) => table);
  const invalid = indexes.filter(({ valid }) => !valid).map(({ index }) => index);
  const notes: readonly (readonly [boolean, string])[] = [
    [tables.length === 0, 'the role sees no tables in this schema: is it the right one?'],
    [
      uncounted.length > 0,
      `rows not counted yet of ${uncounted.join(', ')}: autovacuum will, or \`analyze\`${server.standby ? ' on the primary' : ''}`,
    ],
    [events !== null && events < enoughEvents, 'few events: bytes of an event include what empty tables take'],
    [growth === null, 'growth is not known: no whole hour of record time is here, or the role may not read it'],
    [
      prunedToOffset !== undefined,
      `history up to offset ${String(prunedToOffset)} was pruned: its place is used again, so files grow more slowly than this says`,
    ],
    [
      server.distributed,
      'tables may be distributed by Citus: sizes and rows are those of this node, its workers have more',
    ],
    [server.standby, 'a standby: its disk may be another one than that of the primary'],
    [invalid.length > 0, `no query uses ${invalid.join(', ')}: builds that failed; drop them`],
    [room.source === null, 'what is free is not known: Postgres does not tell; give --free or --disk'],
    [
      room.source === 'disk',
      'free is --disk less all databases and max_wal_size; what slots, archives and other programs keep is not in it',
    ],
    [
      room.source === 'disk' && databasesUnseen > 0,
      `${String(databasesUnseen)} databases whose size the role may not ask for are not taken off --disk`,
    ],
    [disk.free !== null && disk.daysLeft === null && growth !== null, 'nothing grew: there is no day it is full on'],
  ];
  return notes.flatMap(([applies, note]) => (applies ? [note] : []));
}
