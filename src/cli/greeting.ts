/** What a person is told first, at a terminal and on the status page: where to look, and three queries to paste. */
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { PageGuide } from '../observe/page/messages.ts';
import { connectCommand } from '../store/connect-command.ts';
import { readSchemas } from '../store/readers/read-schemas.ts';
import type { Surroundings } from './embedded-parts.ts';

/** The connection string is shown only for the embedded server: its password opens nothing but this demo. */
export function greeting(surroundings: Surroundings, httpUrl: string, schema: string): string {
  const where = surroundings.embeddedDatabase
    ? `  psql '${surroundings.databaseUrl}'`
    : '  psql with your DATABASE_URL';
  return [
    '',
    `  page      ${httpUrl}/`,
    `  status    ${httpUrl}/status`,
    `  metrics   ${httpUrl}/metrics`,
    `  ledger    ${surroundings.ledgerUrl}${surroundings.embeddedLedger ? '  (embedded sandbox)' : ''}`,
    '',
    where,
    '  or, without psql:  npx ledger-indexer query "select …"',
    '',
    ...queries(schema, surroundings.embeddedLedger).map((query) => `    ${query}`),
    '',
    '',
  ].join('\n');
}

/**
 * The same for the status page, which anybody who reaches the address can read: never with a password in it. The command
 * for the embedded server takes it from the file that only the user who started the demo can read.
 */
export function pageGuide(surroundings: Surroundings, config: Config): PageGuide {
  const { databaseUrl, embeddedDatabase, embeddedLedger } = surroundings;
  const { schema } = config.database;
  if (!embeddedDatabase) {
    const password = 'The password is not shown here; psql asks for it, or finds it in ~/.pgpass or PGPASSWORD.';
    return { connect: connectCommand(databaseUrl), password, queries: queries(schema, embeddedLedger) };
  }
  const file = join(config.indexer.dataDir, 'postgres', 'password');
  return {
    connect: `PGPASSWORD="$(cat '${file.replaceAll("'", String.raw`'\''`)}')" ${connectCommand(databaseUrl)}`,
    password: 'Run it where the indexer was started: the password is in a file that only its user can read.',
    queries: queries(schema, embeddedLedger),
  };
}

function queries(schema: string, demo: boolean): readonly string[] {
  const { explore, typed } = readSchemas(schema);
  if (demo) return demoQueries(explore, typed);
  return [
    `select owner, instrument_id, total, locked from ${explore}.token_balances order by instrument_id, total desc;`,
    `select template_fqn, sum(active) as active from ${explore}.templates where kind = 'template' group by 1 order by 2 desc;`,
    `select template_fqn, choice, sum(exercises) as exercises from ${explore}.activity where choice is not null group by 1, 2 order by 3 desc;`,
  ];
}

/** Who has what, who settled with whom, how fresh it is: questions that the sandbox's traffic has answers to. */
function demoQueries(explore: string, typed: string): readonly string[] {
  const balances = [
    'select instrument_id_id as instrument, count(distinct owner) as owners, count(*) as holdings, sum(amount) as total,',
    'coalesce(sum(amount) filter (where lock_holders is not null), 0) as locked',
    `from ${typed}.splice_api_token_holding_v1__holding group by 1 order by total desc;`,
  ];
  const settled = [
    "select split_part(leg ->> 'sender', '::', 1) as sender, split_part(leg ->> 'receiver', '::', 1) as receiver,",
    "leg #>> '{instrumentId,id}' as instrument, sum((leg ->> 'amount')::numeric) as amount, count(*) as settlements",
    `from ${explore}.exercises e join ${explore}.contracts c using (contract_id)`,
    "cross join lateral jsonb_each(c.payload -> 'transferLegs') as legs(id, leg)",
    "where e.choice = 'OTCTrade_Settle' and e.record_time > now() - interval '1 day' group by 1, 2, 3 order by 5 desc, 4 desc;",
  ];
  const latency = [
    'select count(*) as updates, percentile_disc(0.95) within group (order by indexed_at - record_time) as p95',
    `from ${explore}.updates where record_time > now() - interval '1 minute';`,
  ];
  return [balances, settled, latency].map((lines) => lines.join(' '));
}
