/**
 * Statements that readers can run on the ledger of the demo: every documented statement, a query of every view, and a
 * call of every function.
 */
import type { Client } from 'pg';
import { documentedQueries } from '../../docs/documented.ts';

/** Every documented statement. */
export const documentedSql: readonly string[] = documentedQueries.map(({ sql }) => sql);

/** Quoted names of all views in the schemas explore, pqs and typed. */
export async function viewNames(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, viewname) as name from pg_views where schemaname in ('explore', 'pqs', 'typed') order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** Arguments of calls that select a part of the history. */
export interface CallRange {
  /** Lower bound of functions that have one. */
  readonly from: { readonly offset: string; readonly time: string };
  /** For functions of one moment; default: the newest offset, and a moment less than an hour ago. */
  readonly at?: { readonly offset: string; readonly time: string; readonly ago: string };
}

export interface FunctionCall {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly call: string;
  /** The call without optional arguments, if the function has some. */
  readonly short?: FunctionCall;
}

const allHistory: CallRange = { from: { offset: '0', time: '-infinity' } };

/** A call of each function that every reader may call, with parameter values from the history. */
export async function functionCalls(client: Client, range: CallRange = allHistory): Promise<readonly FunctionCall[]> {
  const { rows: knownValues } = await client.query<Record<string, string>>(`
    select c.template_fqn, c.contract_id, u.update_id, u."offset"::text, u.command_id, c.signatories[1] as party,
           h.owner, split_part(h.owner, '::', 1) as hint, h.instrument_admin as dso
      from (select * from explore.active_contracts order by created_at_offset limit 1) c,
           (select * from explore.updates where command_id is not null order by "offset" desc limit 1) u
      left join (select owner, instrument_admin from explore.token_holdings where instrument_id = 'Amulet' limit 1) h on true`);
  const { rows: functions } = await client.query<{
    name: string;
    names: string[] | null;
    types: string[];
    defaults: number;
  }>(`
    select format('%I.%I', n.nspname, p.proname) as name, p.proargnames as names, p.proargtypes::regtype[]::text[] as types,
           p.pronargdefaults as defaults
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('explore', 'pqs') and p.prokind = 'f' and has_function_privilege('pg_monitor', p.oid, 'execute')
     order by 1, p.oid`);
  const value = valueFrom(knownValues[0] ?? {}, range);
  return functions.map(({ name, names, types, defaults }) => {
    const parameters = types.map((_, at) => names?.[at] ?? '');
    const rowsOf = types.find((type) => type.startsWith('pqs.'));
    if (rowsOf !== undefined)
      return {
        name,
        parameters,
        call: `select ${name}(r) from ${rowsOf === 'pqs.contract' ? 'pqs.active()' : 'pqs.exercises()'} r`,
      };
    const values = types.map((type, at) => value(parameters[at] ?? '', type));
    const callOf = (count: number): FunctionCall => ({
      name,
      parameters: parameters.slice(0, count),
      call: `select * from ${name}(${values.slice(0, count).join(', ')})`,
    });
    return { ...callOf(types.length), ...(defaults > 0 && { short: callOf(types.length - defaults) }) };
  });
}

type ValueOf = (parameter: string, type: string) => string;

function valueFrom(knownValues: Readonly<Record<string, string>>, { from, at }: CallRange): ValueOf {
  const texts: Readonly<Record<string, string | undefined>> = {
    template: knownValues['template_fqn'],
    qname: knownValues['template_fqn'],
    contract_id: knownValues['contract_id'],
    update_id: knownValues['update_id'],
    command_id: knownValues['command_id'],
    party: knownValues['owner'],
    module: 'Splice.Amulet',
    entity: 'Amulet',
    index_type: 'btree',
    projection: 'token_changes',
    dimension: 'choice',
    name: knownValues['hint'],
    for_dso: knownValues['dso'],
    at_dso: knownValues['dso'],
    from_position: from.offset,
    to_position: knownValues['offset'],
    position: at?.offset ?? knownValues['offset'],
  };
  const otherValues: Readonly<Record<string, string>> = {
    jsonb: `'{"amount": "1.5", "owner": "a"}'`,
    'text[]': `'{Transfer,Archive}'`,
    integer: '0',
    bigint: knownValues['offset'] ?? '',
    numeric: '1.5',
    boolean: 'false',
    interval: `'40 minutes'`,
    'timestamp with time zone': `'${new Date(Date.now() - 2_700_000).toISOString()}'`,
  };
  return (parameter, type) => {
    if (parameter.startsWith('from') && type !== 'text') return type === 'bigint' ? from.offset : `'${from.time}'`;
    if (at !== undefined && parameter === 'at_offset') return `${at.offset}::bigint`;
    if (at !== undefined && parameter === 'time') return `'${at.time}'::timestamp with time zone`;
    if (at !== undefined && parameter === 'ago') return `'${at.ago}'::interval`;
    if (parameter === 'max_exercises') return '1000::bigint';
    if (type === 'text') return `'${texts[parameter] ?? 'x'}'`;
    if (type === 'anyelement') return 'null::ledger.projected_token_changes';
    return `${otherValues[type] ?? 'null'}::${type}`;
  };
}
