/** Checks for variables that name only one side, or use another name: nothing is started instead of what was meant. */
import type { Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';

/** A demo writes only to its own database. @throws IndexerError LEDGER_URL_MISSING (exit 78) */
export function refuseNamedDatabase({ ledger, database }: Config): void {
  if (ledger.url !== undefined || database.url === undefined) return;
  throw new IndexerError('DATABASE_URL is set and LEDGER_URL is not: demo traffic is not written to your database', {
    code: 'LEDGER_URL_MISSING',
    remedy:
      'set LEDGER_URL to the JSON Ledger API of the participant, or unset DATABASE_URL for a demo with its own database',
  });
}

/** Variables that other programs use for the address of their database. */
const otherNames = [
  'DATABASE_URI',
  'POSTGRES_URL',
  'POSTGRES_URI',
  'POSTGRESQL_URL',
  'POSTGRESQL_URI',
  'PG_URL',
  'PGURL',
];

/** Rows of a participant are not written to an embedded Postgres by mistake. @throws IndexerError CONFIGURATION_INVALID (exit 78) */
export function refuseOtherName({ ledger, database }: Config, env: NodeJS.ProcessEnv): void {
  if (ledger.url === undefined || database.url !== undefined) return;
  const name = otherNames.find((one) => (env[one] ?? '').trim() !== '');
  if (name === undefined) return;
  throw new IndexerError(`${name} is set and DATABASE_URL is not: the rows would be written to an embedded Postgres`, {
    code: 'CONFIGURATION_INVALID',
    remedy: `rename ${name} to DATABASE_URL, or unset ${name} to use the embedded Postgres`,
  });
}
