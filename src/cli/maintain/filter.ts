/**
 * `filter`: prints the filter in force and how the configured filter differs. `filter extend` adds to it while the
 * indexer runs, and `filter accept` replaces it from the checkpoint on.
 */
import { type Config, loadConfig } from '../../config/config.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import { addedParts, keptFilter, type FilterPart, type KeptFilter } from '../../model/stream.ts';
import type { Database } from '../../store/connection/database.ts';
import { aligned } from '../command-line/aligned.ts';
import { type Command, json, type Print, writing, yes } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { withStream } from '../database/maintenance.ts';
import { acceptConfiguredFilter } from './accept-filter.ts';
import { extendFilter, partText } from './extend-filter.ts';

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
    yes,
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
  exits: writing,
  page: 'docs/how-to/change/extend-filter.md',
  /**
   * @throws IndexerError USAGE, FILTER_EXTEND_REFUSED, FILTER_ACCEPT_REFUSED, JOB_REFUSED, WRITER_ACTIVE and errors of
   * the ledger
   */
  run: async ({ args, env, stop, print }) => {
    const action = actions.find((known) => known === args.operands[0]);
    refuseStrayFlags(args, action);
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
function refuseStrayFlags(args: Args, action: (typeof actions)[number] | undefined): void {
  const own: readonly string[] = flagsOf[action ?? 'none'];
  const stray = Object.values(flagsOf)
    .flat()
    .find((flag) => args.has(flag) && !own.includes(flag));
  if (stray === undefined) return;
  throw misuse(
    `--${stray} is not a flag of filter${action === undefined ? ' without an action' : ` ${action}`}`,
    usage,
  );
}

/** Maximum updates per second if history is requested. @throws IndexerError USAGE */
function historyRate(args: Args): number | undefined {
  const text = args.text('rate');
  if (text !== undefined && !args.has('with-history')) {
    throw misuse('--rate needs --with-history', 'add --with-history');
  }
  if (!args.has('with-history')) return undefined;
  const rate = Number(text ?? defaultRate);
  if (Number.isSafeInteger(rate) && rate > 0) return rate;
  throw misuse('--rate takes a number of updates per second, at least 1', usage);
}

/** The output of `filter --json`. */
interface Listing {
  readonly schema: string;
  /** Null if nothing is indexed yet. */
  readonly inForce: KeptFilter | null;
  readonly configured: KeptFilter;
  /** Added parts. The name `*` means all parties or templates. Blobs and topology have no name. */
  readonly adds: readonly FilterPart[];
  readonly leavesOut: readonly FilterPart[];
}

async function printFilter(database: Database, { ledger }: Config, asJson: boolean, print: Print): Promise<void> {
  const { readStream } = await import('../../store/history/maintenance.ts');
  const stream = await readStream(database);
  const configured = inOrder(keptFilter(filterFingerprint(ledger).json));
  const inForce = stream === undefined ? null : inOrder(keptFilter(stream.filter));
  const adds = addedParts(inForce ?? configured, configured);
  const leavesOut = inForce === null ? [] : addedParts(configured, inForce);
  const listing: Listing = { schema: database.schema, inForce, configured, adds, leavesOut };
  if (asJson) return print(JSON.stringify(listing));
  for (const line of linesOf(listing)) print(line);
}

/** Gives the keys a fixed order, because jsonb does not keep it. */
function inOrder({ parties, templates, interfaces, createdEventBlobs, topology, shape }: KeptFilter): KeptFilter {
  return { parties, templates, interfaces, createdEventBlobs, topology, shape };
}

function linesOf({ schema, inForce, configured, adds, leavesOut }: Listing): readonly string[] {
  if (inForce === null) {
    return [
      `nothing is indexed in schema "${schema}" yet; the indexer starts with the configured filter:`,
      ...filterLines(configured),
    ];
  }
  const currentLines = [`filter in force in schema "${schema}":`, ...filterLines(inForce)];
  const sameShape = inForce.shape === configured.shape;
  if (sameShape && adds.length + leavesOut.length === 0)
    return [...currentLines, 'the configured filter is the one in force'];
  return [
    ...currentLines,
    ...listed('the configured filter adds:', adds.map(partText)),
    ...listed('the configured filter leaves out:', leavesOut.map(leftOutText)),
    ...(sameShape ? [] : [`the configured shape is ${configured.shape}`]),
    ...(sameShape && leavesOut.length === 0 ? ['to add it while the indexer runs: ledger-indexer filter extend'] : []),
    'to replace the filter from the checkpoint on, with the indexer stopped or parked: ledger-indexer filter accept',
  ];
}

function listed(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

function leftOutText(part: FilterPart): string {
  return part.name === '*' ? `every other ${part.kind}` : partText(part);
}

function filterLines(filter: KeptFilter): readonly string[] {
  const names = (list: readonly string[], none: string): string => (list.length === 0 ? none : list.join(', '));
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
