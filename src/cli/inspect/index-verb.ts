/** `index suggest` and `index create`: indexes on payload fields that are often looked for, built while others write. */
import { loadConfig } from '../../config/config.ts';
import type { Database } from '../../store/connection/database.ts';
import { adviseIndexes, payloadExpression, payloadIndex, printedIndex } from '../../store/reads/index-advice.ts';
import { buildIndex, keepStatistics } from '../../store/reads/index-build.ts';
import { parse } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { commandNamed } from '../table/command-table.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = `ledger-indexer index suggest
  ledger-indexer index create payload.FIELD [--using hash]`;

const opening = { command: 'index', remedy: 'name the database' };

/** @throws IndexerError USAGE, CONFIGURATION_INVALID, or what Postgres refuses */
export async function indexCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (line: string) => void,
): Promise<void> {
  const given = parse(commandNamed('index'), argv);
  const config = loadConfig(given.options, env);
  const [action, field = ''] = given.operands;
  if (action === 'suggest') {
    if (field !== '' || given.has('using')) throw misuse('index suggest takes nothing more', usage);
    return withDatabase(config, opening, (database) => suggest(database, write));
  }
  const expression = payloadExpression(field);
  if (expression === undefined) throw misuse(`"${field.slice(0, 80)}" is no field of a payload`, usage);
  const method = given.text('using') ?? 'btree';
  if (method !== 'btree' && method !== 'hash') throw misuse('--using takes btree or hash', usage);
  await withDatabase(config, opening, (database) => create(database, { expression, method }, write));
}

async function suggest(database: Database, write: (line: string) => void): Promise<void> {
  const advice = await adviseIndexes(database);
  if (advice === undefined) {
    write('pg_stat_statements is not at work here, and without it nobody knows which statements are slow. To get it:');
    write(
      "  set shared_preload_libraries = 'pg_stat_statements' for the server (a parameter of managed ones) and restart it,",
    );
    write('  then run in this database: create extension pg_stat_statements;');
    return;
  }
  if (advice.length === 0) write('no slow statement filters on a field of a payload');
  for (const { expression, statement, calls, meanMs } of advice) {
    // On one line: what is printed is run with psql, and a line break would end the comment.
    write(`-- ${expression.replaceAll(/\s+/g, ' ')}: ${calls} calls, ${meanMs.toFixed(1)} ms each`);
    if (statement !== undefined) {
      write('-- (pg_stat_statements does not keep which field: find it where the statement comes from, and run');
      write(`--  ledger-indexer index create payload.FIELD) ${statement.slice(0, 300)}`);
      continue;
    }
    if (!expression.startsWith('payload ')) {
      write('-- (no field of contracts: consider an index on exercises by hand)');
      continue;
    }
    for (const line of printedIndex(database.schema, payloadIndex(expression, 'btree'))) write(line);
  }
}

interface Wanted {
  readonly expression: string;
  readonly method: 'btree' | 'hash';
}

async function create(database: Database, wanted: Wanted, write: (line: string) => void): Promise<void> {
  const index = payloadIndex(wanted.expression, wanted.method);
  const built = await buildIndex(database, index.name, index.definition);
  await keepStatistics(database, `${index.name}_values`, index.statistics);
  write(`${built ? 'built' : 'there already'}: ${index.name} ${index.definition}`);
}
