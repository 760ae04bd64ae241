/** Error codes of the stream: data of the ledger that does not match the stored data or cannot be stored. */
import { ExitCode } from './exit-code.ts';
import { kind, kindWithThrownRemedy } from './failure-kind.ts';

export const streamCodes = {
  HISTORY_CHANGED: kind(
    'park',
    ExitCode.configuration,
    'the participant was restored or reset: it has different updates at the same offsets',
    'run the command in the message: ledger-indexer reset --to OFFSET --yes, or ledger-indexer reset --all --yes',
  ),
  PARTICIPANT_CHANGED: kind(
    'park',
    ExitCode.configuration,
    'the schema belongs to another participant',
    'if it hosts the same parties, run: ledger-indexer switch-participant. Otherwise, restore LEDGER_URL, or use another POSTGRES_SCHEMA',
  ),
  FILTER_CHANGED: kind(
    'park',
    ExitCode.configuration,
    'parties, templates, interfaces or shape differ from those of the stored data',
    'undo the change, or run: ledger-indexer filter accept; to apply it to the complete history: ledger-indexer rebuild',
  ),
  STREAM_HANDED_OVER: kind(
    'park',
    ExitCode.configuration,
    'rebuild --into has handed the stream over to the database in the message; this schema is no longer written',
    'set DATABASE_URL to that database',
  ),
  STREAM_NOT_OPEN: kind(
    'park',
    ExitCode.configuration,
    'rebuild --into is filling this schema and has not handed over to it yet',
    'no action needed while the rebuild runs: the indexer starts automatically within seconds of the handover',
  ),
  // Retried once, as a frame that cannot be decoded is.
  UPDATE_UNDECODABLE: kind(
    'retry',
    ExitCode.undecodable,
    'an update does not have the format that this version expects; the message contains its offset',
    'compare the releases of participant and indexer, and report it; no update is skipped',
    { times: 1 },
  ),
  UPDATE_KIND_UNKNOWN: kind(
    'park',
    ExitCode.undecodable,
    'an update of a kind that this version does not know names contracts',
    'run a later version that knows this kind, or set INDEXER_UNKNOWN_UPDATES=store to store it raw and continue',
  ),
  UPDATE_QUARANTINED: kind(
    'retry',
    ExitCode.unexpected,
    'INDEXER_QUARANTINE: an update that cannot be stored was quarantined',
    'run `ledger-indexer quarantine list` to see it, and `ledger-indexer quarantine retry` after an upgrade',
  ),
  SEED_PRUNED: kind(
    'retry',
    ExitCode.unexpected,
    'the participant pruned past the offset of the seed while the seed was read',
    'no action needed: the seed starts again',
  ),
  STOP_AT_REFUSED: kindWithThrownRemedy(
    'fatal',
    ExitCode.configuration,
    'the requested end does not match the stored history (see the message)',
  ),
  WRITER_FENCED: kind(
    'fenced',
    ExitCode.unreachable,
    'another writer took over',
    'run one indexer per schema, or run the others as standbys',
  ),
  DUPLICATE_KEY: kind(
    'park',
    ExitCode.undecodable,
    'an update or the list of active contracts contains a key twice; the message names offset, contract and key',
    'report it, or set INDEXER_QUARANTINE=true to continue without that update',
  ),
  SCHEMA_NEWER: kind(
    'fatal',
    ExitCode.configuration,
    'a newer version has migrated the schema',
    'run that version, or restore the backup made before the upgrade',
  ),
  SCHEMA_LAYOUT_UNSUPPORTED: kind(
    'fatal',
    ExitCode.configuration,
    'the schema has the tables of an earlier layout, which cannot be migrated',
    'index into a new POSTGRES_SCHEMA, which starts with a seed; the version that filled the old schema can still read it',
  ),
  SCHEMA_EXERCISE_JSON: kind(
    'fatal',
    ExitCode.configuration,
    'the tables store exercise arguments and results in another type than INDEXER_EXERCISE_JSON',
    'unset INDEXER_EXERCISE_JSON or set it to the type of the tables; to change the type, run: ledger-indexer rebuild',
  ),
  SCHEMA_OUTDATED: kind(
    'fatal',
    ExitCode.configuration,
    'the schema lacks migrations, and POSTGRES_MIGRATE is never or this command does not migrate',
    'run `ledger-indexer migrate`, or give the output of `ledger-indexer migrate --print` to a database owner',
  ),
  CITUS_REFUSED: kindWithThrownRemedy(
    'fatal',
    ExitCode.configuration,
    'the tables cannot be distributed with Citus (see the message)',
  ),
  SCHEMA_OWNER_MISMATCH: kind(
    'fatal',
    ExitCode.configuration,
    'a schema that the stream needs belongs to another role or another stream; nothing was created in it',
    'if it belongs to another stream, set another POSTGRES_SCHEMA; if the stream belongs to that role, connect as it; otherwise, inspect the schema before dropping it',
  ),
  VIEWS_NOT_PERMITTED: kind(
    'park',
    ExitCode.notPermitted,
    'the writer may not create typed views, which belong to another role; ingestion continues',
    'run `ledger-indexer views rebuild` as the migrator role of the stream; `ledger-indexer grant-roles` creates that role',
  ),
  VIEWS_REBUILD_INCOMPLETE: kind(
    'fatal',
    ExitCode.unexpected,
    'views rebuild: some typed views could not be replaced',
    'fix the first error, usually a reader that holds a lock, and run `ledger-indexer views rebuild` again',
  ),
  PACKAGE_UNREADABLE: kind(
    'retry',
    ExitCode.undecodable,
    'a package is not in Daml-LF 2 or is damaged: it gets no typed views',
    'no action needed: its contracts stay readable as JSON; typed views need a Daml-LF 2 package as stored by the participant',
  ),
} as const;
