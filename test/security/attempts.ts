/** Statements that must fail for an attacker with a stolen password, and the roles that may run them. */
import type { Client } from 'pg';

/** A statement that every login role tries. */
export interface Attempt {
  readonly sql: string;
  /** Roles that may run the statement. It must fail for all others. */
  readonly may?: readonly string[];
}

const redaction = `insert into ledger.redactions (redaction_id, subject, reason, requested_by) values ('mine', 'party', 'x', session_user)`;
const redactedColumns = 'payload = null, contract_key = null, created_event_blob = null';
const noteOf = (update: string): string =>
  `insert into ledger.redacted_exercises select max("offset"), 0, ${update}, 'mine' from ledger.updates`;

/** Updates of the columns in which the redactor records what it removed. It must not be able to write other values. */
const redactionAttempts: readonly Attempt[] = [
  { sql: `update ledger.contracts set payload = 'null'`, may: ['migrator'] },
  { sql: `update ledger.exercises set argument = 'null', result = 'null'`, may: ['migrator'] },
  { sql: `update ledger.contracts set contract_key_hash = null`, may: ['migrator'] },
  { sql: `${redaction}; update ledger.contracts set redaction_id = 'mine'`, may: ['migrator'] },
  { sql: `update ledger.contracts set redaction_id = 'nobody''s', ${redactedColumns}`, may: ['migrator'] },
  {
    sql: `${redaction}; update ledger.contracts set redaction_id = 'mine', ${redactedColumns}`,
    may: ['redactor', 'migrator'],
  },
  { sql: `${redaction}; update ledger.redactions set contracts = 1`, may: ['redactor', 'migrator'] },
  {
    sql: `${redaction}; update ledger.redactions set contracts = 2; update ledger.redactions set contracts = 1`,
    may: ['migrator'],
  },
  {
    sql: `insert into ledger.redactions (redaction_id, subject, reason, requested_by, redacted_at) values ('x', 'party', 'x', session_user, 'epoch')`,
    may: ['migrator'],
  },
  {
    sql: `insert into ledger.redacted_contracts values ('x', 'mine', true); update ledger.redacted_contracts set exercises = false`,
    may: ['migrator'],
  },
  {
    sql: `insert into ledger.redacted_contracts values ('x', 'mine', false); update ledger.redacted_contracts set exercises = true`,
    may: ['redactor', 'migrator'],
  },
  { sql: `${noteOf("'u'")}; update ledger.redacted_exercises set redaction_id = 'x'`, may: ['migrator'] },
  { sql: `${noteOf("'u'")}; update ledger.redacted_exercises set update_id = 'v'`, may: ['migrator'] },
  { sql: `${noteOf("'u'")}; update ledger.redacted_exercises set update_id = null`, may: ['migrator'] },
  {
    sql: `${noteOf("'u'")}; update ledger.redacted_exercises set redaction_id = 'x',
      update_id = (select ledger.id_text(u.update_id) from ledger.updates u order by "offset" desc limit 1)`,
    may: ['redactor', 'migrator'],
  },
  { sql: `update ledger.stream set pruned_to_offset = 9223372036854775807`, may: ['migrator'] },
  { sql: `update ledger.stream set pruned_to_offset = checkpoint + 1`, may: ['migrator'] },
  { sql: `update ledger.stream set pruned_to_offset = checkpoint`, may: ['redactor', 'migrator'] },
  {
    sql: `update ledger.stream set pruned_to_offset = checkpoint; update ledger.stream set pruned_to_offset = checkpoint - 1`,
    may: ['migrator'],
  },
  {
    sql: `insert into ledger.retention_holds (name, "offset") values ('x', 0); update ledger.stream set pruned_to_offset = checkpoint`,
    may: ['migrator'],
  },
  { sql: `update ledger.retention_holds set name = 'x' where false`, may: ['migrator'] },
  { sql: `update ledger.retention_holds set since = now() where false`, may: ['migrator'] },
];

export const attempts: readonly Attempt[] = [
  ...redactionAttempts,
  { sql: `update ledger.contracts set payload = '{}'`, may: ['migrator'] },
  { sql: `update ledger.contracts set payload = null`, may: ['redactor', 'migrator'] },
  { sql: `update ledger.contracts set contract_key = payload, payload = null`, may: ['migrator'] },
  { sql: `update ledger.contracts set created_event_blob = 'x'`, may: ['migrator'] },
  { sql: `update ledger.contracts set parties_pk = 1`, may: ['migrator'] },
  { sql: `update ledger.contract_parties set signatories = '{}'`, may: ['migrator'] },
  { sql: `update ledger.event_parties set witness_parties = '{}'`, may: ['migrator'] },
  { sql: `update ledger.exercises set argument = '{}'`, may: ['migrator'] },
  { sql: `update ledger.exercises set argument = null, result = null`, may: ['redactor', 'migrator'] },
  { sql: `update ledger.updates set record_time = now()`, may: ['migrator'] },
  { sql: `update ledger.batches set epoch = 0`, may: ['migrator'] },
  { sql: `update ledger.live set "offset" = 0 where false`, may: ['migrator'] },
  { sql: `update ledger.live set unhosted_since = 1 where false`, may: ['writer', 'migrator'] },
  { sql: `update ledger.ended set "offset" = 0 where false`, may: ['migrator'] },
  { sql: `update ledger.ended set ended_offset = 1 where false`, may: ['writer', 'migrator'] },
  { sql: `delete from ledger.live where false`, may: ['writer', 'migrator'] },
  { sql: `delete from ledger.ended where false`, may: ['redactor', 'migrator'] },
  { sql: `delete from ledger.contract_parties where false`, may: ['migrator'] },
  { sql: `update ledger.stream set filter_hash = 'x'`, may: ['migrator'] },
  { sql: `update ledger.stream set checkpoint = 1 where false`, may: ['writer', 'migrator'] },
  { sql: `update ledger.stream set epoch = 9223372036854775807`, may: ['migrator'] },
  { sql: `update ledger.stream set epoch = epoch - 1`, may: ['migrator'] },
  { sql: `update ledger.stream set epoch = epoch + 1`, may: ['redactor', 'writer', 'migrator'] },
  { sql: `update ledger.stream set pruned_to_offset = 1 where false`, may: ['redactor', 'migrator'] },
  {
    sql: `insert into ledger.redactions (redaction_id, subject, reason, requested_by) values ('x', 'party', 'x', 'x')`,
    may: ['migrator'],
  },
  { sql: `insert into ledger.synchronizers values (999, 'x')`, may: ['writer', 'migrator'] },
  { sql: `insert into ledger.schema_migrations values ('x')`, may: ['migrator'] },
  { sql: `insert into ledger.typed_views values ('x', 'template', 'x', 'x', 'x')`, may: ['migrator'] },
  { sql: `delete from ledger.contracts`, may: ['redactor', 'migrator'] },
  { sql: `delete from ledger.stream`, may: ['migrator'] },
  { sql: `delete from ledger.redactions`, may: ['migrator'] },
  { sql: `delete from ledger.coverage`, may: ['migrator'] },
  { sql: `truncate ledger.contracts`, may: ['migrator'] },
  { sql: `truncate ledger.stream`, may: ['migrator'] },
  { sql: `alter table ledger.contracts add column mine int`, may: ['migrator'] },
  { sql: `alter table ledger.contracts disable row level security`, may: ['migrator'] },
  { sql: `alter function ledger.clear_unfinished_seed(bigint) security invoker`, may: ['migrator'] },
  { sql: `drop table ledger.archives cascade`, may: ['migrator'] },
  { sql: `drop schema typed cascade`, may: ['migrator'] },
  { sql: `create index mine on ledger.contracts (node_id)`, may: ['migrator'] },
  { sql: `create table ledger.mine (a int)`, may: ['migrator'] },
  { sql: `create view typed.mine as select 1 as a`, may: ['migrator'] },
  { sql: `create function ledger.mine() returns int language sql as 'select 1'`, may: ['migrator'] },
  { sql: `create schema mine`, may: ['migrator'] },
  {
    sql: `create trigger mine before insert on ledger.contracts for each row execute function suppress_redundant_updates_trigger()`,
    may: ['migrator'],
  },
  { sql: `create temporary table mine (a int)` },
  { sql: `create table public.mine (a int)` },
  { sql: `select pg_read_file('/etc/hostname')` },
  { sql: `select pg_ls_dir('.')` },
  { sql: `copy (select 1) to program 'true'` },
  { sql: `copy (select 1) to '/tmp/mine'` },
  { sql: `copy ledger.synchronizers from '/etc/hostname'` },
  { sql: `select lo_import('/etc/hostname')` },
  { sql: `select lo_from_bytea(0, 'x')` },
  { sql: `select lo_create(0)` },
  {
    sql: `select pg_advisory_xact_lock(hashtext('ledger-indexer writer'), hashtext('ledger'))`,
    may: ['redactor', 'writer', 'migrator'],
  },
  { sql: `select pg_try_advisory_lock_shared(7)`, may: ['redactor', 'writer', 'migrator'] },
  { sql: `select lo_creat(-1)` },
  { sql: `select pg_logical_emit_message(false, 'x', 'x')` },
  { sql: `create extension file_fdw` },
  { sql: `create role mine` },
  { sql: `alter role current_user superuser` },
  { sql: `set log_statement = 'none'` },
  { sql: `set role pg_read_server_files` },
  { sql: `select pg_reload_conf()` },
  { sql: `select rolpassword from pg_authid` },
];

/** Runs the statement in a transaction that is rolled back. Undefined if it succeeded, otherwise the SQLSTATE. */
export async function attempt(client: Client, sql: string): Promise<string | undefined> {
  await client.query('begin read write');
  try {
    await client.query(sql);
    return undefined;
  } catch (error) {
    return String(Reflect.get(error as object, 'code'));
  } finally {
    await client.query('rollback');
  }
}
