/** What a person at a terminal is told first: where to look, and three queries to paste. */
import { readSchemas } from '../store/readers/read-schemas.ts';
import type { Surroundings } from './embedded-parts.ts';

/** The connection string is shown only for the embedded server: its password opens nothing but this demo. */
export function greeting(surroundings: Surroundings, httpUrl: string, schema: string): string {
  const where = surroundings.embeddedDatabase
    ? `  psql '${surroundings.databaseUrl}'`
    : '  psql with your DATABASE_URL';
  return [
    '',
    `  status    ${httpUrl}/status`,
    `  metrics   ${httpUrl}/metrics`,
    `  ledger    ${surroundings.ledgerUrl}${surroundings.embeddedLedger ? '  (embedded sandbox)' : ''}`,
    '',
    where,
    '',
    ...queries(schema).map((query) => `    ${query}`),
    '',
    '',
  ].join('\n');
}

function queries(schema: string): readonly string[] {
  const { explore } = readSchemas(schema);
  return [
    `select owner, instrument_id, total, locked from ${explore}.token_balances order by instrument_id, total desc;`,
    `select template_fqn, sum(active) as active from ${explore}.templates where kind = 'template' group by 1 order by 2 desc;`,
    `select template_fqn, choice, sum(exercises) as exercises from ${explore}.activity where choice is not null group by 1, 2 order by 3 desc;`,
  ];
}
