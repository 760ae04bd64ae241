/** `status --sizes`: disk usage by groups of tables, growth, and the day when the disk is full. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { volume } from '../../config/option.ts';
import { runningServerUrl } from '../demo/optional-parts.ts';
import { databaseLabel, samePlace } from '../../store/connection/hosts.ts';
import { aligned } from '../command-line/aligned.ts';
import { bytesInWords, formatInteger } from '../command-line/amounts.ts';
import type { Call } from '../command-line/command.ts';
import type { CommandFlag, Args } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { withAnyDatabase } from '../database/with-database.ts';
import { sizeReport, type Room, type SizeReport } from './size-report.ts';

export const sizeFlags: readonly CommandFlag[] = [
  { name: 'sizes', doc: 'print disk usage and growth, and the day when the disk is full' },
  { name: 'disk', value: 'SIZE', type: volume, doc: 'with --sizes: size of the disk of Postgres, e.g. 500GB or 2TiB' },
  { name: 'free', value: 'SIZE', type: volume, doc: 'with --sizes: free space on that disk, as printed by `df`' },
];

/** @throws IndexerError USAGE for flags that exclude each other */
export function refuseOddSizes(args: Args): void {
  const [sizes, disk, free] = ['sizes', 'disk', 'free'].map((flag) => args.has(flag));
  const remedy = 'ledger-indexer status --sizes [--disk SIZE | --free SIZE] [--json]';
  if (sizes !== true && (disk === true || free === true)) throw misuse('--disk and --free need --sizes', remedy);
  if (disk === true && free === true) throw misuse('--disk and --free cannot be combined', remedy);
  if (sizes === true && args.has('watch')) throw misuse('--sizes cannot be combined with --watch', remedy);
}

/**
 * Prints text, or one object with `--json`.
 * @throws IndexerError CONFIGURATION_INVALID without a database; STORE_ errors
 */
export async function printSizes(config: Config, { args, print }: Call): Promise<void> {
  const { readSizes } = await import('../../store/reads/sizes.ts');
  const stored = await withAnyDatabase(config, { command: 'status', feature: 'status --sizes' }, readSizes);
  const report = sizeReport(stored, await roomOf(config, args), new Date());
  const { schema, url = '' } = config.database;
  const source = `database ${databaseLabel(url)}, schema "${schema}"`;
  if (args.has('json')) return print(JSON.stringify({ source, schema, ...report }));
  for (const line of sizeLines(source, report)) print(line);
}

/** Facts about the disk from the flags. For the embedded server of this folder, they are read from its disk. */
async function roomOf({ database, indexer }: Config, args: Args): Promise<Room> {
  const bytesOf = (flag: string): number | undefined => {
    const parsed = volume.parse(args.text(flag) ?? '');
    return 'value' in parsed ? parsed.value : undefined;
  };
  const [diskBytes, freeBytes] = [bytesOf('disk'), bytesOf('free')];
  if (diskBytes !== undefined) return { source: 'disk', diskBytes };
  if (freeBytes !== undefined) return { source: 'free', freeBytes };
  const embedded = await runningServerUrl(join(indexer.dataDir, 'postgres'));
  if (embedded === undefined || !samePlace(databaseLabel(embedded), databaseLabel(database.url ?? '')))
    return { source: null };
  const { bavail, bsize } = await statfs(indexer.dataDir);
  return { source: 'embedded', freeBytes: bavail * bsize };
}

const unknown = '-';

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
      ['elsewhere in the database', bytesInWords(bytes.elsewhere)],
      ...eventCells(report),
      ...growthCells(report),
      ...diskCells(report),
    ]),
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => `note: ${note}`)]),
  ];
}

const titles = ['tables', 'rows, about', 'heap', 'TOAST', 'indexes', 'all', 'share', 'of an event'];

function groupLines({ groups, bytes, bytesPerEvent }: SizeReport): readonly string[] {
  const all = { group: 'all', rows: null, ...bytes, bytesPerEvent };
  const cells = [...groups, all].map((row) => [
    row.group,
    row.rows === null ? unknown : formatInteger(row.rows),
    ...[row.heap, row.toast, row.indexes, row.total].map(bytesInWords),
    `${((100 * row.total) / Math.max(1, bytes.total)).toFixed(1)} %`,
    row.bytesPerEvent === null ? unknown : `${formatInteger(row.bytesPerEvent)} B`,
  ]);
  return aligned([titles, ...cells], { columns: [{}, ...titles.slice(1).map(() => ({ right: true }) as const)] });
}

type Cells = readonly (readonly string[])[];

function eventCells({ events, bytesPerEvent }: SizeReport): Cells {
  return [
    ['events, about', events === null ? unknown : formatInteger(events)],
    ['bytes of an event', bytesPerEvent === null ? unknown : formatInteger(bytesPerEvent)],
  ];
}

const minute = (time: Date): string => `${time.toISOString().slice(0, 16)}Z`;

function amount(events: number, bytes: number | null): string {
  const ofEvents = `${formatInteger(events)} events`;
  return bytes === null ? ofEvents : `${bytesInWords(bytes)}, ${ofEvents}`;
}

function growthCells({ growth }: SizeReport): Cells {
  if (growth === null) return [['growth of a day', unknown]];
  const { eventsPerDay, bytesPerDay, hours, to, days } = growth;
  return [
    ['growth of a day', `${amount(eventsPerDay, bytesPerDay)}, by ${String(hours)} hours up to ${minute(to)}`],
    ...days.map((day) => [`  up to ${minute(day.to)}`, amount(day.events, day.bytes)]),
  ];
}

const sources = { free: 'as given by --free', embedded: 'on the disk of the data folder', disk: 'of --disk' };

function diskCells({ disk: { source, free, daysLeft, fullAt } }: SizeReport): Cells {
  if (source === null || free === null) return [['free', unknown]];
  const full =
    daysLeft === null
      ? unknown
      : fullAt === null
        ? 'in more than a hundred years'
        : `in ${daysLeft < 10 ? daysLeft.toFixed(1) : formatInteger(daysLeft)} days, about ${fullAt.toISOString().slice(0, 10)}`;
  return [
    ['free', `${bytesInWords(free)}, ${sources[source]}`],
    ['full', full],
  ];
}
