/** What a person at a terminal is told first: where to look, and three queries to paste. */
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
  return [
    `select v.view->>'owner' as owner, sum((v.view->>'amount')::numeric) as amount from ${schema}.interface_views v join ${schema}.lifetimes l on l.contract_id = v.contract_id and l.activated_offset = v."offset" where l.deactivated_offset is null and v.view ? 'amount' group by 1 order by 2 desc;`,
    `select entity_name, count(*) from ${schema}.active_contracts group by 1 order by 2 desc;`,
    `select c.choice, count(*) from ${schema}.exercises e join ${schema}.choices c using (choice_pk) group by 1 order by 2 desc;`,
  ];
}
