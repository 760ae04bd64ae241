/**
 * Rights of the writer and the redactor on the tables of a stream, derived from the table entries. Generates SQL text
 * that runs with the storage schema as search path.
 */
import { escapeIdentifier } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';
import { entriesWhere, tablesWhere } from '../tables/tables.ts';

/** Tables to which the writer adds rows. */
export const inserted = tablesWhere(({ writer }) => writer?.insert === true);

/** Tables from which the redactor deletes rows: those that pruning deletes, holds, labels, and projected rows. */
export const pruned = tablesWhere(({ redactor }) => redactor?.delete === true);

/** Tables from which the writer deletes rows, and tables to which the redactor adds rows. */
const deletableTables = tablesWhere(({ writer }) => writer?.delete === true);
const redactionTables = tablesWhere(({ redactor }) => redactor?.insert === true);

/** The columns that a role may change, by table, as SQL. */
function updated(role: 'writer' | 'redactor'): Readonly<Record<string, string>> {
  return Object.fromEntries(
    entriesWhere((entry) => entry[role]?.update !== undefined).map(([table, entry]) => [
      table,
      entry[role]?.update ?? '',
    ]),
  );
}

/**
 * Functions of schema pqs that remove data. Only the redactor gets a grant, because the calls of any other role would
 * fail anyway.
 */
const pruneFunctions = [
  '__contract_state(text)',
  '__note_pruned(bigint)',
  '__prune_contracts(integer[], bigint, bigint, bigint)',
  '__prune_preview(bigint)',
  '__prune_updates(bigint, bigint)',
  '__redact_contracts(text[], text, boolean)',
  '__redact_exercise(bigint, integer, text)',
  '__remove_projected()',
  '__restart_writer()',
  '__retention_lock()',
  'prune_archived_to_offset(bigint)',
  'prune_archived_to_offset_dry_run(bigint)',
  'prune_to_offset(bigint)',
  'redact_contract(text, text)',
  'validate_pruning_offset(bigint)',
];

/** Empties tables for the writer, with the rights of the owner. @param storage schema of the stream */
function clearSeed(storage: string): string {
  return `${escapeIdentifier(storage)}.clear_unfinished_seed(bigint)`;
}

/** The only functions that run with the rights of their owner. @param storage schema of the stream */
export function withOwnersRights(storage: string): readonly string[] {
  const schema = escapeIdentifier(storage);
  return [clearSeed(storage), `${schema}.session_parties()`, `${schema}.session_reads_all()`];
}

/** Functions of the storage that the writer calls when a party leaves the participant. */
const departures = [
  'hosts(text, integer, bigint)',
  'unhosted_parties(text[], integer, bigint)',
  'mark_unhosted(bigint, boolean)',
];

/**
 * Functions of the storage that decode columns stored as bytes. Indexes use them, so roles that write need to call
 * them.
 */
const decoders = ['id_text(bytea)', 'base64_text(bytea)', 'trace_text(bytea)', 'lifetime_class(bigint, bigint)'];

/** Functions that the writer calls, with their parameter types. @param storage schema of the stream */
function writerFunctions(storage: string): readonly string[] {
  return [
    clearSeed(storage),
    ...[...departures, ...decoders].map((functionName) => `${escapeIdentifier(storage)}.${functionName}`),
  ];
}

/** Rights beyond reading on tables, columns and functions, derived from the table entries. */
export interface Rights {
  readonly inserted: readonly string[];
  readonly updated: Readonly<Record<string, string>>;
  readonly deleted: readonly string[];
  readonly called: readonly string[];
}

/** @param storage schema of the stream */
export function writerRights(storage: string): Rights {
  return { inserted, updated: updated('writer'), deleted: deletableTables, called: writerFunctions(storage) };
}

/** @param storage schema of the stream */
export function redactorRights(storage: string): Rights {
  return {
    inserted: redactionTables,
    updated: updated('redactor'),
    deleted: pruned,
    called: redactorFunctions(storage),
  };
}

/** Grants of the writer. */
export function writerGrants(role: string, storage: string): readonly string[] {
  const name = escapeIdentifier(role);
  const explore = escapeIdentifier(readSchemas(storage).explore);
  return [
    ...clean(name, storage),
    `grant insert on ${inserted.join(', ')} to ${name}`,
    ...updates(updated('writer'), name),
    `grant execute on function ${writerFunctions(storage).join(', ')} to ${name}`,
    // The status page reads updates through functions of this schema. They run with the rights of the writer.
    `grant usage on schema ${explore} to ${name}`,
    // Local clients may read `/changes` without a token, and the writer reads for them.
    `grant select on ${explore}.events to ${name}`,
    // The writer fills projections, whose SELECTs read these views.
    ...['token_changes', 'token_events', 'token_legs', 'token_transfer_steps'].map(
      (view) => `grant select on ${explore}.${view} to ${name}`,
    ),
    // The function traffic_runway_at, which the writer reads for metrics, reads these views.
    ...['interface_coverage', 'traffic_purchases'].map((view) => `grant select on ${explore}.${view} to ${name}`),
    `grant delete on ${deletableTables.join(', ')} to ${name}`,
    // The writer reads URLs and secrets of webhooks for deliveries.
    `drop policy if exists delivering on webhook_secrets`,
    `create policy delivering on webhook_secrets for select to ${name} using (true)`,
    // The writer reads the tokens of HTTP clients.
    `drop policy if exists answering on reader_tokens`,
    `create policy answering on reader_tokens for select to ${name} using (true)`,
  ];
}

/** Functions that the redactor calls, with their parameter types. @param storage schema of the stream */
function redactorFunctions(storage: string): readonly string[] {
  const pqs = escapeIdentifier(readSchemas(storage).pqs);
  return [...pruneFunctions, `redact_exercise(${pqs}.event_id, text)`].map((functionName) => `${pqs}.${functionName}`);
}

/** Functions with which INDEXER_RETENTION prunes. @param storage schema of the stream */
export function pruningFunctions(storage: string): readonly string[] {
  const pqs = escapeIdentifier(readSchemas(storage).pqs);
  return pruneFunctions
    .filter((functionName) => /^__(?:retention_lock|note_pruned|prune_contracts|prune_updates)\(/.test(functionName))
    .map((functionName) => `${pqs}.${functionName}`);
}

/** Grants of the redactor. */
export function redactorGrants(role: string, storage: string): readonly string[] {
  const name = escapeIdentifier(role);
  const pqs = escapeIdentifier(readSchemas(storage).pqs);
  return [
    ...clean(name, storage),
    `grant insert on ${redactionTables.join(', ')} to ${name}`,
    `grant usage on schema ${pqs} to ${name}`,
    `grant execute on function ${redactorFunctions(storage).join(', ')} to ${name}`,
    ...updates(updated('redactor'), name),
    `grant delete on ${pruned.join(', ')} to ${name}`,
  ];
}

/** Revokes all rights first, because a previous version may have granted more. */
function clean(name: string, storage: string): readonly string[] {
  const schema = escapeIdentifier(storage);
  return [
    `revoke all on all tables in schema ${schema} from ${name}`,
    `revoke all on all functions in schema ${schema} from ${name}`,
    `grant usage on schema ${schema} to ${name}`,
    `grant select on all tables in schema ${schema} to ${name}`,
    `grant execute on function ${decoders.map((functionName) => `${schema}.${functionName}`).join(', ')} to ${name}`,
  ];
}

function updates(columns: Readonly<Record<string, string>>, name: string): readonly string[] {
  return Object.entries(columns).map(([table, list]) => `grant update (${list}) on ${table} to ${name}`);
}
