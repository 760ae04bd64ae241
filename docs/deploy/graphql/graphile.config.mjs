// PostGraphile 5 over the views for readers, with the keys and relations written by `ledger-indexer graphql --postgraphile`.
// docs/how-to/integrate/graphql.md describes the environment variables.
import { readFileSync, watchFile } from 'node:fs';
import { makePgService } from 'postgraphile/adaptors/pg';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { pgSmartTagsFromFile } from 'postgraphile/utils';
import { PostGraphileConnectionFilterPreset } from 'postgraphile-plugin-connection-filter';
import { derivedPlugin } from './derived.mjs';
import { maskError } from './errors.mjs';
import { LimitsPlugin } from './limits.mjs';
import { OverloadsPlugin } from './overloads.mjs';
import { readerOf } from './readers.mjs';
import { selectionsPlugin } from './selections.mjs';

const {
  DATABASE_URL_FILE,
  DATABASE_URL = DATABASE_URL_FILE && readFileSync(DATABASE_URL_FILE, 'utf8').trim(),
  POSTGRES_SCHEMA = 'ledger',
  GRAPHQL_TAGS_FILE = 'postgraphile.tags.json5',
  GRAPHQL_EXIT_ON_CHANGE = 'false',
  GRAPHQL_HOST = '127.0.0.1',
  GRAPHQL_PORT = '5678',
  GRAPHQL_MAX_CONNECTIONS = '10',
  GRAPHQL_MAX_ROWS = '1000',
  GRAPHQL_MAX_SELECTIONS = '1000',
} = process.env;

const prefix = POSTGRES_SCHEMA === 'ledger' ? '' : `${POSTGRES_SCHEMA}_`;
const schemas = [`${prefix}explore`, `${prefix}typed`];
/** Schema of projections that users added. */
const derived = `${prefix}derived`;
const tagsFile = `${GRAPHQL_TAGS_FILE.startsWith('/') ? '' : `${process.cwd()}/`}${GRAPHQL_TAGS_FILE}`;

/** Operators that indexes and the planner support: no patterns, which would read everything. */
const operators =
  'isNull equalTo notEqualTo in notIn lessThan lessThanOrEqualTo greaterThan greaterThanOrEqualTo contains containedBy overlaps';

// New views need a new schema: the supervisor restarts the process.
if (GRAPHQL_EXIT_ON_CHANGE === 'true') {
  watchFile(tagsFile, { interval: 2000 }, (now, before) => {
    if (now.mtimeMs === before.mtimeMs) return;
    console.log('tags changed: exiting for a restart');
    process.exit(0);
  });
}

export default {
  extends: [PostGraphileAmberPreset, PostGraphileConnectionFilterPreset],
  plugins: [
    pgSmartTagsFromFile(tagsFile),
    OverloadsPlugin,
    derivedPlugin(derived),
    LimitsPlugin,
    selectionsPlugin(Number(GRAPHQL_MAX_SELECTIONS)),
  ],
  // Disabled, because node ids would have the names of columns, and a default order may sort the complete history.
  disablePlugins: ['NodePlugin', 'PgConnectionArgOrderByDefaultValuePlugin'],
  pgServices: [
    makePgService({
      connectionString: DATABASE_URL,
      schemas: [...schemas, derived],
      pubsub: false,
      poolConfig: { max: Number(GRAPHQL_MAX_CONNECTIONS), application_name: 'ledger-indexer graphql' },
    }),
  ],
  schema: {
    maxRows: Number(GRAPHQL_MAX_ROWS),
    connectionFilterAllowedOperators: operators.split(' '),
    connectionFilterComputedColumns: false,
    connectionFilterRelations: false,
  },
  grafast: { context: (request) => readerOf(request, schemas) },
  grafserv: { host: GRAPHQL_HOST, port: Number(GRAPHQL_PORT), graphqlOverGET: false, maskError },
};
