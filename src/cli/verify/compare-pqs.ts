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
import { misuse } from '../command-line/refusals.ts';
import { openFor, withDatabase } from '../database/with-database.ts';
import type { ComparedPqs, ComparisonRequest } from './pqs-comparison.ts';

const words = '--pqs URL | --pqs-file FILE [--pqs-schema S] [--at OFFSET] [--ranges N] [--contents] [--json]';
const usage = `ledger-indexer compare-pqs ${words}`;

/** Number of ranges that one statement counts on each side. */
const parts = integer(1, 1_000);

export const comparePqsCommand: Command = {
  name: 'compare-pqs',
  usage: words,
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
    const there = pqsLocation(args);
    const compared = await compareAt(loadConfig(env, args.options), there, call);
    const { pqsReport } = await import('./pqs-report.ts');
    if (args.has('json')) print(JSON.stringify(compared, undefined, 2));
    else for (const line of pqsReport(compared)) print(line);
    const { differences, onlyPqs } = compared;
    return differences.length + onlyPqs.length === 0 ? ExitCode.stopped : ExitCode.different;
  },
};

/** Milliseconds. The complete history is read once or twice. */
const statementTimeoutMs = 4 * 60 * 60_000;
const opening = {
  command: 'compare-pqs',
  feature: 'compare-pqs',
  statementTimeoutMs,
  idleInTransactionMs: statementTimeoutMs,
} as const;

interface There extends DatabaseAddress {
  readonly schema: string;
}

/** @throws IndexerError USAGE */
function pqsLocation(args: Args): There {
  const found = addressFromFlags(args, 'pqs', usage);
  if (found === undefined) throw wrong('compare-pqs needs --pqs or --pqs-file');
  return { ...found, schema: args.text('pqs-schema') ?? 'public' };
}

function wrong(found: string): IndexerError {
  return misuse(found, usage);
}

async function compareAt(config: Config, there: There, { args, stop }: Call): Promise<ComparedPqs> {
  const { inSnapshot } = await import('../../store/reads/snapshot-read.ts');
  const { readSchemas } = await import('../../store/connection/read-schemas.ts');
  const { PqsSide } = await import('../../store/verify/pqs-side.ts');
  const { comparePqs } = await import('./pqs-comparison.ts');
  const at = args.text('at');
  const request: ComparisonRequest = {
    at: at === undefined ? undefined : Number(at),
    parts: Number(args.text('ranges') ?? 10),
    stop,
  };
  const contents = args.has('contents');
  const configThere = { ...config, database: { ...config.database, ...there } };
  return withDatabase(config, opening, async (database) => {
    const pqs = await openFor(configThere, opening);
    try {
      // Each side is read in one snapshot. Offsets that both have no longer change, but the pruned offset may.
      return await inSnapshot(database, (indexer) =>
        inSnapshot(pqs, (pqsSnapshot) => {
          const sides = {
            pqs: new PqsSide(pqsSnapshot, there.schema, contents),
            indexer: new PqsSide(indexer, readSchemas(database.schema).pqs, contents),
          };
          return comparePqs(sides, request);
        }),
      );
    } finally {
      await pqs.close();
    }
  });
}
