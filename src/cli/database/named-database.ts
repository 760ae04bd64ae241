/** Variables that name only one side, or name it otherwise: nothing is started in place of what was meant. */
import type { Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';

/** A demo writes into a database of its own only. @throws IndexerError LEDGER_URL_MISSING (exit 78) */
export function refuseNamedDatabase({ ledger, database }: Config): void {
  if (ledger.url !== undefined || database.url === undefined) return;
  throw new IndexerError(
    'DATABASE_URL is set and LEDGER_URL is not: traffic of a demo is not written into your database',
    {
      code: 'LEDGER_URL_MISSING',
      remedy:
        'set LEDGER_URL to the JSON Ledger API of the participant, or, for a demo with a database of its own, unset DATABASE_URL',
    },
  );
}

/** What other programs call the address of their database. */
const otherNames = [
  'DATABASE_URI',
  'POSTGRES_URL',
  'POSTGRES_URI',
  'POSTGRESQL_URL',
  'POSTGRESQL_URI',
  'PG_URL',
  'PGURL',
];

/** Rows of a participant do not go into an embedded Postgres by a slip. @throws IndexerError CONFIGURATION_INVALID (exit 78) */
export function refuseOtherName({ ledger, database }: Config, env: NodeJS.ProcessEnv): void {
  if (ledger.url === undefined || database.url !== undefined) return;
  const name = otherNames.find((one) => (env[one] ?? '').trim() !== '');
  if (name === undefined) return;
  throw new IndexerError(`${name} is set and DATABASE_URL is not: the rows would go into an embedded Postgres`, {
    code: 'CONFIGURATION_INVALID',
    remedy: `rename ${name} to DATABASE_URL, or, for the embedded Postgres, unset ${name}`,
  });
}
