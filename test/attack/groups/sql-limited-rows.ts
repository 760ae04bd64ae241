/** Statements that a limited reader must not be able to use: forbidden reads and forbidden actions, one row each. */
import type { Attempt } from '../attempt.ts';
import { emptyRow, refusedRow } from '../wire/rows.ts';
import type { World } from '../world/world.ts';

const login = 'limited';

/** A condition that only the hidden update satisfies. */
export const hiddenRowSql = ({ hidden: hiddenUpdate }: World): string => `"offset" = ${String(hiddenUpdate.offset)}`;

const rows: readonly Attempt[] = [
  emptyRow(login, 'row-security-off', 'turns row security off', 'select 1 from ledger.updates limit 1', [
    'set row_security = off',
  ]),
  emptyRow(
    login,
    'hidden-update',
    'selects a hidden update',
    (w) => `select * from ledger.updates where ${hiddenRowSql(w)}`,
  ),
  emptyRow(
    login,
    'hidden-by-cast',
    'casts a hidden value, so that an error would contain it',
    (w) => `select command_id::int from ledger.updates where ${hiddenRowSql(w)}`,
  ),
  emptyRow(
    login,
    'hidden-by-join',
    'joins a hidden update',
    (w) =>
      `select c.payload from ledger.contracts c join (values (${String(w.hidden.offset)}::bigint)) v (o) on v.o = c."offset"`,
  ),
  emptyRow(
    login,
    'hidden-by-tid',
    'scans by the place of the rows',
    (w) =>
      `select ctid from ledger.updates where ctid = any (array(select format('(%s,%s)', p, i)::tid from generate_series(0, 40) p, generate_series(1, 90) i)) and ${hiddenRowSql(w)}`,
  ),
  emptyRow(
    login,
    'hidden-by-sample',
    'samples the table',
    (w) => `select 1 from ledger.updates tablesample system (100) where ${hiddenRowSql(w)}`,
  ),
  emptyRow(
    login,
    'hidden-by-xml',
    'has the server write the table as XML',
    (w) =>
      `select x from query_to_xml('select * from ledger.updates', true, false, '') x where x::text like '%${w.hidden.updateId}%'`,
  ),
  emptyRow(
    login,
    'hidden-by-cursor',
    'reads by a cursor that it holds',
    (w) => `select x from cursor_to_xml('held', 100000, true, false, '') x where x::text like '%${w.hidden.updateId}%'`,
    ['begin', 'declare held cursor for select * from ledger.updates'],
  ),
  emptyRow(
    login,
    'statistics',
    'reads the statistics of columns',
    `select 1 from pg_stats where schemaname = 'ledger' and tablename in ('updates', 'contracts', 'exercises', 'completions')`,
  ),
  emptyRow(login, 'statistics-catalogue', 'reads the catalogue of statistics', 'select 1 from pg_statistic limit 1'),
  emptyRow(
    login,
    'statements-of-others',
    'reads the statements of other sessions',
    `select query from pg_stat_activity where usename <> current_user and query <> '<insufficient privilege>' and query <> ''`,
  ),
  emptyRow(
    login,
    'password-verifiers',
    'reads verifiers of passwords',
    'select rolpassword from pg_authid where rolpassword is not null',
  ),
  emptyRow(login, 'reader-tokens', 'reads hashes of tokens', 'select * from ledger.reader_tokens'),
  emptyRow(login, 'webhook-secrets', 'reads signing secrets', 'select * from ledger.webhook_secrets'),
  emptyRow(login, 'filter', 'reads which parties are indexed', 'select * from ledger.filter_additions'),
  emptyRow(
    login,
    'counts',
    'reads counts of all parties',
    'select 1 from ledger.active_counts union all select 1 from ledger.activity_hourly',
  ),
  emptyRow(
    login,
    'data-folder',
    'reads where the server keeps its files',
    `select setting from pg_settings where name in ('data_directory', 'hba_file', 'config_file')`,
  ),
];

const refusedAttempts: readonly Attempt[] = [
  refusedRow(login, 'role-writer', 'becomes the writer', (w) => `set role ${w.role('writer')}`),
  refusedRow(login, 'role-owner', 'becomes the owner', (w) => `set role ${w.role('owner')}`),
  refusedRow(login, 'role-reader', 'becomes the full reader', (w) => `set role ${w.role('reader')}`),
  refusedRow(
    login,
    'session-of-another',
    'becomes another login',
    (w) => `set session authorization ${w.role('writer')}`,
  ),
  refusedRow(login, 'replication-role', 'turns triggers off', 'set session_replication_role = replica'),
  refusedRow(login, 'load-library', 'loads a library', `load 'auto_explain'`, ['42501', '58P01']),
  refusedRow(login, 'alter-system', 'changes settings of the server', `alter system set log_statement = 'all'`, [
    '42501',
    '25001',
  ]),
  refusedRow(
    login,
    'alter-database',
    'changes settings of the database',
    (w) => `alter database ${new URL(w.databaseUrl).pathname.slice(1)} set row_security = off`,
  ),
  refusedRow(
    login,
    'alter-writer',
    'changes the password of the writer',
    (w) => `alter role ${w.role('writer')} password 'x'`,
  ),
  refusedRow(
    login,
    'trusted-extension',
    'makes an extension that every owner of a database may make',
    'create extension hstore',
    ['42501', '0A000', '58P01'],
  ),
  refusedRow(login, 'policy', 'makes a policy', 'create policy mine on ledger.updates using (true)'),
  refusedRow(login, 'drop-policy', 'drops row security', 'alter table ledger.updates no force row level security'),
  refusedRow(
    login,
    'grant-to-self',
    'grants itself a role',
    (w) => `grant ${w.role('reader')} to ${w.role('limited')}`,
  ),
  refusedRow(login, 'lock-row', 'locks the row of the stream', 'select 1 from ledger.stream for update'),
  refusedRow(
    login,
    'lock-row-shared',
    'locks the row of the stream in share mode',
    'select 1 from ledger.stream for key share',
  ),
  ...['share', 'share row exclusive', 'exclusive', 'access exclusive', 'row exclusive', 'share update exclusive'].map(
    (mode) =>
      refusedRow(
        login,
        `lock-table-${mode.replaceAll(' ', '-')}`,
        `locks the stream in ${mode} mode`,
        `lock table ledger.stream in ${mode} mode`,
      ),
  ),
  ...[
    'pg_advisory_lock(1)',
    'pg_advisory_lock_shared(1)',
    'pg_try_advisory_lock(1)',
    'pg_advisory_xact_lock(1, 2)',
    'pg_advisory_xact_lock_shared(1)',
    'pg_try_advisory_xact_lock(1)',
    `pg_advisory_lock(hashtext('ledger-indexer writer'), hashtext('ledger'))`,
    `pg_advisory_lock(hashtext('ledger_indexer:ledger'))`,
  ].map((call, index) =>
    refusedRow(login, `advisory-lock-${String(index + 1)}`, `takes an advisory lock: ${call}`, `select ${call}`),
  ),
  refusedRow(
    login,
    'ends-the-writer',
    'ends sessions of the writer',
    (w) => `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${w.role('writer')}'`,
  ),
  refusedRow(
    login,
    'cancels-the-writer',
    'cancels statements of the writer',
    (w) => `select pg_cancel_backend(pid) from pg_stat_activity where usename = '${w.role('writer')}'`,
  ),
  refusedRow(
    login,
    'large-object-import',
    'makes a large object',
    `select lo_from_bytea(0, repeat('x', 1000000)::bytea)`,
  ),
  refusedRow(login, 'large-object-put', 'writes into a large object', `select lo_put(1, 0, 'x')`),
  refusedRow(
    login,
    'wal-message',
    'writes to the write-ahead log',
    `select pg_logical_emit_message(false, 'x', repeat('x', 1000000))`,
  ),
  refusedRow(
    login,
    'replication-slot',
    'keeps the write-ahead log of the server',
    `select pg_create_physical_replication_slot('mine', true)`,
    ['42501', '55000'],
  ),
  refusedRow(login, 'publication', 'publishes the tables', 'create publication mine for all tables'),
  refusedRow(login, 'prepared-transaction', 'leaves a prepared transaction', `prepare transaction 'mine'`, [
    '55000',
    '25P01',
    '0A000',
    '42501',
  ]),
  refusedRow(
    login,
    'event-trigger',
    'makes an event trigger',
    'create event trigger mine on ddl_command_end execute function suppress_redundant_updates_trigger()',
    ['42501', '42P17'],
  ),
  refusedRow(
    login,
    'statistics-object',
    'makes statistics of a table',
    'create statistics mine on "offset", command_id from ledger.updates',
  ),
  refusedRow(login, 'clear-seed', 'clears the seed', 'select ledger.clear_unfinished_seed(epoch) from ledger.stream'),
  refusedRow(login, 'backup', 'starts a backup', `select pg_switch_wal()`),
  refusedRow(
    login,
    'queue-to-disk',
    'makes files by a shared statement log',
    `select pg_export_snapshot(), pg_rotate_logfile()`,
  ),
];

export const limitedRows: readonly Attempt[] = [...rows, ...refusedAttempts];
