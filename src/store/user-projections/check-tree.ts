/**
 * Checks the parsed query of a user's SELECT, and of every view and SQL function that it uses: whether it only reads, and
 * whether the same history always gives the same rows. The parsed query is read from the catalog, so comments, quoting and
 * search paths cannot hide anything. The names of its fields are those of Postgres (src/include/nodes).
 */
import type { ClientBase } from 'pg';
import { readSchemas } from '../connection/read-schemas.ts';

/** A function or a view, and through which others the SELECT reaches it. */
interface Visited {
  readonly kind: 'function' | 'view';
  readonly oid: string;
  readonly path: readonly string[];
}

/** The findings about a SELECT. */
export interface TreeCheck {
  /** Why the SELECT is refused; empty if it is not. */
  readonly problems: readonly string[];
  /** Names of the views of schema `explore` that it reads, directly or through others. */
  readonly views: readonly string[];
}

const selectCommand = '1';
/** Objects with a lower oid belong to Postgres itself. */
const firstOwnOid = 16_384;

/** Nodes that a SELECT may not have. */
const refusedNodes: readonly (readonly [node: string, reason: string])[] = [
  ['SQLVALUEFUNCTION', 'reads the time, the user or the schema of the session'],
  ['NEXTVALUEEXPR', 'advances a sequence'],
  ['TABLESAMPLECLAUSE', 'reads a random sample'],
  ['ROWMARKCLAUSE', 'locks rows'],
  ['CURRENTOFEXPR', 'uses a cursor'],
  ['COERCETODOMAIN', 'converts to a domain, whose conditions cannot be checked'],
];

/**
 * Functions of Postgres that are marked as stable only because their results depend on formats, on the time zone or on
 * conversions of types, which are fixed here.
 */
const fixedFunctions: ReadonlySet<string> = new Set(
  (
    'convert_from convert_to to_char to_date to_timestamp to_number date_trunc date_part extract timezone make_timestamptz ' +
    'generate_series date_add date_subtract array_to_string concat concat_ws format quote_literal quote_nullable ' +
    'to_json to_jsonb row_to_json array_to_json json_build_array json_build_object jsonb_build_array ' +
    'jsonb_build_object json_object jsonb_object json_agg jsonb_agg json_agg_strict jsonb_agg_strict ' +
    'json_object_agg jsonb_object_agg json_object_agg_strict jsonb_object_agg_strict json_object_agg_unique ' +
    'jsonb_object_agg_unique json_object_agg_unique_strict jsonb_object_agg_unique_strict jsonb_populate_record ' +
    'jsonb_to_record jsonb_populate_recordset jsonb_to_recordset json_to_record json_to_recordset'
  ).split(' '),
);

/** Functions of the stream that return its current state, which is not history, and internal ones. */
const currentState =
  /^(?:__|latest|oldest|nearest|active|set_|projected|projection|known_(?:offset|ranges)|sees_|wait)/;
/** Words for the current time and for chance in the text of a function that has no parsed query. */
const varyingWords =
  /\b(?:now|current_timestamp|current_date|localtimestamp|clock_timestamp|random|gen_random_uuid)\b/i;

/** @param oid the function with the SELECT */
export async function checkTree(client: ClientBase, storage: string, oid: string): Promise<TreeCheck> {
  const problems = new Set<string>();
  const views = new Set<string>();
  const queue: Visited[] = [{ kind: 'function', oid, path: [] }];
  const seen = new Set<string>();
  for (let visited = queue.shift(); visited !== undefined; visited = queue.shift()) {
    const tree = await treeOf(client, visited);
    const report = (problem: string): void => void problems.add([...(visited?.path ?? []), problem].join(', which '));
    for (const problem of [...nodeProblems(tree), ...(await typeProblems(client, storage, tree))]) report(problem);
    for (const used of await usedFunctions(client, storage, tree)) {
      const problem = functionProblem(used, visited.path.length === 0);
      if (problem !== undefined) report(`calls ${used.name}, ${problem}`);
      else if (used.hasTree)
        enqueue(queue, seen, { kind: 'function', oid: used.oid, path: [...visited.path, `calls ${used.name}`] });
    }
    for (const read of await readRelations(client, storage, tree)) {
      if (visited.path.length === 0 && read.problem !== null) report(`reads ${read.name}, ${read.problem}`);
      if (read.explored !== null) views.add(read.explored);
      if (read.isView)
        enqueue(queue, seen, { kind: 'view', oid: read.oid, path: [...visited.path, `reads ${read.name}`] });
    }
  }
  for (const problem of await finalityProblems(client, oid)) problems.add(problem);
  return { problems: [...problems], views: [...views] };
}

/**
 * Columns of contracts that change when a contract ends. A SELECT that also reads the offset of the end has its rows at
 * that offset, where they are final.
 */
async function finalityProblems(client: ClientBase, oid: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `with used as (
       select c.relname, a.attname
         from pg_depend d
         join pg_class c on c.oid = d.refobjid and c.relkind = 'v'
         join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
        where d.classid = 'pg_proc'::regclass and d.objid = $1 and d.refclassid = 'pg_class'::regclass)
     select distinct u.relname || '.' || u.attname as name from used u
      where (u.relname = 'active_contracts' or u.attname in ('is_active', 'archived_at', 'unhosted_since')
             or u.relname = 'contracts' and u.attname = 'status')
        and not exists (select from used e where e.relname = u.relname and e.attname = 'archived_at_offset')
      order by 1 limit 1`,
    [oid],
  );
  return rows.map(
    ({ name }) => `reads ${name}, which changes when a contract ends: return a row at archived_at_offset instead`,
  );
}

function enqueue(queue: Visited[], seen: Set<string>, visited: Visited): void {
  const key = `${visited.kind} ${visited.oid}`;
  if (seen.has(key)) return;
  seen.add(key);
  queue.push(visited);
}

async function treeOf(client: ClientBase, { kind, oid }: Visited): Promise<string> {
  const { rows } = await client.query<{ tree: string | null }>(
    kind === 'function'
      ? 'select prosqlbody::text as tree from pg_proc where oid = $1'
      : `select ev_action::text as tree from pg_rewrite where ev_class = $1 and rulename = '_RETURN'`,
    [oid],
  );
  return rows[0]?.tree ?? '';
}

function nodeProblems(tree: string): readonly string[] {
  const commands = [...tree.matchAll(/:commandType (\d+)/g)].map(([, command]) => command);
  return [
    ...(commands.some((command) => command !== selectCommand) ? ['changes something'] : []),
    ...refusedNodes.filter(([node]) => tree.includes(`{${node} `)).map(([, reason]) => reason),
  ];
}

/** Types of others may be or contain domains, whose conditions call functions. */
async function typeProblems(client: ClientBase, storage: string, tree: string): Promise<readonly string[]> {
  const lists = [...tree.matchAll(/:\w*types \(o ([\d ]+)\)/g)].flatMap(([, list = '']) => list.trim().split(' '));
  const { rows } = await client.query<{ name: string }>(
    `select t.oid::regtype::text as name from pg_type t join pg_namespace n on n.oid = t.typnamespace
      where t.oid = any ($1::oid[]) and t.oid >= ${String(firstOwnOid)} and n.nspname <> all ($2)`,
    [[...oidsOf(tree, /:\w*type(?:id)? (\d+)/g), ...lists], Object.values(readSchemas(storage))],
  );
  return rows.map(({ name }) => `uses type ${name}, whose conditions cannot be checked`);
}

interface UsedFunction {
  readonly oid: string;
  readonly name: string;
  readonly plainName: string;
  /** `i`, `s` or `v`. */
  readonly volatility: string;
  readonly isDefiner: boolean;
  readonly isBuiltIn: boolean;
  /** Whether Postgres uses it as an operator or a cast. */
  readonly isOperation: boolean;
  /** Whether it is part of this program. */
  readonly isOwn: boolean;
  /** Whether only the owner of the stream, or a superuser, can replace it. */
  readonly isTrusted: boolean;
  readonly hasTree: boolean;
  readonly source: string;
}

/** All functions and operators in the tree. */
async function usedFunctions(client: ClientBase, storage: string, tree: string): Promise<readonly UsedFunction[]> {
  const functions = oidsOf(tree, /:(?:funcid|opfuncid|aggfnoid|winfnoid|tsmhandler) (\d+)/g);
  const operators = [
    ...oidsOf(tree, /:(?:opno|eqop|sortop) (\d+)/g),
    ...[...tree.matchAll(/:opnos \(o ([\d ]+)\)/g)].flatMap(([, list = '']) => list.trim().split(' ')),
  ];
  const { rows } = await client.query<UsedFunction>(
    `select p.oid::text, p.oid::regprocedure::text as name, p.proname::text as "plainName", p.provolatile::text as volatility,
            p.prosecdef as "isDefiner", p.oid < ${String(firstOwnOid)} as "isBuiltIn",
            exists (select from pg_operator o where o.oprcode = p.oid)
              or exists (select from pg_cast c where c.castfunc = p.oid) as "isOperation",
            n.nspname = any ($3) and p.proowner = (select relowner from pg_class where oid = 'contracts'::regclass)
              and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
              as "isOwn",
            p.proowner = (select relowner from pg_class where oid = 'contracts'::regclass)
              or exists (select from pg_roles o where o.oid = p.proowner and o.rolsuper) as "isTrusted",
            p.prosqlbody is not null as "hasTree", p.prosrc as source
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where p.oid = any ($1::oid[]) or p.oid in (select o.oprcode from pg_operator o where o.oid = any ($2::oid[]))`,
    [functions, operators, Object.values(readSchemas(storage))],
  );
  return rows;
}

function oidsOf(tree: string, pattern: RegExp): readonly string[] {
  return [...new Set([...tree.matchAll(pattern)].map(([, oid = '0']) => oid))].filter((oid) => oid !== '0');
}

/** @param isDirect whether the SELECT itself calls the function, not a view or function that it uses */
function functionProblem(used: UsedFunction, isDirect: boolean): string | undefined {
  const { volatility, isDefiner, isBuiltIn, isOperation, isOwn, isTrusted, hasTree, plainName, source } = used;
  if (volatility === 'v') return 'which is volatile';
  if (isDefiner) return 'which runs with the rights of its owner';
  if (isBuiltIn) {
    const isFixed = volatility === 'i' || isOperation || fixedFunctions.has(plainName);
    return isFixed ? undefined : 'whose result depends on the session or on the time';
  }
  if (isOwn) {
    if (isDirect && currentState.test(plainName)) return 'which returns the current state or is internal';
    return !hasTree && varyingWords.test(source) ? 'whose result depends on the time' : undefined;
  }
  if (!isTrusted) return 'which its owner could replace later: let the owner of the stream own it';
  return hasTree ? undefined : 'whose body cannot be checked: write it in SQL with begin atomic';
}

interface ReadRelation {
  readonly oid: string;
  readonly name: string;
  readonly isView: boolean;
  /** Its name if it is a view of schema `explore`. */
  readonly explored: string | null;
  /** Why a SELECT may not name it; null if it may. */
  readonly problem: string | null;
}

async function readRelations(client: ClientBase, storage: string, tree: string): Promise<readonly ReadRelation[]> {
  const { explore, typed, pqs, multisync } = readSchemas(storage);
  const { rows } = await client.query<ReadRelation>(
    `select c.oid::text, c.oid::regclass::text as name, c.relkind = 'v' as "isView",
            case when n.nspname = $2 and c.relkind = 'v' then c.relname::text end as explored,
            case when not (n.nspname = any ($3) and c.relkind = 'v')
                 then 'which is not a view of ' || array_to_string($3::text[], ', ') end as problem
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.oid = any ($1::oid[])`,
    [oidsOf(tree, /:relid (\d+)/g), explore, [explore, typed, pqs, multisync]],
  );
  return rows;
}
