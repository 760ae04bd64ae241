/**
 * What the roles beside the owner may do in the tables of a stream. Pure SQL text, to be run with the storage as search
 * path. A right that is not here is one that a stolen password does not give.
 */
import { escapeIdentifier } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';

/** The names of the roles of one stream. Roles belong to the whole server, so two streams need two prefixes. */
export interface StreamRoles {
  /** Owns everything, cannot log in. */
  readonly owner: string;
  /** Becomes the owner when it logs in: for `migrate`, `views rebuild`, `index create`. */
  readonly migrator: string;
  /** The indexer. */
  readonly writer: string;
  /** Removes contents and old history. */
  readonly redactor: string;
  /** Reads, and nothing else. */
  readonly reader: string;
}

/** `<prefix>_owner` and so on. */
export function streamRoles(prefix: string): StreamRoles {
  return {
    owner: `${prefix}_owner`,
    migrator: `${prefix}_migrator`,
    writer: `${prefix}_writer`,
    redactor: `${prefix}_redactor`,
    reader: `${prefix}_reader`,
  };
}

/** Tables the writer adds rows to. */
const written = [
  'stream',
  'updates',
  'contracts',
  'lifetimes',
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
  'packages',
  'paddings',
  'quarantine',
  'verifications',
];

/** Columns the writer changes. What the ledger said once is not among them. */
const maintained: Readonly<Record<string, string>> = {
  stream:
    'participant_id, seed_offset, seeded_at, seed_token, seed_contracts, checkpoint, checkpoint_update_offset, ' +
    'checkpoint_update_id, checkpoint_record_time, record_times, epoch, writer, ledger_end, pruned_offset',
  lifetimes: 'deactivated_offset, unknown_since',
  templates: 'package_name',
  active_counts: 'activated, deactivated',
  activity_hourly:
    'creates, archives, exercises, transactions, total_creates, total_archives, total_exercises, ' +
    'paid_traffic_cost, delay_seconds',
  paddings: 'padding',
  quarantine: 'attempts, attempted_at',
  verifications: 'outcome, at_offset, started_at, seconds, compared, different, quarantined, note',
};

/** Columns that hold contents, which a redaction removes. */
const contents: Readonly<Record<string, string>> = {
  contracts: 'payload, contract_key, contract_key_hash, created_event_blob, redaction_id',
  exercises: 'argument, result, redaction_id',
  interface_views: 'view, status_message, status_details, redaction_id',
  reassignments: 'created_event',
  redactions: 'contracts, exercises',
  redacted_contracts: 'exercises',
  redacted_exercises: 'update_id, redaction_id',
  // The epoch, so that a running writer begins a new session, in which it knows what was redacted.
  stream: 'kept_offset, epoch',
};

/** Tables that pruning removes rows of. */
const history = [
  'updates',
  'contracts',
  'lifetimes',
  'exercises',
  'archives',
  'interface_views',
  'reassignments',
  'topology_events',
  'quarantine',
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
const departures = ['hosts(text, integer, bigint)', 'mark_unknown(bigint, boolean)'];

/** What the writer may do. */
export function writerGrants(role: string, storage: string): readonly string[] {
  const name = escapeIdentifier(role);
  return [
    ...clean(name, storage),
    `grant insert on ${written.join(', ')} to ${name}`,
    ...updates(maintained, name),
    `grant execute on function ${withOwnersRights(storage)} to ${name}`,
    `grant execute on function ${departures.map((called) => `${escapeIdentifier(storage)}.${called}`).join(', ')} to ${name}`,
  ];
}

/** What the redactor may do. */
export function redactorGrants(role: string, storage: string): readonly string[] {
  const name = escapeIdentifier(role);
  const pqs = escapeIdentifier(readSchemas(storage).pqs);
  const functions = [...removing, `redact_exercise(${pqs}.event_id, text)`].map((called) => `${pqs}.${called}`);
  return [
    ...clean(name, storage),
    `grant insert on redactions, redacted_contracts, redacted_exercises to ${name}`,
    `grant usage on schema ${pqs} to ${name}`,
    `grant execute on function ${functions.join(', ')} to ${name}`,
    ...updates(contents, name),
    `grant delete on ${history.join(', ')} to ${name}`,
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
  ];
}

function updates(columns: Readonly<Record<string, string>>, name: string): readonly string[] {
  return Object.entries(columns).map(([table, list]) => `grant update (${list}) on ${table} to ${name}`);
}
