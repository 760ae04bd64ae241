/** Failures of the stream as a whole: what the ledger shows does not fit what is stored, or cannot be stored. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const streamCodes = {
  HISTORY_CHANGED: kind(
    'park',
    ExitCode.configuration,
    'the participant was restored or reset: other updates at the same offsets',
    'run what the message names: ledger-indexer reset --to OFFSET, or reset --all',
  ),
  PARTICIPANT_CHANGED: kind(
    'park',
    ExitCode.configuration,
    'the schema belongs to another participant',
    'if it hosts the same parties, run: ledger-indexer switch-participant; else point LEDGER_URL back, or use another POSTGRES_SCHEMA',
  ),
  FILTER_CHANGED: kind(
    'park',
    ExitCode.configuration,
    'parties, templates, interfaces or shape differ from those it was filled with',
    'undo the change, or run: ledger-indexer filter accept; for all of the history: ledger-indexer rebuild',
  ),
  STREAM_HANDED_OVER: kind(
    'park',
    ExitCode.configuration,
    'rebuild --into has handed the stream over to another database, which the message names; nobody writes here any more',
    'set DATABASE_URL to that database',
  ),
  STREAM_NOT_OPEN: kind(
    'park',
    ExitCode.configuration,
    'rebuild --into fills this schema, and has not handed over to it yet',
    'none needed while that runs: it goes on by itself within seconds of the hand-over',
  ),
  // As for a frame that cannot be read.
  UPDATE_UNDECODABLE: kind(
    'retry',
    ExitCode.undecodable,
    'an update is not as this version expects; its offset is named',
    'compare releases, report it; nothing is skipped',
    { times: 1 },
  ),
  UPDATE_KIND_UNKNOWN: kind(
    'park',
    ExitCode.undecodable,
    'an update is of a kind this version does not know, and names contracts',
    'run a later version, which knows this kind; INDEXER_UNKNOWN_UPDATES=store stores it raw and goes on',
  ),
  UPDATE_QUARANTINED: kind(
    'retry',
    ExitCode.unexpected,
    'INDEXER_QUARANTINE: an update that cannot be stored was set aside',
    'ledger-indexer quarantine list, later quarantine retry',
  ),
  SEED_PRUNED: kind(
    'retry',
    ExitCode.unexpected,
    'the participant pruned past the offset of the seed while it was read',
    'none needed: the seed starts over',
  ),
  STOP_AT_REFUSED: kind(
    'fatal',
    ExitCode.configuration,
    'the end that was asked for does not fit what is stored; the message says why',
    'name another offset, or a POSTGRES_SCHEMA of its own',
  ),
  WRITER_FENCED: kind(
    'fenced',
    ExitCode.unreachable,
    'another writer took over',
    'run one indexer per schema, or let one be the standby',
  ),
  DUPLICATE_KEY: kind(
    'park',
    ExitCode.undecodable,
    'an update, or the list of active contracts, holds a key twice; place, contract and key are named',
    'report it; INDEXER_QUARANTINE=true goes on without that update',
  ),
  SCHEMA_NEWER: kind('fatal', ExitCode.configuration, 'a newer version has migrated the schema', 'run that version'),
  SCHEMA_LAYOUT_UNSUPPORTED: kind(
    'fatal',
    ExitCode.configuration,
    'the schema holds the tables of an earlier layout, which no migration leads out of',
    'index into a new POSTGRES_SCHEMA, which seeds afresh; the old schema stays readable by the version that filled it',
  ),
  SCHEMA_EXERCISE_JSON: kind(
    'fatal',
    ExitCode.configuration,
    'the tables store arguments and results of exercises in another way than INDEXER_EXERCISE_JSON says',
    'leave INDEXER_EXERCISE_JSON out or set it to what the tables are made for; for another way: ledger-indexer rebuild',
  ),
  SCHEMA_OUTDATED: kind(
    'fatal',
    ExitCode.configuration,
    'the schema lacks migrations, and POSTGRES_MIGRATE says never or this command makes none',
    'run `ledger-indexer migrate`, or give the output of `ledger-indexer migrate --print` to a database owner',
  ),
  CITUS_REFUSED: kind(
    'fatal',
    ExitCode.configuration,
    'tables cannot be distributed here; the message says why',
    'create the extension on all nodes, add the workers to the coordinator, and name a new POSTGRES_SCHEMA, which is indexed afresh',
  ),
  SCHEMA_OWNER_MISMATCH: kind(
    'fatal',
    ExitCode.configuration,
    'a schema with one of our names belongs to another role or another stream, and nothing was made in it',
    'name another POSTGRES_SCHEMA if another stream has it; connect as its owner if the stream is his; else look what is in it, and drop it',
  ),
  VIEWS_NOT_PERMITTED: kind(
    'park',
    ExitCode.notPermitted,
    'the writer may not make typed views, which belong to another role; ingestion goes on',
    'run `ledger-indexer views rebuild` as the migrator of the stream, see `ledger-indexer grant-roles`',
  ),
  VIEWS_REBUILD_INCOMPLETE: kind(
    'fatal',
    ExitCode.unexpected,
    'views rebuild: some typed views could not be replaced',
    'look at the first error, usually a reader that holds a lock',
  ),
  PACKAGE_UNREADABLE: kind(
    'retry',
    ExitCode.undecodable,
    'a package is not one of Daml-LF 2, or damaged: it gets no typed views',
    'its contracts stay readable as JSON; typed views need a package of Daml-LF 2 as the participant stores it',
  ),
} as const;
