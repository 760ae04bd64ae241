/** Tool `schema`: views and functions that the caller may use, with their comments, and the columns of one of them. */
import type { InputSchema } from '../indexer/api-description.ts';
import { fitRows, runStatement } from './query-tool.ts';
import { argumentError, refuseUnknownArguments, textArgument, type Tool } from './tool.ts';

const namePattern = /^[A-Za-z0-9_]{1,63}(?:\.[A-Za-z0-9_]{1,63})?$/;
/** Without quotes and backslashes, so that the text can be in a statement. */
const containsPattern = /^[A-Za-z0-9_.: -]{1,60}$/;

const inputSchema: InputSchema = {
  type: 'object',
  properties: {
    name: {
      type: 'string',
      pattern: namePattern.source,
      description: 'A view, table or function whose columns to list, such as token_balances or typed.amulet.',
    },
    contains: {
      type: 'string',
      pattern: containsPattern.source,
      description: 'Lists only views and functions with this text in their name or comment.',
    },
  },
  required: [],
  additionalProperties: false,
};

const text = {
  title: 'Views and columns',
  description:
    'Lists the views and functions of schema explore, each with the first sentence of its comment; with contains, also the views of single templates, choices and interfaces in schema typed. With name: the complete comment of one view, table or function, and its columns with types and comments.',
  inputSchema,
};

export const schemaTool: Tool = {
  name: 'schema',
  text: () => Promise.resolve(text),
  call: async (args, { client, maxAnswerBytes }, signal) => {
    refuseUnknownArguments(args, inputSchema);
    const name = textArgument(args, 'name', namePattern, 'a name such as token_balances or explore.token_balances');
    const contains = textArgument(
      args,
      'contains',
      containsPattern,
      'up to 60 letters, digits, blanks, or the characters _ . : -',
    );
    if (name !== undefined && contains !== undefined) throw argumentError('name and contains cannot be combined');
    const statement = name === undefined ? listStatement(contains) : columnsStatement(name);
    const answer = await runStatement(client, statement, signal);
    if (name !== undefined && answer.rows.length === 0) {
      throw argumentError(`there is no view or function ${name}, or the caller may not use it`, remedyFor(name));
    }
    return fitRows(answer, answer.rows.length, maxAnswerBytes);
  },
};

function remedyFor(name: string): string {
  const [word = name] = name
    .replace(/^.*\./, '')
    .split('_')
    .toSorted((a, b) => b.length - a.length);
  return `call schema with contains set to ${word}, or without arguments`;
}

/** Views that the caller may read and functions that it may call, in the schemas of its search path. */
const objects = `
  select case c.relkind when 'f' then 'table' when 'r' then 'table' when 'p' then 'table' else 'view' end as kind,
         n.nspname as schema, c.relname as name, obj_description(c.oid, 'pg_class') as comment, c.oid as relation,
         null::oid as function
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where c.relkind in ('v', 'm', 'r', 'p', 'f') and has_any_column_privilege(c.oid, 'select')
     and n.nspname = any (current_schemas(false))
  union all
  select 'function', n.nspname, p.proname, obj_description(p.oid, 'pg_proc'), null, p.oid
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
   where has_function_privilege(p.oid, 'execute') and n.nspname = any (current_schemas(false))
     and p.prorettype <> 'trigger'::regtype`;

/** There may be hundreds of typed views, so they are listed only if their name is searched for. */
function listStatement(contains: string | undefined): string {
  const condition =
    contains === undefined
      ? `schema ~ 'explore$'`
      : `schema ~ '(explore|typed)$' and position(lower('${contains}') in lower(name || ' ' || coalesce(comment, ''))) > 0`;
  return `select kind, schema, name, pg_get_function_arguments(function) as arguments,
                 substring(comment from '^(.+?[.])(?:\\s|$)') as comment
            from (${objects}) o where ${condition}
           order by array_position(current_schemas(false), schema), kind desc, name, arguments`;
}

/** The comment of a view and its columns; of a function, its arguments and result. */
function columnsStatement(qualifiedName: string): string {
  const [name = '', schema] = qualifiedName.toLowerCase().split('.').toReversed();
  const inSchema = schema === undefined ? '' : ` and schema = '${schema}'`;
  return `with named as (select * from (${objects}) o where name = '${name}'${inSchema})
          select schema, name, kind, null as column, pg_get_function_arguments(function) as type, comment,
                 pg_get_function_result(function) as result
            from named
          union all
          select n.schema, n.name, n.kind, a.attname, format_type(a.atttypid, a.atttypmod),
                 col_description(n.relation, a.attnum), null
            from named n join pg_attribute a on a.attrelid = n.relation and a.attnum > 0 and not a.attisdropped
           where has_column_privilege(n.relation, a.attnum, 'select')`;
}
