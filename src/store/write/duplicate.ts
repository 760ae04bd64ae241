/**
 * Explains why Postgres refused an update or entry that was written alone. A duplicate means either that the update
 * contains a key twice, which no retry fixes, or that rows exist after the checkpoint.
 */
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { explainForeign } from './foreign-rules.ts';

/** For each table, the value that a duplicate repeats. All these keys also contain the offset. */
const keys: Readonly<Record<string, string>> = {
  contracts: 'node id',
  live: 'contract id',
  interface_views: 'interface view of a contract',
  exercises: 'node id',
  archives: 'node id',
  reassignments: 'unassign or assign of a contract',
};

/**
 * The index over the ids of `live`. It is a hash index and cannot be unique; errors name it as the violated constraint.
 */
const contractIndex = 'live_contract';

/**
 * Explains why an update that was written alone was refused, and adds a remedy: its own contents, other rows, or
 * foreign rules.
 */
export async function explainRefusal(database: Database, error: IndexerError, offset: number): Promise<IndexerError> {
  return error.code === 'STORE_DUPLICATE' ? explainDuplicate(database, error, offset) : explainForeign(database, error);
}

async function explainDuplicate(database: Database, error: IndexerError, offset: number): Promise<IndexerError> {
  if (!isOwnConstraint(error)) return foreignIndex(error);
  const table = String(error.facts['table']);
  const key = keys[table];
  // If this fails, the failure of the update is reported without an explanation.
  const hasRow = key === undefined || (await hasRows(database, table, offset).catch(() => undefined));
  if (hasRow === undefined) return error;
  if (hasRow || key === undefined) return foreignRows(error);
  return keyRepeated(
    error,
    `expected each ${key} once in an update, found one twice`,
    'report the update at this offset; INDEXER_QUARANTINE=true quarantines the complete update and continues',
  );
}

/** Does the same for an entry of the active contracts. Only this seed has written unpublished rows. */
export async function explainEntry(database: Database, error: IndexerError): Promise<IndexerError> {
  if (error.code !== 'STORE_DUPLICATE') return explainForeign(database, error);
  if (!isOwnConstraint(error)) return foreignIndex(error);
  const key = keys[String(error.facts['table'])];
  if (key === undefined) return foreignRows(error);
  return keyRepeated(
    error,
    `expected each ${key} once at an offset, found one twice in the list`,
    'report it with the release of the participant, which may print no offsets; INDEXER_START=oldest follows the updates without this list',
  );
}

async function hasRows(database: Database, table: string, offset: number): Promise<boolean> {
  // This duplicate was found in the update itself, before anything was sent.
  if (table === 'live') return false;
  const { rows } = await database.withClient((client) =>
    client.query<{ there: boolean }>(`select exists (select from ${table} where "offset" = $1) as there`, [offset]),
  );
  return rows[0]?.there === true;
}

/**
 * The error for a contract that becomes active twice at one offset. It has the form of an error of a unique index,
 * although no unique index covers the ids.
 */
export function duplicateContractError(): IndexerError {
  return new IndexerError('a contract becomes active twice at one offset', {
    code: 'STORE_DUPLICATE',
    facts: { table: 'live', constraint: contractIndex },
  });
}

function keyRepeated(error: IndexerError, message: string, remedy: string): IndexerError {
  return new IndexerError(`${message} (${constraintLabel(error)})`, {
    code: 'DUPLICATE_KEY',
    remedy,
    facts: error.facts,
    cause: error,
  });
}

/**
 * Whether the violated constraint is the key of one of our tables. Keys have the names that Postgres assigns; only
 * dictionaries have other names, and they are not covered here.
 */
function isOwnConstraint({ facts }: IndexerError): boolean {
  const { table, constraint } = facts;
  if (keys[String(table)] === undefined || constraint === undefined) return true;
  return constraint === (table === 'live' ? contractIndex : `${String(table)}_pkey`);
}

/**
 * The error for valid data that was rejected by a constraint, trigger or index that was added by hand. The update is
 * not quarantined.
 */
function foreignIndex(error: IndexerError): IndexerError {
  return new IndexerError(
    `expected no unique index except our own, found one that refuses a row (${constraintLabel(error)})`,
    {
      code: 'STORE_CONSTRAINT',
      exitCode: ExitCode.configuration,
      remedy: 'drop that index, or make it one that is not unique',
      facts: error.facts,
      cause: error,
    },
  );
}

function foreignRows(error: IndexerError): IndexerError {
  return new IndexerError(
    `expected no rows after the checkpoint, found some already there (${constraintLabel(error)})`,
    {
      code: 'STORE_DUPLICATE',
      retry: 'park',
      remedy: 'find out which other program writes to these tables, or which restore left them ahead of the stream row',
      facts: error.facts,
      cause: error,
    },
  );
}

function constraintLabel({ facts }: IndexerError): string {
  return `table ${String(facts['table'])}, constraint ${String(facts['constraint'])}`;
}
