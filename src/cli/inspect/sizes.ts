/** `status --sizes`: disk usage by groups of tables, growth, and the day when the disk is full. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { volume } from '../../config/option.ts';
import { runningServerUrl } from '../demo/optional-parts.ts';
import { databaseLabel, isSameDatabase } from '../../store/connection/hosts.ts';
import { aligned } from '../command-line/aligned.ts';
import { formatBytes, formatInteger } from '../command-line/amounts.ts';
import type { Call } from '../command-line/command.ts';
import type { CommandFlag, Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withAnyDatabase } from '../database/with-database.ts';
import { sizeReport, type DiskRoom, type SizeReport } from './size-report.ts';

export const sizeFlags: readonly CommandFlag[] = [
  { name: 'sizes', doc: 'print disk usage and growth, and the day when the disk is full' },
  { name: 'disk', value: 'SIZE', type: volume, doc: 'with --sizes: size of the disk of Postgres, e.g. 500GB or 2TiB' },
  { name: 'free', value: 'SIZE', type: volume, doc: 'with --sizes: free space on that disk, as printed by `df`' },
];

/** @throws IndexerError USAGE for flags that exclude each other */
export function assertSizeFlags(args: Args): void {
  const [sizes, disk, freeFlag] = ['sizes', 'disk', 'free'].map((flag) => args.has(flag));
  const remedy = 'ledger-indexer status --sizes [--disk SIZE | --free SIZE] [--json]';
  if (sizes !== true && (disk === true || freeFlag === true))
    throw usageError('--disk and --free need --sizes', remedy);
  if (disk === true && freeFlag === true) throw usageError('--disk and --free cannot be combined', remedy);
  if (sizes === true && args.has('watch')) throw usageError('--sizes cannot be combined with --watch', remedy);
}

/**
 * Prints text, or one object with `--json`.
 * @throws IndexerError CONFIGURATION_INVALID without a database; STORE_ errors
 */
export async function printSizes(config: Config, { args, print }: Call): Promise<void> {
  const { readSizes: readStoredSizes } = await import('../../store/reads/sizes.ts');
  const sizes = await withAnyDatabase(config, { command: 'status', feature: 'status --sizes' }, readStoredSizes);
  const report = sizeReport(sizes, await readDiskRoom(config, args), new Date());
  const { schema, url = '' } = config.database;
  const source = `database ${databaseLabel(url)}, schema "${schema}"`;
  if (args.has('json')) return print(JSON.stringify({ source, schema, ...report }));
  for (const line of sizeLines(source, report)) print(line);
}

/** Facts about the disk from the flags. For the embedded server of this folder, they are read from its disk. */
async function readDiskRoom({ database, indexer }: Config, args: Args): Promise<DiskRoom> {
  const bytesOf = (flag: string): number | undefined => {
    const parsed = volume.parse(args.text(flag) ?? '');
    return 'value' in parsed ? parsed.value : undefined;
  };
  const [diskBytes, freeBytes] = [bytesOf('disk'), bytesOf('free')];
  if (diskBytes !== undefined) return { source: 'disk', diskBytes };
  if (freeBytes !== undefined) return { source: 'free', freeBytes };
  const embeddedUrl = await runningServerUrl(join(indexer.dataDir, 'postgres'));
  if (embeddedUrl === undefined || !isSameDatabase(databaseLabel(embeddedUrl), databaseLabel(database.url ?? '')))
    return { source: null };
  const { bavail: availableBlocks, bsize: blockSize } = await statfs(indexer.dataDir);
  return { source: 'embedded', freeBytes: availableBlocks * blockSize };
}

const unknownMark = '-';

/** The report for a terminal. */
export function sizeLines(source: string, report: SizeReport): readonly string[] {
  const { server, bytes, notes } = report;
  const role = server.standby ? 'standby' : 'primary';
  return [
    `${source}, Postgres ${server.version}, ${role}`,
    '',
    ...groupLines(report),
    '',
    ...aligned([
      ['elsewhere in the database', formatBytes(bytes.elsewhere)],
      ...eventCells(report),
      ...growthCells(report),
      ...diskCells(report),
    ]),
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => `note: ${note}`)]),
  ];
}

const titles = ['tables', 'rows, about', 'heap', 'TOAST', 'indexes', 'all', 'share', 'of an event'];

function groupLines({ groups, bytes, bytesPerEvent }: SizeReport): readonly string[] {
  const totalRow = { group: 'all', rows: null, ...bytes, bytesPerEvent };
  const cells = [...groups, totalRow].map((row) => [
    row.group,
    row.rows === null ? unknownMark : formatInteger(row.rows),
    ...[row.heap, row.toast, row.indexes, row.total].map(formatBytes),
    `${((100 * row.total) / Math.max(1, bytes.total)).toFixed(1)} %`,
    row.bytesPerEvent === null ? unknownMark : `${formatInteger(row.bytesPerEvent)} B`,
  ]);
  return aligned([titles, ...cells], { columns: [{}, ...titles.slice(1).map(() => ({ right: true }) as const)] });
}

type Cells = readonly (readonly string[])[];

function eventCells({ events, bytesPerEvent }: SizeReport): Cells {
  return [
    ['events, about', events === null ? unknownMark : formatInteger(events)],
    ['bytes of an event', bytesPerEvent === null ? unknownMark : formatInteger(bytesPerEvent)],
  ];
}

const minute = (time: Date): string => `${time.toISOString().slice(0, 16)}Z`;

function amount(events: number, bytes: number | null): string {
  const eventCountText = `${formatInteger(events)} events`;
  return bytes === null ? eventCountText : `${formatBytes(bytes)}, ${eventCountText}`;
}

function growthCells({ growth }: SizeReport): Cells {
  if (growth === null) return [['growth of a day', unknownMark]];
  const { eventsPerDay, bytesPerDay, hours, to, days } = growth;
  return [
    ['growth of a day', `${amount(eventsPerDay, bytesPerDay)}, by ${String(hours)} hours up to ${minute(to)}`],
    ...days.map((day) => [`  up to ${minute(day.to)}`, amount(day.events, day.bytes)]),
  ];
}

const sources = { free: 'as given by --free', embedded: 'on the disk of the data folder', disk: 'of --disk' };

function diskCells({ disk: { source, free: freeBytes, daysLeft, fullAt: fullDate } }: SizeReport): Cells {
  if (source === null || freeBytes === null) return [['free', unknownMark]];
  const fullText =
    daysLeft === null
      ? unknownMark
      : fullDate === null
        ? 'in more than a hundred years'
        : `in ${daysLeft < 10 ? daysLeft.toFixed(1) : formatInteger(daysLeft)} days, about ${fullDate.toISOString().slice(0, 10)}`;
  return [
    ['free', `${formatBytes(freeBytes)}, ${sources[source]}`],
    ['full', fullText],
  ];
}
