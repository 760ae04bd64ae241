/**
 * Every option of the program, once: its flag, environment variable, type, default and meaning. Reading, masking,
 * refusing and documenting configuration all work from this table, so none of them can disagree with another.
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
  identifier,
  identifierOr,
  indexer,
  integer,
  ledger,
  ledgerUrl,
  listOf,
  matching,
  type Option,
  optional,
  providerUrl,
  size,
  startPoint,
  smallFile,
  text,
  withDefault,
} from './option.ts';
import { presetNames } from './interface-presets.ts';
import { partyId } from './party-id.ts';
import { demoOptions } from './demo-options.ts';
import { webhookOptions } from './webhook-options.ts';

const party = matching(
  'party',
  partyId,
  'whole party ids, hint and fingerprint, such as alice::1220ab…, separated by commas',
);
const schemaName = matching(
  'identifier',
  /^(?!pg_)[a-z_][a-z0-9_]{0,47}$/,
  'a lower-case identifier of at most 48 characters',
);

/** How the participant is reached, and what is asked of it. */
const ledgerOptions = {
  url: optional(
    ledger('LEDGER_URL', 'Base address of the JSON Ledger API; a path is kept. Needed where `DATABASE_URL` is set.', {
      unset: 'embedded sandbox',
    }),
    ledgerUrl,
  ),
  token: optional(
    ledger('LEDGER_TOKEN', 'Access token, fixed for the life of the process; never a flag.', { secret: 'value' }),
    matching('text', /^(?![./~])[\x21-\x7e]+$/, 'a token without blanks or line breaks'),
  ),
  tokenFile: optional(
    ledger(
      'LEDGER_TOKEN_FILE',
      'File with the access token, read again for every connection; wins over `LEDGER_TOKEN`.',
    ),
    smallFile,
  ),
  tokenPlacement: withDefault(
    ledger('LEDGER_TOKEN_PLACEMENT', 'Where a WebSocket handshake carries the token; for proxies that drop either.'),
    choice(['header', 'subprotocol', 'both']),
    'both',
  ),
  parties: withDefault(
    ledger('LEDGER_PARTIES', 'Parties to index, separated by commas.', { unset: 'all the token may read' }),
    listOf(party),
    '',
  ),
  templates: withDefault(
    ledger('LEDGER_TEMPLATES', 'Templates to index, as `#package-name:Module:Entity`.', { unset: 'all templates' }),
    listOf(identifier),
    '',
  ),
  wantedInterfaces: withDefault(
    ledger(
      'LEDGER_INTERFACES',
      'Interfaces whose views are kept, as `#package-name:Module:Entity`; `tokens` for those of the token standard.',
      { unset: 'none' },
    ),
    listOf(identifierOr(presetNames)),
    '',
  ),
  createdEventBlobs: withDefault(
    ledger('LEDGER_CREATED_EVENT_BLOBS', 'Keep the blobs needed for explicit disclosure.'),
    boolean,
    'false',
  ),
  shape: withDefault(
    ledger('LEDGER_SHAPE', 'Everything the parties witnessed, or only creates and archives of their own contracts.'),
    choice(['LEDGER_EFFECTS', 'ACS_DELTA']),
    'LEDGER_EFFECTS',
  ),
  maxFrameBytes: optional(
    ledger(
      'LEDGER_MAX_FRAME',
      'Largest frame, so largest update, and largest package that is accepted; it is held in memory whole.',
      {
        unset: 'what fits into the memory, at most 256MiB',
      },
    ),
    size('1MiB', '512MiB'),
  ),
  topology: withDefault(
    ledger(
      'LEDGER_TOPOLOGY',
      'Keep changes of party hosting as well; without them contracts of parties that leave the participant stay active here.',
    ),
    boolean,
    'true',
  ),
  caFile: optional(ledger('LEDGER_CA_FILE', 'PEM file with the authority of the ledger certificate.'), smallFile),
  certFile: optional(
    ledger('LEDGER_CERT_FILE', 'PEM file with our certificate, for a ledger that asks for one.'),
    smallFile,
  ),
  keyFile: optional(ledger('LEDGER_KEY_FILE', 'PEM file with its private key, unencrypted.'), smallFile),
  insecure: withDefault(
    ledger('LEDGER_INSECURE', 'Send tokens and secrets over plain http to another machine as well; for tests only.'),
    boolean,
    'false',
  ),
} as const;

/** An OAuth 2.0 client that obtains the tokens by client credentials. */
const oauthOptions = {
  issuer: optional(
    ledger('LEDGER_OAUTH_ISSUER', 'OpenID Connect issuer to obtain tokens from, by client credentials.'),
    providerUrl,
  ),
  tokenUrl: optional(
    ledger('LEDGER_OAUTH_TOKEN_URL', 'The same for a provider without discovery: its token endpoint.'),
    providerUrl,
  ),
  clientId: optional(
    ledger('LEDGER_OAUTH_CLIENT_ID', 'Client id; excludes `LEDGER_TOKEN` and `LEDGER_TOKEN_FILE`.'),
    matching('text', /^[\x20-\x7e]+$/, 'a client id of printable characters'),
  ),
  clientSecret: optional(
    ledger('LEDGER_OAUTH_CLIENT_SECRET', 'Its secret; never a flag.', { secret: 'value', fileVariant: true }),
    matching('text', /^[\x20-\x7e]+$/, 'a client secret of printable characters'),
  ),
  audience: optional(ledger('LEDGER_OAUTH_AUDIENCE', 'Audience to ask for, where the participant checks one.'), text),
  scope: withDefault(
    ledger('LEDGER_OAUTH_SCOPE', 'Scopes to request, separated by blanks, or `none`.'),
    matching('text', /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/, 'scopes separated by single blanks'),
    'daml_ledger_api',
  ),
  caFile: optional(
    ledger('LEDGER_OAUTH_CA_FILE', 'PEM file with the authority of the certificate of the token provider.'),
    smallFile,
  ),
} as const;

/** Postgres, and how a session in it behaves. */
const databaseOptions = {
  url: optional(
    database(
      'DATABASE_URL',
      'Postgres to write to, as `postgres://user:password@host:port/database`; several hosts: `h1:5432,h2:5432`.',
      {
        secret: 'url',
        fileVariant: true,
        unset: 'embedded Postgres',
      },
    ),
    databaseUrl,
  ),
  schema: withDefault(database('POSTGRES_SCHEMA', 'Schema that holds every table.'), schemaName, 'ledger'),
  migrate: withDefault(
    database('POSTGRES_MIGRATE', 'Whether to bring the schema up to date at start.'),
    choice(['auto', 'never']),
    'auto',
  ),
  statementTimeoutMs: withDefault(
    database('POSTGRES_STATEMENT_TIMEOUT', 'Longest time one statement may take.'),
    duration('100ms', '1h'),
    '60s',
  ),
} as const;

/** The process itself. */
const indexerOptions = {
  ...httpOptions,
  console: withDefault(
    indexer(
      'INDEXER_CONSOLE',
      'Whether `/query` is there, a page that asks SQL; this machine is answered, and who shows a token.',
    ),
    boolean,
    'true',
  ),
  consoleUrl: optional(
    indexer(
      'INDEXER_CONSOLE_DATABASE_URL',
      'Where that page reads, and as which login: one of `grant-reader`, also on a standby.',
      {
        secret: 'url',
        fileVariant: true,
        unset: 'as `DATABASE_URL`; refused for a login that may do more than read',
      },
    ),
    databaseUrl,
  ),
  batchUpdates: withDefault(
    indexer('INDEXER_BATCH_UPDATES', 'Most updates in one database transaction.'),
    integer(1, 100_000),
    '1000',
  ),
  batchBytes: withDefault(
    indexer('INDEXER_BATCH_BYTES', 'Most bytes received in one database transaction.'),
    size('64KiB', '256MiB'),
    '8MiB',
  ),
  inboxUpdates: withDefault(
    indexer('INDEXER_INBOX_UPDATES', 'Updates held in memory before the ledger is made to wait.'),
    integer(1, 1_000_000),
    '1000',
  ),
  inboxBytes: withDefault(
    indexer('INDEXER_INBOX_BYTES', 'Bytes held in memory before the ledger is made to wait.'),
    size('64KiB', '2GiB'),
    '8MiB',
  ),
  writeLanes: withDefault(
    indexer(
      'INDEXER_WRITE_LANES',
      'Batches written at the same time, each on its own connection; they commit in order.',
    ),
    integer(1, 4),
    '2',
  ),
  quarantine: withDefault(
    indexer('INDEXER_QUARANTINE', 'Set aside whole an update that cannot be stored; otherwise it stops the stream.'),
    boolean,
    'false',
  ),
  unknownUpdates: withDefault(
    indexer(
      'INDEXER_UNKNOWN_UPDATES',
      'An update, or event of topology, of a kind this version does not know: `auto` parks when it names contracts and else keeps it raw, `park` always parks, `keep` never.',
    ),
    choice(['auto', 'park', 'keep']),
    'auto',
  ),
  exerciseJson: optional(
    indexer(
      'INDEXER_EXERCISE_JSON',
      'How a new schema stores arguments and results of exercises: parsed, or as the ledger’s text, which is cheaper to write and dearer to search. One that is there stays as it is, and another value is refused.',
      { unset: 'as the schema is; a new one `jsonb`' },
    ),
    choice(['jsonb', 'json']),
  ),
  completions: withDefault(
    indexer(
      'INDEXER_COMPLETIONS',
      'Follow what becomes of submitted commands too, where the participant shows it to readers (from 3.5.7 on): `auto`, or `off`.',
    ),
    choice(['auto', 'off']),
    'auto',
  ),
  notify: withDefault(
    indexer('INDEXER_NOTIFY', 'Send `NOTIFY <schema>_offset` after commits; the payload is the checkpoint.'),
    boolean,
    'true',
  ),
  logLevel: withDefault(
    indexer('INDEXER_LOG_LEVEL', 'Least severe log lines to write.'),
    choice(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    'info',
  ),
  logFormat: withDefault(
    indexer('INDEXER_LOG_FORMAT', 'Log lines for people or machines; `auto` is pretty on a terminal.'),
    choice(['auto', 'pretty', 'json']),
    'auto',
  ),
  stalledAfterMs: withDefault(
    indexer('INDEXER_STALLED_AFTER', 'Behind the ledger without progress for this long is a stall: not ready.'),
    duration('10ms', '24h'),
    '5m',
  ),
  blindAfterMs: withDefault(
    indexer('INDEXER_BLIND_AFTER', 'Neither the ledger end learned nor a frame received for this long: not ready.'),
    duration('100ms', '1h'),
    '10s',
  ),
  stopTimeoutMs: withDefault(
    indexer('INDEXER_STOP_TIMEOUT', 'Longest time to finish the batch in hand after SIGTERM.'),
    duration('100ms', '10m'),
    '10s',
  ),
  leaseMs: withDefault(
    indexer('INDEXER_LEASE', 'Without a sign of life for this long, an indexer that writes is replaced by a standby.'),
    duration('1s', '10m'),
    '10s',
  ),
  pingIntervalMs: withDefault(
    indexer('INDEXER_PING_INTERVAL', 'Time between WebSocket pings; two unanswered ones end the connection.'),
    duration('100ms', '10m'),
    '15s',
  ),
  askAfterMs: withDefault(
    indexer('INDEXER_ASK_AFTER', 'Without a frame for this long, the ledger is asked what lies before its end.'),
    duration('1s', '10m'),
    '1s',
  ),
  start: withDefault(
    indexer(
      'INDEXER_START',
      'Where an empty database begins: active contracts, first offset, oldest unpruned one, or a given one.',
    ),
    startPoint,
    'seed',
  ),
  stopAt: optional(
    indexer(
      'INDEXER_STOP_AT',
      'Last offset to store, or `end`: the ledger end at the start; the process then ends with 0.',
      { unset: 'runs for ever' },
    ),
    endPoint,
  ),
  keepMs: optional(
    indexer('INDEXER_KEEP', 'Prune history older than this while it runs, such as `90d`; what is active stays.', {
      unset: 'everything is kept',
    }),
    age('1m', '5000w'),
  ),
  pruneEveryMs: withDefault(
    indexer('INDEXER_PRUNE_EVERY', 'With `INDEXER_KEEP`: time between two looks at what is older.'),
    duration('100ms', '24h'),
    '10m',
  ),
  ...webhookOptions,
  retryMaxMs: withDefault(
    indexer('INDEXER_RETRY_MAX', 'Longest delay between two attempts.'),
    duration('10ms', '1h'),
    '30s',
  ),
  giveUpAfterMs: withDefault(
    indexer(
      'INDEXER_GIVE_UP_AFTER',
      'With `INDEXER_STOP_AT` and in `backfill`: the run ends with the failure that has kept it from storing anything for this long.',
    ),
    duration('1s', '24h'),
    '10m',
  ),
  traceUrl: optional(
    indexer('INDEXER_TRACE_URL', 'Address of a trace, with `{trace_id}` in it: `explain` prints it of each update.', {
      unset: 'the id alone',
    }),
    matching('URL', /^https?:\/\/[^\s@]*\{trace_id\}[^\s@]*$/, 'an http:// or https:// address with {trace_id} in it'),
  ),
  dataDir: withDefault(
    indexer('INDEXER_DATA_DIR', 'Folder of the embedded Postgres and sandbox.'),
    text,
    '.ledger-indexer',
  ),
  ...demoOptions,
} as const;

/** By section, under the names that the configuration has for their values. Times are milliseconds, sizes bytes. */
export const options = {
  ledger: ledgerOptions,
  oauth: oauthOptions,
  database: databaseOptions,
  indexer: indexerOptions,
} as const;

/** The table in the order of documentation. */
export const optionList: readonly Option<unknown>[] = Object.values(options).flatMap((section) =>
  Object.values(section),
);

/** The values of a section, each under the name of its option. */
export type Values<Section extends Readonly<Record<string, Option<unknown>>>> = {
  readonly [Name in keyof Section]: Section[Name] extends Option<infer Value> ? Value : never;
};
