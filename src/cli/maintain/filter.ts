/**
 * `filter`: prints the filter in force and how the configured filter differs. `filter extend` adds to it while the
 * indexer runs, and `filter accept` replaces it from the checkpoint on.
 */
import { type Config, loadConfig } from '../../config/config.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import { addedParts, parseFilter, type FilterEntry, type StoredFilterSpec } from '../../model/stream.ts';
import type { Database } from '../../store/connection/database.ts';
import { aligned } from '../command-line/aligned.ts';
import { type Command, json, type PrintLine, writeExitCodes, yesFlag } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withStream } from '../database/maintenance.ts';
import { acceptConfiguredFilter } from './accept-filter.ts';
import { extendFilter, formatPart } from './extend-filter.ts';

const usage = `ledger-indexer filter [--json]
  ledger-indexer filter extend [--with-history [--rate N]] [--wait] [--yes]
  ledger-indexer filter accept [--yes]`;

/** Default rate for reading earlier history, in updates per second. */
const defaultRate = 500;
const actions = ['extend', 'accept'] as const;

export const filterCommand: Command = {
  name: 'filter',
  usage: '[--json] | extend [--with-history [--rate N]] [--wait] [--yes] | accept [--yes]',
  summary: 'print the filter in force; extend or replace it',
  does: [
    'Without an action: print the filter in force, and what the configured one adds and leaves out. Changes nothing.',
    'extend: add parties, templates, interfaces, blobs or topology while the indexer runs. The configured filter must include',
    'everything in force. The indexer follows the new parts within seconds and adds the contracts active before in the',
    'background. With --with-history it then adds earlier updates, newest first, as far back as this history reaches and the',
    'participant still has them. The options of the running indexer may stay as they are.',
    'accept: replace the filter from the checkpoint on, with the indexer stopped or parked. It may leave parts out. Contracts',
    'created before that only the new filter selects stay missing. Table coverage records where the filter changed.',
  ],
  operands: [{ name: 'ACTION', words: [...actions], optional: true }],
  flags: [
    yesFlag,
    { name: 'wait', doc: 'extend: print the progress and exit when it is complete' },
    { name: 'with-history', doc: 'extend: also add earlier updates and contracts, as job history' },
    { name: 'rate', value: 'N', doc: `with --with-history: at most N updates per second (${String(defaultRate)})` },
    json,
  ],
  examples: [
    'filter',
    'filter extend --yes --wait',
    'filter extend --yes --with-history --rate 200',
    'filter accept --yes',
  ],
  exits: writeExitCodes,
  page: 'docs/how-to/change/extend-filter.md',
  /**
   * @throws IndexerError USAGE, FILTER_EXTEND_REFUSED, FILTER_ACCEPT_REFUSED, JOB_REFUSED, WRITER_ACTIVE and errors of
   * the ledger
   */
  run: async ({ args, env, stop, print }) => {
    const action = actions.find((candidate) => candidate === args.operands[0]);
    assertOwnFlags(args, action);
    const history = historyRate(args);
    const config = loadConfig(env, args.options);
    const isDone = args.has('yes');
    if (action === undefined) {
      return await withStream(config, 'filter', (database) => printFilter(database, config, args.has('json'), print));
    }
    const feature = isDone ? (`filter ${action} --yes` as const) : (`filter ${action}` as const);
    await withStream(config, feature, async (database) => {
      if (action === 'accept') return await acceptConfiguredFilter(database, config, isDone, print);
      const request = { yes: isDone, wait: args.has('wait'), history };
      return await extendFilter(database, config, request, { print, stop });
    });
  },
};

const flagsOf = { none: ['json'], extend: ['yes', 'wait', 'with-history', 'rate'], accept: ['yes'] } as const;

/** @throws IndexerError USAGE */
function assertOwnFlags(args: Args, action: (typeof actions)[number] | undefined): void {
  const ownFlags: readonly string[] = flagsOf[action ?? 'none'];
  const strayFlag = Object.values(flagsOf)
    .flat()
    .find((flag) => args.has(flag) && !ownFlags.includes(flag));
  if (strayFlag === undefined) return;
  throw usageError(
    `--${strayFlag} is not a flag of filter${action === undefined ? ' without an action' : ` ${action}`}`,
    usage,
  );
}

/** Maximum updates per second if history is requested. @throws IndexerError USAGE */
function historyRate(args: Args): number | undefined {
  const text = args.text('rate');
  if (text !== undefined && !args.has('with-history')) {
    throw usageError('--rate needs --with-history', 'add --with-history');
  }
  if (!args.has('with-history')) return undefined;
  const rate = Number(text ?? defaultRate);
  if (Number.isSafeInteger(rate) && rate > 0) return rate;
  throw usageError('--rate takes a number of updates per second, at least 1', usage);
}

/** The output of `filter --json`. */
interface FilterListing {
  readonly schema: string;
  /** Null if nothing is indexed yet. */
  readonly inForce: StoredFilterSpec | null;
  readonly configured: StoredFilterSpec;
  /** Added parts. The name `*` means all parties or templates. Blobs and topology have no name. */
  readonly adds: readonly FilterEntry[];
  readonly leavesOut: readonly FilterEntry[];
}

async function printFilter(database: Database, { ledger }: Config, asJson: boolean, print: PrintLine): Promise<void> {
  const { readStream } = await import('../../store/history/maintenance.ts');
  const stream = await readStream(database);
  const configuredFilter = orderFilter(parseFilter(filterFingerprint(ledger).json));
  const filterInForce = stream === undefined ? null : orderFilter(parseFilter(stream.filter));
  const addedByConfig = addedParts(filterInForce ?? configuredFilter, configuredFilter);
  const droppedByConfig = filterInForce === null ? [] : addedParts(configuredFilter, filterInForce);
  const filterListing: FilterListing = {
    schema: database.schema,
    inForce: filterInForce,
    configured: configuredFilter,
    adds: addedByConfig,
    leavesOut: droppedByConfig,
  };
  if (asJson) return print(JSON.stringify(filterListing));
  for (const line of linesOf(filterListing)) print(line);
}

/** Gives the keys a fixed order, because jsonb does not keep it. */
function orderFilter({
  parties,
  templates,
  interfaces,
  createdEventBlobs,
  topology,
  shape,
}: StoredFilterSpec): StoredFilterSpec {
  return { parties, templates, interfaces, createdEventBlobs, topology, shape };
}

function linesOf({
  schema,
  inForce: filterInForce,
  configured: configuredFilter,
  adds: addedByConfig,
  leavesOut: droppedByConfig,
}: FilterListing): readonly string[] {
  if (filterInForce === null) {
    return [
      `nothing is indexed in schema "${schema}" yet; the indexer starts with the configured filter:`,
      ...filterLines(configuredFilter),
    ];
  }
  const currentLines = [`filter in force in schema "${schema}":`, ...filterLines(filterInForce)];
  const isSameShape = filterInForce.shape === configuredFilter.shape;
  if (isSameShape && addedByConfig.length + droppedByConfig.length === 0)
    return [...currentLines, 'the configured filter is the one in force'];
  return [
    ...currentLines,
    ...titledList('the configured filter adds:', addedByConfig.map(formatPart)),
    ...titledList('the configured filter leaves out:', droppedByConfig.map(formatOmittedPart)),
    ...(isSameShape ? [] : [`the configured shape is ${configuredFilter.shape}`]),
    ...(isSameShape && droppedByConfig.length === 0
      ? ['to add it while the indexer runs: ledger-indexer filter extend']
      : []),
    'to replace the filter from the checkpoint on, with the indexer stopped or parked: ledger-indexer filter accept',
  ];
}

function titledList(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

function formatOmittedPart(part: FilterEntry): string {
  return part.name === '*' ? `every other ${part.kind}` : formatPart(part);
}

function filterLines(filter: StoredFilterSpec): readonly string[] {
  const names = (list: readonly string[], emptyText: string): string =>
    list.length === 0 ? emptyText : list.join(', ');
  return aligned(
    [
      ['parties', names(filter.parties, 'all')],
      ['templates', names(filter.templates, 'all')],
      ['interfaces', names(filter.interfaces, 'none')],
      ['created event blobs', filter.createdEventBlobs ? 'yes' : 'no'],
      ['topology', filter.topology ? 'yes' : 'no'],
      ['shape', filter.shape],
    ],
    { indent: 2 },
  );
}
