/**
 * The table of all options: flag, environment variable, type, default and meaning. It is used for reading, masking,
 * checking and documenting the configuration, so that these cannot disagree.
 */
import { httpOptions } from './http-options.ts';
import {
  age,
  boolean,
  choice,
  database,
  databaseUrl,
  duration,
  endPoint,
  indexer,
  integer,
  patternType,
  optional,
  size,
  startType,
  text,
  withDefault,
  type Option,
} from './option.ts';
import { ledgerOptions, oauthOptions } from './ledger-options.ts';
import { demoOptions } from './demo-options.ts';
import { nodeTokenOptions } from './node-token-options.ts';
import { webhookOptions } from './webhook-options.ts';

const schemaName = patternType(
  'identifier',
  /^(?!pg_)[a-z_][a-z0-9_]{0,47}$/,
  'a lower-case identifier of at most 48 characters',
);

/** Options of the database and its sessions. */
const databaseOptions = {
  url: optional(
    database(
      'DATABASE_URL',
      'Postgres to write to: `postgres://user:password@host:port/database`, or several hosts as `h1:5432,h2:5432`.',
      {
        secret: 'url',
        fileVariant: true,
        unset: 'embedded Postgres',
      },
    ),
    databaseUrl,
  ),
  schema: withDefault(database('POSTGRES_SCHEMA', 'Schema of all tables.'), schemaName, 'ledger'),
  migrate: withDefault(
    database('POSTGRES_MIGRATE', 'Apply migrations at the start (`auto`), or reject an outdated schema (`never`).'),
    choice(['auto', 'never']),
    'auto',
  ),
  statementTimeoutMs: withDefault(
    database('POSTGRES_STATEMENT_TIMEOUT', 'Time limit of one statement.'),
    duration('100ms', '1h'),
    '60s',
  ),
} as const;

/** Options of the process. */
const indexerOptions = {
  ...httpOptions,
  queryPage: withDefault(
    indexer('INDEXER_QUERY_PAGE', 'Serve the SQL query page at `/query`, to this machine and to holders of a token.'),
    boolean,
    'true',
  ),
  queryPageUrl: optional(
    indexer(
      'INDEXER_QUERY_PAGE_DATABASE_URL',
      'Database and login of the query page, created by `grant-reader`. The server may be a standby.',
      {
        secret: 'url',
        fileVariant: true,
        unset: '`DATABASE_URL`; rejected if that login may do more than read',
      },
    ),
    databaseUrl,
  ),
  batchUpdates: withDefault(
    indexer('INDEXER_BATCH_UPDATES', 'Maximum number of updates in one database transaction.'),
    integer(1, 100_000),
    '1000',
  ),
  batchBytes: withDefault(
    indexer('INDEXER_BATCH_BYTES', 'Maximum number of received bytes in one database transaction.'),
    size('64KiB', '256MiB'),
    '8MiB',
  ),
  bufferUpdates: withDefault(
    indexer(
      'INDEXER_BUFFER_UPDATES',
      'Updates buffered in memory. When the buffer is full, the indexer pauses the stream.',
    ),
    integer(1, 1_000_000),
    '1000',
  ),
  bufferBytes: withDefault(
    indexer(
      'INDEXER_BUFFER_BYTES',
      'Bytes buffered in memory. When the buffer is full, the indexer pauses the stream.',
    ),
    size('64KiB', '2GiB'),
    '8MiB',
  ),
  writeConcurrency: withDefault(
    indexer(
      'INDEXER_WRITE_CONCURRENCY',
      'Batches written concurrently, each on its own connection. They commit in order.',
    ),
    integer(1, 4),
    '2',
  ),
  quarantine: withDefault(
    indexer(
      'INDEXER_QUARANTINE',
      'Quarantine updates that cannot be stored. Otherwise such an update stops the stream.',
    ),
    boolean,
    'false',
  ),
  unknownUpdates: withDefault(
    indexer(
      'INDEXER_UNKNOWN_UPDATES',
      'Handling of unknown update and topology-event kinds: `auto` parks if they name contracts and otherwise stores them raw; `park` always parks; `store` always stores them raw.',
    ),
    choice(['auto', 'park', 'store']),
    'auto',
  ),
  exerciseJson: optional(
    indexer(
      'INDEXER_EXERCISE_JSON',
      'Column type of exercise arguments and results in a new schema: `jsonb` (parsed), or `json` (the ledger’s text: faster writes, slower searches). Existing schemas keep their type; a different value is rejected.',
      { unset: 'the type of the schema; `jsonb` in a new one' },
    ),
    choice(['jsonb', 'json']),
  ),
  completions: withDefault(
    indexer(
      'INDEXER_COMPLETIONS',
      'Store completions of submitted commands: `auto` if the participant returns them to readers (from release 3.5.7), or `off`.',
    ),
    choice(['auto', 'off']),
    'auto',
  ),
  projections: withDefault(
    indexer(
      'INDEXER_PROJECTIONS',
      'Store rows of slow views, and of projections that users added, in the background, so that queries over a long history are fast: `all`, `built-in` without those of users, or `off`.',
    ),
    choice(['all', 'built-in', 'off']),
    'all',
  ),
  notify: withDefault(
    indexer('INDEXER_NOTIFY', 'Send `NOTIFY <schema>_offset` after each commit, with the checkpoint as payload.'),
    boolean,
    'true',
  ),
  logLevel: withDefault(
    indexer('INDEXER_LOG_LEVEL', 'Lowest severity that is logged.'),
    choice(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    'info',
  ),
  logFormat: withDefault(
    indexer(
      'INDEXER_LOG_FORMAT',
      'Format of log lines: `pretty` for people, `json` for programs. `auto` is `pretty` on a terminal and otherwise `json`.',
    ),
    choice(['auto', 'pretty', 'json']),
    'auto',
  ),
  stalledAfterMs: withDefault(
    indexer('INDEXER_STALLED_AFTER', 'Not ready (`stalled`) after this long behind the ledger without progress.'),
    duration('10ms', '24h'),
    '5m',
  ),
  ledgerTimeoutMs: withDefault(
    indexer(
      'INDEXER_LEDGER_TIMEOUT',
      'Not ready (`ledger_timeout`) after this long without a ledger-end response or a stream frame.',
    ),
    duration('100ms', '1h'),
    '10s',
  ),
  stopTimeoutMs: withDefault(
    indexer('INDEXER_STOP_TIMEOUT', 'Time to finish the current batch after SIGTERM.'),
    duration('100ms', '10m'),
    '10s',
  ),
  leaseMs: withDefault(
    indexer('INDEXER_LEASE', 'A standby takes over if the writer sends no heartbeat for this long.'),
    duration('1s', '10m'),
    '10s',
  ),
  pingIntervalMs: withDefault(
    indexer('INDEXER_PING_INTERVAL', 'Time between WebSocket pings. Two without a pong end the connection.'),
    duration('100ms', '10m'),
    '15s',
  ),
  idleProbeAfterMs: withDefault(
    indexer('INDEXER_IDLE_PROBE_AFTER', 'Idle time after which the indexer checks for offsets up to the ledger end.'),
    duration('1s', '10m'),
    '1s',
  ),
  start: withDefault(
    indexer(
      'INDEXER_START',
      'Where an empty database starts: `seed` (active contracts), `genesis`, `oldest` (first offset that is not pruned), or an offset.',
    ),
    startType,
    'seed',
  ),
  stopAt: optional(
    indexer(
      'INDEXER_STOP_AT',
      'Last offset to store, or `end` for the ledger end at the start. The process then exits with 0.',
      { unset: 'runs until it is stopped' },
    ),
    endPoint,
  ),
  retentionMs: optional(
    indexer('INDEXER_RETENTION', 'Age at which history is pruned, such as `90d`. Active contracts are kept.', {
      unset: 'history is not pruned',
    }),
    age('1m', '5000w'),
  ),
  retentionIntervalMs: withDefault(
    indexer('INDEXER_RETENTION_INTERVAL', 'Time between two passes of `INDEXER_RETENTION`.'),
    duration('100ms', '24h'),
    '10m',
  ),
  ...webhookOptions,
  retryMaxDelayMs: withDefault(
    indexer('INDEXER_RETRY_MAX_DELAY', 'Longest delay between two retries.'),
    duration('10ms', '1h'),
    '30s',
  ),
  progressTimeoutMs: withDefault(
    indexer(
      'INDEXER_PROGRESS_TIMEOUT',
      'With `INDEXER_STOP_AT` and in `backfill`: exit with the current failure if nothing could be stored for this long.',
    ),
    duration('1s', '24h'),
    '10m',
  ),
  traceUrlTemplate: optional(
    indexer(
      'INDEXER_TRACE_URL_TEMPLATE',
      'URL of a trace with `{trace_id}` in it, which `explain` prints for each update.',
      {
        unset: '`explain` prints the trace id',
      },
    ),
    patternType(
      'URL',
      /^https?:\/\/[^\s@]*\{trace_id\}[^\s@]*$/,
      'an http:// or https:// address with {trace_id} in it',
    ),
  ),
  dataDir: withDefault(
    indexer('INDEXER_DATA_DIR', 'Folder of the embedded Postgres and the sandbox.'),
    text,
    '.ledger-indexer',
  ),
  ...demoOptions,
} as const;

/** All options by section. Times are in milliseconds, sizes in bytes. */
export const options = {
  ledger: ledgerOptions,
  oauth: oauthOptions,
  database: databaseOptions,
  indexer: indexerOptions,
  nodeTokens: nodeTokenOptions,
} as const;

/** All options, in the order of the documentation. */
export const optionList: readonly Option<unknown>[] = Object.values(options).flatMap((section) =>
  Object.values(section),
);

/** The values of a section, each under the name of its option. */
export type Values<Section extends Readonly<Record<string, Option<unknown>>>> = {
  readonly [Name in keyof Section]: Section[Name] extends Option<infer Value> ? Value : never;
};
