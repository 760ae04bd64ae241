/**
 * Attacks by a role that may create temporary tables, types, casts and a schema. It plants functions that run when
 * another role reads its tables, or when a name is resolved in its schema first. The functions report when they run as
 * another role.
 */
import type { Client } from 'pg';
import { callsOf, type Callable } from '../read/reader-attempts.ts';

const ownFunctions = `p.pronamespace::regnamespace::text in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync')`;
/** SQLSTATE that the planted functions raise when they run as another role. */
const breachState = 'XX042';
const alarm = `begin
  if current_user <> session_user then
    raise exception '%', current_user using errcode = '${breachState}';
  end if;
  return null;
end`;

/** One line for each successful attack. The client must be logged in as the role. */
export async function breachesOf(client: Client): Promise<readonly string[]> {
  await client.query('set search_path = pg_catalog');
  const baitsByType = await createBaits(client);
  const reachableCalls = [
    ...(await findTriggerHijacks(client, baitsByType)),
    ...(await findCallHijacks(client, baitsByType)),
  ];
  return [...reachableCalls, ...(await findNameHijacks(client))];
}

/** For each type of columns and parameters, a type of the role with an implicit cast to it. */
async function createBaits(client: Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ type: string }>(
    `select format_type(a.atttypid, null) as type from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
     union select format_type(u, null) from pg_proc p, unnest(p.proargtypes) u join pg_type t on t.oid = u
      where ${ownFunctions} and t.typtype <> 'p' order by 1`,
  );
  const baitsByType = new Map<string, string>();
  for (const [index, { type }] of rows.entries()) {
    const baitName = `pg_temp.bait_${String(index)}`;
    await client.query(
      `create type ${baitName} as (a int);
       create function pg_temp.bite_${String(index)}(${baitName}) returns ${type} language plpgsql as $$ ${alarm} $$;
       create cast (${baitName} as ${type}) with function pg_temp.bite_${String(index)}(${baitName}) as implicit`,
    );
    baitsByType.set(type, baitName);
  }
  return baitsByType;
}

/** Attaches every trigger function, with every event and timing, to copies of the project's tables. */
async function findTriggerHijacks(
  client: Client,
  baitsByType: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const triggers = await client.query<{ name: string; called: string }>(
    `select p.oid::regprocedure::text as name, p.oid::regproc::text as called from pg_proc p
      where ${ownFunctions} and p.prorettype = 'trigger'::regtype order by 1`,
  );
  const tables = await client.query<{ name: string; columns: readonly string[]; types: readonly string[] }>(
    `select c.relname::text as name, array_agg(quote_ident(a.attname) order by a.attnum) as columns,
            array_agg(format_type(a.atttypid, null) order by a.attnum) as types
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'r' group by 1 order by 1`,
  );
  const firedNames = new Set<string>();
  for (const { name, called: functionName } of triggers.rows) {
    for (const { name: table, columns, types } of tables.rows) {
      const baitedColumns = columns.map((column, index) => `${column} ${baitsByType.get(types[index] ?? '') ?? ''}`);
      const values = types.map((type) => `row(1)::${baitsByType.get(type) ?? ''}`);
      for (const triggerClause of ['referencing new table as new_rows for each statement', 'for each row']) {
        const outcome = await run(
          client,
          `create temporary table ${table} (${baitedColumns.join(', ')})`,
          `create trigger mine after insert on pg_temp.${table} ${triggerClause} execute function ${functionName}()`,
          `insert into pg_temp.${table} values (${values.join(', ')})`,
        );
        if (outcome !== undefined) firedNames.add(`${name} runs it as ${outcome}`);
      }
    }
  }
  return [...firedNames];
}

/** Calls every function and procedure with bait values. */
async function findCallHijacks(client: Client, baitsByType: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const callNames: string[] = [];
  for (const { name, types, kind } of await calledFunctions(client)) {
    const values = types.map((type) => `row(1)::${baitsByType.get(type) ?? ''}`).join(', ');
    const outcome = await run(client, `${kind === 'p' ? 'call' : 'select'} ${name}(${values})`);
    if (outcome !== undefined) callNames.push(`${name} runs it as ${outcome}`);
  }
  return callNames;
}

/** Calls every function and reads every view with a search path on which the objects of Postgres come last. */
async function findNameHijacks(client: Client): Promise<readonly string[]> {
  await createShadowFunctions(client);
  const { rows: views } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, viewname) as name from pg_views
      where schemaname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync') order by 1`,
  );
  const statements = [
    ...(await calledFunctions(client))
      .filter(({ kind }) => kind === 'f')
      .flatMap((callable) => callsOf(callable).slice(0, 4)),
    ...views.map(({ name }) => `select * from ${name}`),
  ];
  const hijacks: string[] = [];
  for (const statement of statements) {
    const outcome = await run(
      client,
      `set local search_path = code_of_a_reader, pg_temp, explore, typed, pqs, ledger, pg_catalog`,
      `set local statement_timeout = '200ms'`,
      statement,
    );
    if (outcome !== undefined) hijacks.push(`${statement} runs it as ${outcome}`);
  }
  await client.query('drop schema code_of_a_reader cascade');
  return hijacks;
}

/** Functions and operators with the names of those that the project uses, and tables with the names of its tables. */
async function createShadowFunctions(client: Client): Promise<void> {
  await client.query('create schema code_of_a_reader');
  const shadowFunctions = [
    'has_table_privilege(a name, b text, c text) returns boolean',
    'current_schema() returns name',
    'format(a text, b name) returns text',
    'array_to_string(a text[], b text) returns text',
    'lower(a text) returns text',
    'length(a text) returns integer',
    'now() returns timestamptz',
    'same(a bigint, b bigint) returns boolean',
    'same(a text, b text) returns boolean',
    'same(a jsonb, b text) returns jsonb',
  ];
  for (const namesake of shadowFunctions) {
    await client.query(`create function code_of_a_reader.${namesake} language plpgsql as $$ ${alarm} $$`);
  }
  for (const [operator, type, rightType] of [
    ['=', 'bigint', 'bigint'],
    ['<=', 'bigint', 'bigint'],
    ['=', 'text', 'text'],
    ['->>', 'jsonb', 'text'],
  ]) {
    await client.query(
      `create operator code_of_a_reader.${operator ?? ''}
         (function = code_of_a_reader.same, leftarg = ${type ?? ''}, rightarg = ${rightType ?? ''})`,
    );
  }
  for (const table of ['stream', 'contracts', 'live', 'ended', 'updates', 'templates', 'packages']) {
    await client
      .query(`create temporary table ${table} as select * from ledger.${table} where false`)
      .catch(() => undefined);
  }
}

async function calledFunctions(client: Client): Promise<readonly (Callable & { readonly kind: string })[]> {
  const { rows } = await client.query<Callable & { kind: string }>(
    `select p.oid::regproc::text as name, p.prokind::text as kind,
            array(select format_type(t, null) from unnest(p.proargtypes::oid[]) with ordinality u (t, n) order by n) as types
       from pg_proc p where ${ownFunctions} and p.prokind in ('f', 'p') and p.prorettype <> 'trigger'::regtype order by 1`,
  );
  return rows;
}

/** Runs the statements and rolls them back. Returns the other role that ran the code, if any. */
async function run(client: Client, ...statements: readonly string[]): Promise<string | undefined> {
  await client.query('begin');
  try {
    for (const statement of statements) await client.query(statement);
    return undefined;
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return code === breachState ? message : undefined;
  } finally {
    // The statement timeout also applies to the rollback. A timeout restores the setting, so a second rollback
    // succeeds.
    await client.query('rollback').catch(() => client.query('rollback'));
  }
}
