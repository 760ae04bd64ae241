/**
 * What the roles beside the owner may do in the tables of a stream. Pure SQL text, to be run with the storage as search
 * path. A right that is not here is one that a stolen password does not give.
 */
import { escapeIdentifier } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';

/** Tables the writer adds rows to. */
export const inserted: readonly string[] = [
  'stream',
  'batches',
  'updates',
  'contract_parties',
  'event_parties',
  'contracts',
  'live',
  'ended',
  'exercises',
  'archives',
  'interface_views',
  'reassignments',
  'topology_events',
  'synchronizers',
  'templates',
  'choices',
  'template_interfaces',
  'activity_hourly',
  'active_counts',
  'coverage',
  'filter_interfaces',
  'packages',
  'paddings',
  'quarantine',
  'verifications',
  'completions',
  'submitters',
  'completion_ranges',
  'webhook_dead',
];

/** Columns the writer changes. What the ledger said once is not among them. */
const maintained: Readonly<Record<string, string>> = {
  // The filter as long as there is no history: a trigger says so.
  stream:
    'filter, filter_hash, transaction_shape, participant_id, seed_offset, seeded_at, seed_token, seed_contracts, seed_release, seed_has_in_flight, ' +
    'checkpoint, checkpoint_update_offset, ' +
    'checkpoint_update_id, checkpoint_record_time, record_times, epoch, writer, ledger_end, pruned_offset',
  live: 'unknown_since',
  // Of what an update that comes late ended sooner.
  ended: 'ended_offset, ended_by, ended_at, ended_node_id, class, unknown_since',
  templates: 'package_name',
  filter_interfaces: 'state, complete_from, unknown_at, noted_at',
  active_counts: 'activated, deactivated',
  activity_hourly:
    'creates, archives, exercises, transactions, total_creates, total_archives, total_exercises, ' +
    'paid_traffic_cost, delay_seconds',
  paddings: 'padding',
  quarantine: 'attempts, attempted_at',
  verifications: 'outcome, at_offset, started_at, seconds, compared, different, quarantined, note',
  completion_ranges: 'to_offset, parties, reason, recorded_at',
  // How far a work is, or why this role cannot do it.
  works: 'state, step, unit, done, total, per_second, problem, changed_at',
  // How far each was told.
  webhooks: 'state, cursor_offset, cursor_node, missed, problem, problem_at, moved_at',
  webhook_dead: 'attempts, problem, replay, failed_at',
  // Of webhooks, which need what they were not told yet.
  retention_holds: '"offset", moved_at',
};

/**
 * Tables the writer removes rows of: a contract that ended goes from `live` to another table, and what is wanted no more is
 * forgotten, as is what was delivered at last.
 */
const removed: readonly string[] = ['live', 'filter_interfaces', 'webhook_dead', 'retention_holds'];

/** Tables the redactor adds rows to. */
const noted: readonly string[] = ['redactions', 'redacted_contracts', 'redacted_exercises', 'retention_holds'];

/** Columns the redactor changes: those that hold contents, and holds. */
const contents: Readonly<Record<string, string>> = {
  contracts: 'payload, contract_key, created_event_blob, redaction_id',
  exercises: 'argument, result, redaction_id',
  interface_views: 'view, status_message, status_details, redaction_id',
  reassignments: 'created_event',
  completions: 'status_message, redaction_id',
  redactions: 'contracts, exercises',
  redacted_contracts: 'exercises',
  redacted_exercises: 'update_id, redaction_id',
  // The epoch, so that a running writer begins a new session, in which it knows what was redacted.
  stream: 'kept_offset, epoch',
  retention_holds: '"offset", reason, moved_at',
};

/** Tables that pruning removes rows of, and holds. */
export const pruned: readonly string[] = [
  'updates',
  'batches',
  'contracts',
  'ended',
  'exercises',
  'archives',
  'interface_views',
  'reassignments',
  'topology_events',
  'quarantine',
  'completions',
  'retention_holds',
];

/** Functions of schema pqs that remove: what the redactor has the rights for, and everybody else could only fail with. */
const removing = [
  '__contract_state(text)',
  '__note_pruned(bigint)',
  '__prune_contracts(integer[], bigint, bigint, bigint)',
  '__prune_preview(bigint)',
  '__prune_updates(bigint, bigint)',
  '__redact_contracts(text[], text, boolean)',
  '__redact_exercise(bigint, integer, text)',
  '__restart_writer()',
  '__retention_lock()',
  'prune_archived_to_offset(bigint)',
  'prune_archived_to_offset_dry_run(bigint)',
  'prune_to_offset(bigint)',
  'redact_contract(text, text)',
  'validate_pruning_offset(bigint)',
];

/** The one function with the rights of its owner. @param storage schema of the stream */
export function withOwnersRights(storage: string): string {
  return `${escapeIdentifier(storage)}.clear_unfinished_seed(bigint)`;
}

/** Functions of the storage that the writer calls when a party leaves the participant. */
const departures = [
  'hosts(text, integer, bigint)',
  'unknown_parties(text[], integer, bigint)',
  'mark_unknown(bigint, boolean)',
];

/** Functions of the storage that show what is kept as bytes; indexes are made of them, so whoever writes calls them. */
const inWords = ['id_text(bytea)', 'base64_text(bytea)', 'trace_text(bytea)', 'lifetime_class(bigint, bigint)'];

/** Functions that the writer calls, with the types of their parameters. @param storage schema of the stream */
function writerFunctions(storage: string): readonly string[] {
  return [
    withOwnersRights(storage),
    ...[...departures, ...inWords].map((called) => `${escapeIdentifier(storage)}.${called}`),
  ];
}

/** Tables, columns and functions beyond reading, as the lists above have them. */
export interface Rights {
  readonly inserted: readonly string[];
  readonly updated: Readonly<Record<string, string>>;
  readonly deleted: readonly string[];
  readonly called: readonly string[];
}

/** @param storage schema of the stream */
export function writerRights(storage: string): Rights {
  return { inserted, updated: maintained, deleted: removed, called: writerFunctions(storage) };
}

/** @param storage schema of the stream */
export function redactorRights(storage: string): Rights {
  return { inserted: noted, updated: contents, deleted: pruned, called: redactorFunctions(storage) };
}

/** What the writer may do. */
export function writerGrants(role: string, storage: string): readonly string[] {
  const name = escapeIdentifier(role);
  const explore = escapeIdentifier(readSchemas(storage).explore);
  return [
    ...clean(name, storage),
    `grant insert on ${inserted.join(', ')} to ${name}`,
    ...updates(maintained, name),
    `grant execute on function ${writerFunctions(storage).join(', ')} to ${name}`,
    // What the status page shows of an update comes from functions there, which run with the rights of the writer.
    `grant usage on schema ${explore} to ${name}`,
    // What `/changes` answers this machine without a token.
    `grant select on ${explore}.events to ${name}`,
    `grant delete on ${removed.join(', ')} to ${name}`,
    // Addresses and secrets: for whoever delivers.
    `drop policy if exists delivering on webhook_secrets`,
    `create policy delivering on webhook_secrets for select to ${name} using (true)`,
    // Whom it answers over HTTP.
    `drop policy if exists answering on reader_tokens`,
    `create policy answering on reader_tokens for select to ${name} using (true)`,
  ];
}

/** Functions that the redactor calls, with the types of their parameters. @param storage schema of the stream */
function redactorFunctions(storage: string): readonly string[] {
  const pqs = escapeIdentifier(readSchemas(storage).pqs);
  return [...removing, `redact_exercise(${pqs}.event_id, text)`].map((called) => `${pqs}.${called}`);
}

/** Functions by which INDEXER_KEEP prunes. @param storage schema of the stream */
export function pruningFunctions(storage: string): readonly string[] {
  const pqs = escapeIdentifier(readSchemas(storage).pqs);
  return removing
    .filter((called) => /^__(?:retention_lock|note_pruned|prune_contracts|prune_updates)\(/.test(called))
    .map((called) => `${pqs}.${called}`);
}

/** What the redactor may do. */
export function redactorGrants(role: string, storage: string): readonly string[] {
  const name = escapeIdentifier(role);
  const pqs = escapeIdentifier(readSchemas(storage).pqs);
  return [
    ...clean(name, storage),
    `grant insert on ${noted.join(', ')} to ${name}`,
    `grant usage on schema ${pqs} to ${name}`,
    `grant execute on function ${redactorFunctions(storage).join(', ')} to ${name}`,
    ...updates(contents, name),
    `grant delete on ${pruned.join(', ')} to ${name}`,
  ];
}

/** To be run again after an upgrade: what a former version gave is taken back first. */
function clean(name: string, storage: string): readonly string[] {
  const schema = escapeIdentifier(storage);
  return [
    `revoke all on all tables in schema ${schema} from ${name}`,
    `revoke all on all functions in schema ${schema} from ${name}`,
    `grant usage on schema ${schema} to ${name}`,
    `grant select on all tables in schema ${schema} to ${name}`,
    `grant execute on function ${inWords.map((called) => `${schema}.${called}`).join(', ')} to ${name}`,
  ];
}

function updates(columns: Readonly<Record<string, string>>, name: string): readonly string[] {
  return Object.entries(columns).map(([table, list]) => `grant update (${list}) on ${table} to ${name}`);
}
