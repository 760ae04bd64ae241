/** `index suggest` and `index create`: indexes on payload fields, built without blocking writers. */
import { nearestNames } from '../../errors/nearest-names.ts';
import { loadConfig } from '../../config/config.ts';
import type { PayloadIndexMethod } from '../../store/reads/index-advice.ts';
import type { Database } from '../../store/connection/database.ts';
import { writeExitCodes, type Command, type PrintLine } from '../command-line/command.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = `ledger-indexer index suggest
  ledger-indexer index create payload.FIELD [--using spgist|hash]`;

export const indexCommand: Command = {
  name: 'index',
  usage: 'suggest | create payload.FIELD [--using spgist|hash]',
  summary: 'suggest indexes for slow queries, or create an index on a payload field',
  does: [
    'suggest reads pg_stat_statements, if it is installed. create builds the index concurrently. Both kinds of index accept',
    'values of any length. A hash index is half as large, but slow to write if many contracts have the same value.',
  ],
  operands: [
    { name: 'ACTION', words: ['suggest', 'create'] },
    { name: 'payload.FIELD', optional: true },
  ],
  flags: [{ name: 'using', value: 'spgist|hash', doc: 'kind of index; default spgist' }],
  examples: ['index suggest', 'index create payload.owner'],
  exits: writeExitCodes,
  /** @throws IndexerError USAGE, CONFIGURATION_INVALID, errors of Postgres */
  run: async ({ args, env, print }) => {
    const config = loadConfig(env, args.options);
    const [action, field = ''] = args.operands;
    if (action === 'suggest') {
      if (field !== '' || args.has('using')) throw usageError('index suggest takes no arguments', usage);
      return withDatabase(config, { command: 'index', feature: 'index suggest' }, (database) =>
        suggest(database, print),
      );
    }
    const { payloadExpression } = await import('../../store/reads/index-advice.ts');
    const expression = payloadExpression(field);
    if (expression === undefined) throw usageError(`"${field.slice(0, 80)}" is not a payload field`, usage);
    const method = args.text('using') ?? 'spgist';
    if (method !== 'spgist' && method !== 'hash') throw usageError('--using takes spgist or hash', usage);
    const openOptions = { command: 'index', feature: 'index create' } as const;
    return withDatabase(config, openOptions, (database) => create(database, { expression, method }, print));
  },
};

async function suggest(database: Database, print: PrintLine): Promise<void> {
  const { adviseIndexes, payloadIndex, printedIndex: indexScript } = await import('../../store/reads/index-advice.ts');
  const advice = await adviseIndexes(database);
  if (advice === undefined) {
    print('pg_stat_statements is not active. Without it, slow statements are unknown. To activate it:');
    print(
      "  set shared_preload_libraries = 'pg_stat_statements' for the server (a parameter of managed ones) and restart it,",
    );
    print('  then run in this database: create extension pg_stat_statements;');
    return;
  }
  if (advice.length === 0) print('no slow statement filters on a payload field');
  for (const { expression, statement, calls, meanMs } of advice) {
    // The expression stays on one line: the output can be run with psql, and a line break would end the SQL comment.
    print(`-- ${expression.replaceAll(/\s+/g, ' ')}: ${calls} calls, ${meanMs.toFixed(1)} ms each`);
    if (statement !== undefined) {
      print(
        '-- (pg_stat_statements does not store the field: find it in the program that sends the statement, and run',
      );
      print(`--  ledger-indexer index create payload.FIELD) ${statement.slice(0, 300)}`);
      continue;
    }
    if (!expression.startsWith('payload ')) {
      print('-- (not a field of contracts: consider creating an index on exercises)');
      continue;
    }
    for (const line of indexScript(database.schema, payloadIndex(expression, 'spgist'))) print(line);
  }
}

interface IndexRequest {
  readonly expression: string;
  readonly method: PayloadIndexMethod;
}

async function create(database: Database, request: IndexRequest, print: PrintLine): Promise<void> {
  const { payloadIndex } = await import('../../store/reads/index-advice.ts');
  const { buildIndex, keepStatistics } = await import('../../store/reads/index-build.ts');
  const index = payloadIndex(request.expression, request.method);
  const buildResult = await buildIndex(database, index.name, index.definition);
  const { limitedRoles } = await import('../../store/roles/secure-views.ts');
  const limitedRoleNames = await database.withClient((client) => limitedRoles(client, database.schema));
  if (limitedRoleNames.length === 0) await keepStatistics(database, `${index.name}_values`, index.statistics);
  else {
    const { dropContentStatistics } = await import('../../store/roles/content-statistics.ts');
    await dropContentStatistics(database);
    print(
      `statistics of the field are disabled: EXPLAIN would reveal its values to ${limitedRoleNames.join(', ')}, limited to parties; ` +
        'plans of queries on the field may be worse',
    );
  }
  print(`${buildResult ? 'built' : 'already exists'}: ${index.name} ${index.definition}`);
  await printUnseenField(database, request.expression, print);
}

async function printUnseenField(database: Database, expression: string, print: PrintLine): Promise<void> {
  const { unseenField: findUnseenField } = await import('../../store/reads/index-build.ts');
  const keys = await findUnseenField(database, expression);
  if (keys === undefined) return;
  const field = /'\{?([^',}]*)/.exec(expression)?.[1] ?? '';
  const suggestions = nearestNames(field, keys);
  print(
    `no stored contract has this field yet, so the index is empty. Nearest fields: ${suggestions.length === 0 ? 'none' : suggestions.join(', ')}`,
  );
}
