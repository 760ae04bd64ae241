/**
 * Views with their columns, and functions with their arguments and results, in the schemas for readers. Functions of
 * `explore` that its reference page does not list are helpers of views, and not covered.
 */
import { readFileSync } from 'node:fs';
import { query } from '../../support/database.ts';
import { surfaceOf, type Surface } from './surface.ts';

/** Names that begin with two underscores are internal. */
const columnsStatement = `
  select format('%I.%I', n.nspname, c.relname) as owner, a.attname as name, format_type(a.atttypid, a.atttypmod) as type
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
   where c.relkind = 'v' and a.attnum > 0 and not a.attisdropped and n.nspname = any (:schemas) and c.relname !~ '^__'`;

const functionsStatement = `
  select format('%I.%I', n.nspname, p.proname) as name, p.pronargs as count, p.pronargdefaults as defaults,
         p.proargnames as names, p.proargmodes::text[] as modes, p.provariadic <> 0 as variadic,
         (select array_agg(format_type(t.type, null) order by t.ordinality)
            from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as t (type, ordinality)) as types,
         p.proretset as is_set, format_type(p.prorettype, null) as result
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
   where p.prokind = 'f' and n.nspname = any (:schemas) and p.proname !~ '^__|[$]'`;

const explorePage = readFileSync(new URL('../../../docs/reference/sql-schemas.md', import.meta.url), 'utf8');

function isListed({ name }: SqlFunction): boolean {
  const [schema, base = ''] = name.split('.');
  return schema !== 'explore' || explorePage.includes(`\`${base}(`);
}

interface SqlColumn {
  readonly owner: string;
  readonly name: string;
  readonly type: string;
}

interface SqlFunction {
  readonly name: string;
  readonly count: number;
  readonly defaults: number;
  readonly names: readonly string[] | null;
  readonly modes: readonly string[] | null;
  readonly variadic: boolean;
  readonly types: readonly string[] | null;
  readonly is_set: boolean;
  readonly result: string;
}

export async function sqlSurface(url: string, schemas: readonly string[]): Promise<Surface> {
  const list = `array[${schemas.map((schema) => `'${schema}'`).join(', ')}]`;
  const read = async <Row>(statement: string): Promise<readonly Row[]> =>
    (await query(url, statement.replace(':schemas', list))) as unknown as readonly Row[];
  const columns = await read<SqlColumn>(columnsStatement);
  const functions = await read<SqlFunction>(functionsStatement);
  return surfaceOf([
    ...columns.map(({ owner }) => [owner, 'view'] as const),
    ...columns.map(({ owner, name, type }) => [`${owner}.${name}`, type] as const),
    ...functions.filter(isListed).flatMap(functionPairs),
  ]);
}

/** Each form of a call, without and with its optional arguments, so that a further optional argument is an addition. */
function functionPairs(called: SqlFunction): readonly (readonly [string, string])[] {
  const types = called.types ?? [];
  const isInput = (index: number): boolean => called.modes === null || 'ibv'.includes(called.modes[index] ?? 'i');
  const all = types.map((type, index) => ({ type, name: called.names?.[index] ?? '', isInput: isInput(index) }));
  const inputs = all.filter((argument) => argument.isInput);
  const results = all.filter((argument) => !argument.isInput);
  const result = results.length > 0 ? 'rows' : `${called.is_set ? 'rows of ' : ''}${called.result}`;
  const shortest = inputs.slice(0, called.count - called.defaults);
  const call = `${called.name}(${shortest.map(({ type }) => type).join(', ')}${called.variadic ? ' …' : ''})`;
  const optional = inputs.slice(shortest.length).map(({ name, type }) => [`${call} with ${name}`, type] as const);
  return [
    [call, result],
    ...shortest.filter(({ name }) => name !== '').map(({ name, type }) => [`${call} argument ${name}`, type] as const),
    ...optional,
    ...results.map(({ name, type }) => [`${call} returns ${name}`, type] as const),
  ];
}
