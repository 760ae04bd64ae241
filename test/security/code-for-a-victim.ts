/**
 * Objects with the names of built-in objects: functions, aggregates, operators and types. One role places them in
 * schema `public`, for sessions with that schema on their path. With equal parameters, they are preferred if `public`
 * comes first. With an exact type match, they are preferred on any path to built-in objects that are variadic or need a
 * conversion.
 */
import type { ClientBase } from 'pg';
import { callsOf, type Callable } from '../read/reader-attempts.ts';

/** SQLSTATE that the planted code raises. */
const plantedState = 'XX043';
const types = ['jsonb', 'text', 'integer', 'bigint', 'boolean', 'text[]', 'interval', 'timestamp with time zone'];
const names = types.map((type) => `'${type}'::regtype`).join(', ');
const body = `language plpgsql immutable as $$ begin raise exception '%', tg using errcode = '${plantedState}'; end $$`;
const alarm = (alarmText: string): string => body.replace('tg', `'${alarmText.replaceAll("'", "''")}'`);

/**
 * A built-in object that the functions of the project use and that is not resolved at creation: a function, an
 * aggregate or an operator.
 */
interface OriginalObject {
  readonly kind: 'f' | 'a' | 'o';
  readonly name: string;
  readonly parameters: readonly string[];
  readonly returns: string;
}

const originalObjectsSql = `
with bodies as (
  select string_agg(p.prosrc, ' ') as text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
   where n.nspname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync') and p.prosqlbody is null)
select p.prokind::text as kind, p.proname::text as name, p.prorettype::regtype::text as returns,
       array(select t::regtype::text from unnest(p.proargtypes::oid[]) with ordinality u (t, n) order by n) as parameters
  from pg_proc p, bodies b
 where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind in ('f', 'a') and not p.proretset and p.pronargs > 0
   and b.text ~ ('\\m' || p.proname || '\\(')
   and not exists (select from unnest(p.proargtypes::oid[]) t join pg_type y on y.oid = t where y.typtype = 'p')
union all
select 'o', o.oprname, o.oprresult::regtype::text, array[o.oprleft::regtype::text, o.oprright::regtype::text]
  from pg_operator o
 where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprleft in (${names}) and o.oprright in (${names})`;

/**
 * Variants of variadic and polymorphic functions with more exact types. Operators on two `jsonb` are omitted. They
 * would match a literal better, but `'field'` is not valid JSON, so the statement fails before any code runs.
 */
const attackableObjects: readonly OriginalObject[] = [
  ...['jsonb_build_object', 'jsonb_build_array', 'jsonb_object_agg', 'format', 'concat', 'concat_ws'].flatMap((name) =>
    ['text,text', 'text,jsonb', 'jsonb,jsonb', 'text,text,text'].map((list) => ({
      kind: name.endsWith('_agg') ? ('a' as const) : ('f' as const),
      name,
      parameters: list.split(','),
      returns: name.startsWith('jsonb') ? 'jsonb' : 'text',
    })),
  ),
  { kind: 'a', name: 'jsonb_agg', parameters: ['jsonb'], returns: 'jsonb' },
  { kind: 'a', name: 'array_agg', parameters: ['integer'], returns: 'integer[]' },
];

/** Places the objects as `role`, which may create objects in schema public. */
export async function createHijacks(client: ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<OriginalObject>(originalObjectsSql);
  await client.query(`set role ${role}`);
  for (const [index, object] of [...attackableObjects, ...rows].entries()) {
    await client.query(plantOf(object, index));
  }
  await client.query(`create function public.refuse_value() returns boolean ${alarm('a type')}`);
  for (const type of ['text', 'jsonb']) {
    await client.query(`create domain public.${type} as pg_catalog.${type} check (public.refuse_value())`);
  }
  await client.query('reset role');
}

function plantOf({ kind, name, parameters, returns }: OriginalObject, index: number): string {
  const list = parameters.join(', ');
  if (kind === 'f') return `create function public.${name}(${list}) returns ${returns} ${alarm(name)}`;
  const objectName = `planted_${String(index)}`;
  if (kind === 'o') {
    return `create function public.${objectName}(${list}) returns ${returns} ${alarm(name)};
      create operator public.${name} (function = public.${objectName}, leftarg = ${parameters[0] ?? ''}, rightarg = ${parameters[1] ?? ''})`;
  }
  return `create function public.${objectName}(${returns}, ${list}) returns ${returns} ${alarm(name)};
    create aggregate public.${name}(${list}) (sfunc = public.${objectName}, stype = ${returns})`;
}

/** For each function that completes a value: an argument, and the fields that the argument omits. */
const omissions: readonly (readonly [string, string])[] = [
  ['{"a":{"b":1}}', '{"nulls":{"a":null,"z":null},"fields":{"a":{"nulls":{"c":null},"fields":{}}}}'],
  ['[{"b":1}]', '{"items":{"nulls":{"c":null},"fields":{}}}'],
  ['[["k",{"b":1}]]', '{"entries":[{},{"nulls":{"c":null},"fields":{}}]}'],
  ['{"k":{"b":1}}', '{"values":{"nulls":{"c":null},"fields":{}}}'],
  ['{"tag":"K","value":{"b":1}}', '{"cases":{"K":{"nulls":{"c":null},"fields":{}}}}'],
];

/**
 * Calls every function and procedure of the project and reads every view, as the client. Returns one line for each
 * statement that ran the planted code.
 */
export async function findHijacks(client: ClientBase, path: string): Promise<readonly string[]> {
  const ownSchemas = `n.nspname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync')`;
  const { rows: functions } = await client.query<Callable>(
    `select p.oid::regproc::text as name,
            array(select format_type(t, null) from unnest(p.proargtypes::oid[]) with ordinality u (t, n) order by n) as types
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${ownSchemas} and p.prokind = 'f' order by 1`,
  );
  const { rows: views } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where ${ownSchemas} and c.relkind = 'v' order by 1`,
  );
  const statements = [
    ...functions.flatMap((callable) => callsOf(callable).slice(0, 6)),
    ...omissions.map(([value, omittedJson]) => `select pqs.with_nulls('${value}'::jsonb, '${omittedJson}'::jsonb)`),
    `select pqs.payload_with_nulls(a) from pqs.active() a`,
    `select pqs.stakeholders(a) from pqs.active() a`,
    `call pqs.create_index_for_contract('bait', 'Iou', $$(payload -> 'secret')$$, 'btree')`,
    ...views.map(({ name }) => `select * from ${name}`),
  ];
  const hijacks: string[] = [];
  for (const statement of statements) {
    // Casts in the statement of a client are not tested.
    const qualifiedStatement = statement.replaceAll(/::(?=text|jsonb)/g, '::pg_catalog.');
    const outcome = await attempt(client, path, qualifiedStatement);
    if (outcome !== undefined) hijacks.push(`${qualifiedStatement} runs ${outcome}`);
  }
  return hijacks;
}

/** Runs the statement and rolls it back. Returns the message of the planted code if it ran. */
async function attempt(client: ClientBase, path: string, statement: string): Promise<string | undefined> {
  await client.query(`begin; set local search_path = ${path}; set local statement_timeout = '200ms'`);
  try {
    await client.query(statement);
    return undefined;
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return code === plantedState ? message : undefined;
  } finally {
    // The statement timeout also applies to the rollback. A timeout restores the setting, so a second rollback
    // succeeds.
    await client.query('rollback').catch(() => client.query('rollback'));
  }
}
