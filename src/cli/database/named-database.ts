/**
 * Refuses configurations that set a database without a ledger, or that set only a database variable of another program.
 * Otherwise an embedded server would start in place of the intended server.
 */
import type { Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';

/**
 * Refuses a configured database without a ledger, because a demo writes only to its own database.
 * @throws IndexerError LEDGER_URL_MISSING (exit 78)
 */
export function assertDatabaseUnnamed({ ledger, database }: Config): void {
  if (ledger.url !== undefined || database.url === undefined) return;
  throw new IndexerError('DATABASE_URL is set and LEDGER_URL is not: demo traffic is not written to your database', {
    code: 'LEDGER_URL_MISSING',
    remedy:
      'set LEDGER_URL to the JSON Ledger API of the participant, or unset DATABASE_URL for a demo with its own database',
  });
}

/** Variables in which other programs expect the address of their database. */
const otherNames = [
  'DATABASE_URI',
  'POSTGRES_URL',
  'POSTGRES_URI',
  'POSTGRESQL_URL',
  'POSTGRESQL_URI',
  'PG_URL',
  'PGURL',
];

/**
 * Refuses such a variable if a ledger is configured. Otherwise the rows of this ledger would be written to an embedded
 * Postgres by mistake.
 * @throws IndexerError CONFIGURATION_INVALID (exit 78)
 */
export function assertNoOtherName({ ledger, database }: Config, env: NodeJS.ProcessEnv): void {
  if (ledger.url === undefined || database.url !== undefined) return;
  const name = otherNames.find((alias) => (env[alias] ?? '').trim() !== '');
  if (name === undefined) return;
  throw new IndexerError(`${name} is set and DATABASE_URL is not: the rows would be written to an embedded Postgres`, {
    code: 'CONFIGURATION_INVALID',
    remedy: `rename ${name} to DATABASE_URL, or unset ${name} to use the embedded Postgres`,
  });
}
