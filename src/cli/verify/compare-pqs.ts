/**
 * `compare-pqs`: compares a PQS database with this database at an offset, through functions that both have. Writes to
 * neither.
 */
import { loadConfig, type Config } from '../../config/config.ts';
import { integer } from '../../config/option.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { json, type Call, type Command } from '../command-line/command.ts';
import { addressFromFlags, type DatabaseAddress } from '../command-line/database-address.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { openFor, withDatabase } from '../database/with-database.ts';
import type { PqsComparison, ComparisonRequest } from './pqs-comparison.ts';

const usageWords = '--pqs URL | --pqs-file FILE [--pqs-schema S] [--at OFFSET] [--ranges N] [--contents] [--json]';
const usage = `ledger-indexer compare-pqs ${usageWords}`;

/** Number of ranges that one statement counts on each side. */
const parts = integer(1, 1_000);

export const comparePqsCommand: Command = {
  name: 'compare-pqs',
  usage: usageWords,
  summary: 'compare a PQS database of the same participant with this database',
  does: [
    'Calls the same functions of both databases at the newest common offset: active contracts, creates, archives and',
    'exercises by template, interface and choice. If a count or the ids differ, it names the rows. It only reads; the PQS may',
    'keep running.',
  ],
  operands: [],
  flags: [
    { name: 'pqs', value: 'URL', doc: 'database of the PQS, as postgres://user@host:port/database' },
    { name: 'pqs-file', value: 'FILE', doc: 'file with the URL, for a URL that contains a password' },
    { name: 'pqs-schema', value: 'S', doc: 'schema of the PQS; default public' },
    {
      name: 'at',
      value: 'OFFSET',
      type: integer(0, Number.MAX_SAFE_INTEGER),
      doc: 'compare at this offset; default the newest',
    },
    { name: 'ranges', value: 'N', type: parts, doc: 'number of offset ranges in which events are counted; default 10' },
    {
      name: 'contents',
      doc: 'also compare payloads, arguments and results; reads all of them',
    },
    json,
  ],
  examples: [
    'compare-pqs --pqs-file /run/secrets/pqs-url',
    'compare-pqs --pqs-file /run/secrets/pqs-url --at 120000 --contents --json',
  ],
  exits: [
    [0, 'this database has everything that the PQS has'],
    [1, 'a difference was found'],
    [2, 'undecided'],
    [69, 'one of the databases cannot be reached'],
    [77, 'the role may not read the tables'],
  ],
  page: 'docs/get-started/migrate-from-pqs.md',
  /**
   * @throws IndexerError USAGE, CONFIGURATION_INVALID, COMPARE_IMPOSSIBLE, INTERRUPTED, SCHEMA_OUTDATED and STORE_
   * errors
   */
  run: async (call) => {
    const { args, env, print } = call;
    const pqsAddress = pqsLocation(args);
    const comparison = await compareAt(loadConfig(env, args.options), pqsAddress, call);
    const { pqsReport } = await import('./pqs-report.ts');
    if (args.has('json')) print(JSON.stringify(comparison, undefined, 2));
    else for (const line of pqsReport(comparison)) print(line);
    const { differences, onlyPqs: missingFromIndexer } = comparison;
    return differences.length + missingFromIndexer.length === 0 ? ExitCode.stopped : ExitCode.different;
  },
};

/** Milliseconds. The complete history is read once or twice. */
const statementTimeoutMs = 4 * 60 * 60_000;
const openOptions = {
  command: 'compare-pqs',
  feature: 'compare-pqs',
  statementTimeoutMs,
  idleInTransactionMs: statementTimeoutMs,
} as const;

interface PqsLocation extends DatabaseAddress {
  readonly schema: string;
}

/** @throws IndexerError USAGE */
function pqsLocation(args: Args): PqsLocation {
  const address = addressFromFlags(args, 'pqs', usage);
  if (address === undefined) throw commandUsageError('compare-pqs needs --pqs or --pqs-file');
  return { ...address, schema: args.text('pqs-schema') ?? 'public' };
}

function commandUsageError(message: string): IndexerError {
  return usageError(message, usage);
}

async function compareAt(config: Config, location: PqsLocation, { args, stop }: Call): Promise<PqsComparison> {
  const { inSnapshot: withReadSnapshot } = await import('../../store/reads/snapshot-read.ts');
  const { readSchemas } = await import('../../store/connection/read-schemas.ts');
  const { PqsSide } = await import('../../store/verify/pqs-side.ts');
  const { comparePqs: compareWithPqs } = await import('./pqs-comparison.ts');
  const offsetText = args.text('at');
  const request: ComparisonRequest = {
    at: offsetText === undefined ? undefined : Number(offsetText),
    parts: Number(args.text('ranges') ?? 10),
    stop,
  };
  const contents = args.has('contents');
  const pqsConfig = { ...config, database: { ...config.database, ...location } };
  return withDatabase(config, openOptions, async (database) => {
    const pqs = await openFor(pqsConfig, openOptions);
    try {
      // Each side is read in one snapshot. Offsets that both have no longer change, but the pruned offset may.
      return await withReadSnapshot(database, (indexer) =>
        withReadSnapshot(pqs, (pqsSnapshot) => {
          const databases = {
            pqs: new PqsSide(pqsSnapshot, location.schema, contents),
            indexer: new PqsSide(indexer, readSchemas(database.schema).pqs, contents),
          };
          return compareWithPqs(databases, request);
        }),
      );
    } finally {
      await pqs.close();
    }
  });
}
