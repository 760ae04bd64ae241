/**
 * The startup banner for the terminal, the status page and `demo-info`. It contains the URLs, three sample queries, and
 * the commands that run this program again.
 */
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { ReadyQuery } from '../../observe/page/console-messages.ts';
import type { PageGuide } from '../../observe/page/messages.ts';
import { connectCommand } from '../../store/connection/connect-command.ts';
import { databaseLabel } from '../../store/connection/hosts.ts';
import { readSchemas } from '../../store/connection/read-schemas.ts';
import { shellQuote, shellWord } from '../command-line/shell-word.ts';
import type { EmbeddedParts } from './embedded-parts.ts';

type BannerParts = Pick<EmbeddedParts, 'ledgerUrl' | 'databaseUrl' | 'embeddedLedger' | 'embeddedDatabase'>;

/**
 * The banner as text. The connection string is included only for the embedded server. The banner is printed only on a
 * terminal or by `demo-info`, because on this machine the password in it gives all rights of the user who started the
 * demo.
 */
export function formatBanner(embeddedParts: BannerParts, httpUrl: string, schema: string): string {
  const psqlHint = embeddedParts.embeddedDatabase
    ? `  psql '${embeddedParts.databaseUrl}'`
    : '  psql with your DATABASE_URL';
  const commandName = ownCommand();
  return [
    '',
    `  page      ${httpUrl}/`,
    `  query     ${httpUrl}/query`,
    `  status    ${httpUrl}/status`,
    `  metrics   ${httpUrl}/metrics`,
    `  ledger    ${embeddedParts.ledgerUrl}${embeddedParts.embeddedLedger ? '  (embedded sandbox)' : ''}`,
    '',
    psqlHint,
    `  or, without psql:      ${commandName} query "select …"`,
    `  print this again:      ${commandName} demo-info`,
    '',
    ...queries(schema, embeddedParts.embeddedLedger).map((query) => `    ${query.replaceAll('\n', '\n    ')}\n`),
    '',
  ].join('\n');
}

/** The banner as fields of a log entry, without the password. */
export function bannerFacts(
  { databaseUrl, ledgerUrl, embeddedLedger, embeddedDatabase }: BannerParts,
  httpUrl: string,
  { database: { schema }, indexer: { dataDir } }: Config,
): Readonly<Record<string, string>> {
  const database = embeddedDatabase
    ? { database: withoutPassword(databaseUrl), passwordFile: resolve(passwordFile(dataDir)) }
    : { database: databaseLabel(databaseUrl) };
  return {
    page: `${httpUrl}/`,
    ledger: ledgerUrl,
    ...database,
    query: firstQuery(schema, embeddedLedger).replaceAll(/\s+/g, ' '),
  };
}

/** The URL of the embedded server without its password. The password never contains an @. */
function withoutPassword(url: string): string {
  return url.replace(/:[^:/@]*@/, '@');
}

/** The first sample query. */
export function firstQuery(schema: string, embeddedLedger: boolean): string {
  return queries(schema, embeddedLedger)[0] ?? '';
}

function passwordFile(dataDir: string): string {
  return join(dataDir, 'postgres', 'password');
}

/**
 * The banner for the status page. It never contains a password, because every client that can connect to the address
 * can read the page. The command for the embedded server reads the password from a file that only the user who started
 * the demo can read.
 */
export function pageGuide(embeddedParts: BannerParts, config: Config): PageGuide {
  const { databaseUrl, embeddedDatabase, embeddedLedger } = embeddedParts;
  const { schema } = config.database;
  if (!embeddedDatabase) {
    const password = 'The password is not printed here; psql prompts for it, or reads ~/.pgpass or PGPASSWORD.';
    return { connect: connectCommand(databaseUrl), password, queries: queries(schema, embeddedLedger) };
  }
  const file = passwordFile(config.indexer.dataDir);
  return {
    connect: `PGPASSWORD="$(cat ${shellQuote(file)})" ${connectCommand(databaseUrl)}`,
    password: 'Run it in the folder where the indexer was started: only its user can read the password file.',
    queries: queries(schema, embeddedLedger),
  };
}

export function queries(schema: string, demo: boolean): readonly string[] {
  const { explore, typed: typedSchema } = readSchemas(schema);
  if (demo) return demoQueries(explore, typedSchema);
  return [
    `select owner, instrument_id, total, locked\n  from ${explore}.token_balances\n order by instrument_id, total desc;`,
    `select template_fqn, sum(active) as active\n  from ${explore}.templates where kind = 'template'\n group by 1 order by 2 desc;`,
    `select template_fqn, choice, sum(exercises) as exercises\n  from ${explore}.activity where choice is not null\n group by 1, 2 order by 3 desc;`,
  ];
}

/**
 * The sample queries of the query page, with titles. They include two more queries that return rows for every ledger.
 */
export function readyQueries(schema: string, demo: boolean): readonly ReadyQuery[] {
  const { explore } = readSchemas(schema);
  const titles = demo ? demoTitles : ledgerTitles;
  const namedQueries = queries(schema, demo).map((query, nth) => ({ title: titles[nth] ?? '', statement: query }));
  const hours = `select hour, sum(transactions) as transactions, sum(creates) as creates from ${explore}.activity_updates group by 1 order by 1;`;
  const newest = `select "offset", kind, record_time, update_id, event_count from ${explore}.updates order by "offset" desc limit 100;`;
  return [
    ...namedQueries,
    { title: 'Updates per hour', statement: hours },
    { title: 'Newest updates', statement: newest },
  ];
}

const demoTitles = ['Holdings by instrument', 'Settlements of a day', 'How fresh it is'];
const ledgerTitles = ['Token balances', 'Active contracts', 'Choices exercised'];

/** Sample queries about the traffic of the sandbox: holdings, settlements and latency. */
function demoQueries(explore: string, typedSchema: string): readonly string[] {
  const balances = [
    'select instrument_id_id as instrument, count(distinct owner) as owners,',
    '       count(*) as holdings, sum(amount) as total,',
    '       coalesce(sum(amount) filter (where lock_holders is not null), 0) as locked',
    `  from ${typedSchema}.token_holding_v1__holding`,
    ' group by 1 order by total desc;',
  ];
  const settlementQuery = [
    "select split_part(leg ->> 'sender', '::', 1) as sender,",
    "       split_part(leg ->> 'receiver', '::', 1) as receiver,",
    "       leg #>> '{instrumentId,id}' as instrument,",
    "       sum((leg ->> 'amount')::numeric) as amount, count(*) as settlements",
    `  from ${explore}.exercises e join ${explore}.contracts c using (contract_id)`,
    " cross join lateral jsonb_each(c.payload -> 'transferLegs') as legs(id, leg)",
    " where e.choice = 'OTCTrade_Settle' and e.record_time > now() - interval '1 day'",
    ' group by 1, 2, 3 order by 5 desc, 4 desc;',
  ];
  const latency = [
    'select count(*) as updates,',
    '       percentile_disc(0.95) within group (order by indexed_at - record_time) as p95',
    `  from ${explore}.updates where record_time > now() - interval '1 minute';`,
  ];
  return [balances, settlementQuery, latency].map((lines) => lines.join('\n'));
}

// Builds the command with which a user runs this program again, in the folder where it was started.

/**
 * `node dist/main.js` in a clone, `ledger-indexer` if it is installed. The command never contains a name that npm would
 * look up in a registry, because npm would find a different package there.
 */
export function ownCommand(program = process.argv[1] ?? '', folder = process.cwd()): string {
  const isInPackageBin = basename(dirname(program)) === '.bin';
  if (basename(program) === 'ledger-indexer' && !isInPackageBin) return 'ledger-indexer';
  const path = relative(folder, program);
  const shortPath = path.startsWith(join('..', '..')) ? program : path;
  return `node ${shellWord(shortPath)}`;
}
