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

/** A call of each function that every reader may call, with parameter values from the history. */
export async function functionCalls(
  client: Client,
): Promise<readonly { readonly name: string; readonly call: string }[]> {
  const { rows: knownValues } = await client.query<Record<string, string>>(`
    select c.template_fqn, c.contract_id, u.update_id, u."offset"::text, u.command_id, c.signatories[1] as party,
           (select t from explore.token_holdings h, unnest(array[h.owner]) t limit 1) as owner
      from explore.active_contracts c, explore.updates u where u.command_id is not null
     order by c.created_at_offset, u."offset" desc limit 1`);
  const { rows: functions } = await client.query<{ name: string; names: string[] | null; types: string[] }>(`
    select format('%I.%I', n.nspname, p.proname) as name, p.proargnames as names, p.proargtypes::regtype[]::text[] as types
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('explore', 'pqs') and p.prokind = 'f' and has_function_privilege('pg_monitor', p.oid, 'execute')
     order by 1, p.oid`);
  const value = valueFrom(knownValues[0] ?? {});
  return functions.map(({ name, names, types }) => {
    const rowsOf = types.find((type) => type.startsWith('pqs.'));
    if (rowsOf !== undefined)
      return {
        name,
        call: `select ${name}(r) from ${rowsOf === 'pqs.contract' ? 'pqs.active()' : 'pqs.exercises()'} r`,
      };
    return {
      name,
      call: `select * from ${name}(${types.map((type, index) => value(names?.[index] ?? '', type)).join(', ')})`,
    };
  });
}

function valueFrom(knownValues: Readonly<Record<string, string>>): (parameter: string, type: string) => string {
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
    if (parameter.startsWith('from')) return type === 'bigint' ? '0' : `'-infinity'`;
    if (type === 'text') return `'${texts[parameter] ?? 'x'}'`;
    return `${otherValues[type] ?? 'null'}::${type}`;
  };
}
