/** The relations, rows and settings that readers get through their own logins, and the response to a token. */
import { loginPasswordOf } from '../../src/reader-token.ts';
import { query } from '../support/database.ts';
import type { PackagedServer } from '../support/packaged/server.ts';
import { rolePassword as password } from './page.ts';
import { database, type BackupWorld } from './world.ts';

/** Roles that read with a login. */
const logins = ['ledger_reader', 'analyst', 'wallet'];

const settingNames = `'search_path', 'statement_timeout', 'default_transaction_read_only', 'temp_file_limit'`;

/** Attributes and settings of the session's role, and the functions for locks and large objects that it may call. */
const session = `
select jsonb_build_object(
  'settings', (select jsonb_object_agg(name, setting) from pg_settings where name in (${settingNames})),
  'role', (select to_jsonb(r) - 'oid' from pg_roles r where r.rolname = current_user),
  'member of', (select jsonb_agg(m.roleid::regrole order by m.roleid::regrole::text) from pg_auth_members m
                 where m.member = (select oid from pg_roles where rolname = current_user)),
  'may call', (select jsonb_agg(p.oid::regprocedure order by p.oid::regprocedure::text) from pg_proc p
                where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^(pg_(try_)?advisory|lo_|pg_logical_emit)'
                  and has_function_privilege(p.oid, 'execute')),
  'may create', has_database_privilege(current_database(), 'temporary'))::text as line`;

/** Columns that describe the indexer that stored a row, and the time of the query. */
const volatileColumns = ['epoch', 'indexed_at', 'updated_at', 'indexing_latency', 'instance_id', 'at'];

/** Relations that the role may read. The rows of views are compared. */
const relations = `
select format('%I.%I', n.nspname, c.relname) as name, c.relkind = 'v' as compared
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync', 'derived') and c.relkind in ('r', 'v')
   and has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select')
 order by 1`;

/** Lines by relation, for each login. */
export type Seen = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** Reads everything that the readers of the server may read. */
export async function seenBy(server: PackagedServer, token: string): Promise<Seen> {
  const [row] = await query(server.url(database), 'select login_name as login from ledger.reader_tokens');
  const urls = logins.map((login) => [login, server.url(database, login, password)] as const);
  const ofToken = ['a token', server.url(database, String(row?.['login']), loginPasswordOf(token))] as const;
  const seen: Record<string, Record<string, readonly string[]>> = {};
  for (const [login, url] of [...urls, ofToken]) seen[login] = await seenAs(url);
  return seen;
}

async function seenAs(url: string): Promise<Record<string, readonly string[]>> {
  const lines = async (text: string): Promise<readonly string[]> =>
    (await query(url, text)).map(({ line }) => String(line));
  const seen: Record<string, readonly string[]> = { session: await lines(session) };
  for (const { name, compared } of await query(url, relations)) {
    const relation = String(name);
    seen[relation] = compared === true ? await lines(rowsOf(relation)) : [];
  }
  return seen;
}

function rowsOf(relation: string): string {
  return `select (to_jsonb(t) - '{${volatileColumns.join(', ')}}'::text[])::text as line from ${relation} t order by 1`;
}

/** Differences between what readers saw and see, one line for each relation of a login. */
export function differences(expected: Seen, found: Seen): readonly string[] {
  return Object.keys({ ...expected, ...found }).flatMap((login) => {
    const [before, after] = [expected[login] ?? {}, found[login] ?? {}];
    return Object.keys({ ...before, ...after }).flatMap((relation) => {
      const [lines, now] = [before[relation], after[relation]];
      const index = (lines ?? []).findIndex((line, place) => line !== now?.[place]);
      if (index === -1 && lines?.length === now?.length) return [];
      return [`${login}, ${relation}: ${lines?.[index] ?? 'nothing'}, now ${now?.[index] ?? 'nothing'}`.slice(0, 600)];
    });
  });
}

/** Rows that an HTTP client receives with the token, from another machine. */
export async function answerWith(httpUrl: string, world: BackupWorld, statement: string): Promise<unknown> {
  const response = await fetch(`${httpUrl}/query`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.token}`,
      'x-forwarded-for': '10.0.0.1',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ statement }),
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`${String(response.status)}: ${body}`);
  return JSON.parse(body);
}
