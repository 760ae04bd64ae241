/** `compare-pqs`: a PQS and this database at one offset, through the functions that both have. Changes nothing in either. */
import { loadConfig, type Config } from '../../config/config.ts';
import { integer } from '../../config/option.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { json, type Call, type Command } from '../command-line/command.ts';
import { givenAddress, type GivenAddress } from '../command-line/given-address.ts';
import type { Given } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { openFor, withDatabase } from '../database/with-database.ts';
import type { ComparedPqs, Wanted } from './pqs-comparison.ts';

const words = '--pqs URL | --pqs-file FILE [--pqs-schema S] [--at OFFSET] [--ranges N] [--contents] [--json]';
const usage = `ledger-indexer compare-pqs ${words}`;

/** Counted in one statement of either side. */
const parts = integer(1, 1_000);

export const comparePqsCommand: Command = {
  name: 'compare-pqs',
  usage: words,
  summary: 'compare a PQS of the same participant with this database: active contracts, creates, archives, exercises',
  does: [
    'Asks both the same functions at the newest offset that both have: active contracts and events by template, interface',
    'and choice. Where a count or the ids differ, the rows are named. Reads only; the PQS may run on.',
  ],
  operands: [],
  flags: [
    { name: 'pqs', value: 'URL', doc: 'database of the PQS, as postgres://user@host:port/database' },
    { name: 'pqs-file', value: 'FILE', doc: 'the same, with the URL in a file: it holds a password' },
    { name: 'pqs-schema', value: 'S', doc: 'schema of the PQS there; default: public' },
    {
      name: 'at',
      value: 'OFFSET',
      type: integer(0, Number.MAX_SAFE_INTEGER),
      doc: 'at this offset instead of the newest',
    },
    { name: 'ranges', value: 'N', type: parts, doc: 'count events in so many ranges of offsets; default: 10' },
    {
      name: 'contents',
      doc: 'payloads of active contracts, arguments and results of exercises too; reads all of them',
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
    [2, 'it could not be decided'],
    [69, 'one of the databases cannot be reached'],
    [77, 'the role may not read it'],
  ],
  page: 'docs/get-started/migrate-from-pqs.md',
  /** @throws IndexerError USAGE, CONFIGURATION_INVALID, COMPARE_IMPOSSIBLE, INTERRUPTED, SCHEMA_OUTDATED and STORE_ errors */
  run: async (call) => {
    const { given, env, print } = call;
    const there = placeOf(given);
    const compared = await compareAt(loadConfig(env, given.options), there, call);
    const { pqsReport } = await import('./pqs-report.ts');
    if (given.has('json')) print(JSON.stringify(compared, undefined, 2));
    else for (const line of pqsReport(compared)) print(line);
    const { differences, onlyPqs } = compared;
    return differences.length + onlyPqs.length === 0 ? ExitCode.stopped : ExitCode.different;
  },
};

/** Everything of a history is read once or twice. */
const statementTimeoutMs = 4 * 60 * 60_000;
const opening = {
  command: 'compare-pqs',
  feature: 'compare-pqs',
  statementTimeoutMs,
  idleInTransactionMs: statementTimeoutMs,
} as const;

interface There extends GivenAddress {
  readonly schema: string;
}

/** @throws IndexerError USAGE */
function placeOf(given: Given): There {
  const found = givenAddress(given, 'pqs', usage);
  if (found === undefined) throw wrong('compare-pqs needs the database of the PQS');
  return { ...found, schema: given.text('pqs-schema') ?? 'public' };
}

function wrong(found: string): IndexerError {
  return misuse(found, usage);
}

async function compareAt(config: Config, there: There, { given, stop }: Call): Promise<ComparedPqs> {
  const { inSnapshot } = await import('../../store/reads/snapshot-read.ts');
  const { readSchemas } = await import('../../store/connection/read-schemas.ts');
  const { PqsSide } = await import('../../store/verify/pqs-side.ts');
  const { comparePqs } = await import('./pqs-comparison.ts');
  const at = given.text('at');
  const wanted: Wanted = {
    at: at === undefined ? undefined : Number(at),
    parts: Number(given.text('ranges') ?? 10),
    stop,
  };
  const contents = given.has('contents');
  const configThere = { ...config, database: { ...config.database, ...there } };
  return withDatabase(config, opening, async (database) => {
    const pqs = await openFor(configThere, opening);
    try {
      // One state of each: offsets that both have do not change any more, but what is pruned does.
      return await inSnapshot(database, (indexer) =>
        inSnapshot(pqs, (theirs) => {
          const sides = {
            pqs: new PqsSide(theirs, there.schema, contents),
            indexer: new PqsSide(indexer, readSchemas(database.schema).pqs, contents),
          };
          return comparePqs(sides, wanted);
        }),
      );
    } finally {
      await pqs.close();
    }
  });
}
