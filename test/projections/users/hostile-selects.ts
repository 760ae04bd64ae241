/** SELECTs that must not become projections, each with the error that refuses it. */

/** The end of a valid SELECT. */
const range = `from explore.events e where e."offset" > :from and e."offset" <= :to`;
const calling = (call: string): string => `select e."offset", ${call} as value ${range}`;

export const hostileSelects: readonly (readonly [attack: string, sql: string, error: RegExp])[] = [
  // Statements that are not a SELECT.
  ['DDL', 'drop table ledger.contracts', /syntax error/],
  ['DML', 'delete from ledger.contracts', /syntax error/],
  ['a copy', `copy (select 1) to program 'touch /tmp/hostile'`, /syntax error/],
  ['a setting', 'set role postgres', /syntax error/],
  ['a block', `do $$ begin perform 1; end $$`, /syntax error/],
  ['a second statement', `select e."offset" ${range}; drop table ledger.contracts`, /more than one statement/],
  [
    'a second statement behind a comment',
    `select 1 /* */; /* */ delete from ledger.contracts`,
    /more than one statement/,
  ],
  [
    'a closed parenthesis',
    `select 1::bigint as "offset") as r; drop table ledger.contracts; --`,
    /more than one statement|syntax error/,
  ],
  [
    'a closed parenthesis without a statement',
    `select e."offset" ${range}) as r, (select pg_sleep(1)`,
    /specified more than once/,
  ],
  [
    'a closed parenthesis with another name',
    `select) as a, (select e."offset", pg_sleep(1)::text as value ${range}`,
    /pg_sleep.*volatile/,
  ],
  ['the end of a function', `select 1 ) as r; end; --`, /more than one statement|syntax error/],
  ['a comment that does not end', `select e."offset" ${range} /*`, /unterminated/],
  ['a quote that does not end', `select e."offset", 'a ${range}`, /unterminated/],
  [
    'a data-modifying CTE',
    `with gone as (delete from ledger.contracts returning "offset") select g."offset" from gone g where g."offset" > :from and g."offset" <= :to`,
    /data-modifying/,
  ],
  [
    'an insert in a CTE',
    `with made as (insert into ledger.projection_changes (offsets) values ('(,)') returning 1) select e."offset" ${range}`,
    /data-modifying/,
  ],
  ['a new table', `select e."offset" into stolen ${range}`, /not allowed|syntax error/],
  [
    'a row lock',
    `select e."offset" from explore.updates e where e."offset" > :from and e."offset" <= :to for update`,
    /locks rows/,
  ],
  // Functions with effects.
  ['pg_sleep', calling('pg_sleep(10)::text'), /pg_sleep.*volatile/],
  ['set_config', calling(`set_config('role', 'postgres', false)`), /set_config.*volatile/],
  ['nextval', calling(`nextval('public.numbers')`), /nextval.*volatile/],
  ['an advisory lock', calling('pg_advisory_lock(1)::text'), /pg_advisory_lock.*volatile/],
  ['a notification', calling(`pg_notify('ledger_offset', '1')::text`), /pg_notify.*volatile/],
  ['lo_import', calling(`lo_import('/etc/passwd')::bigint`), /lo_import.*volatile/],
  ['lo_create', calling('lo_create(0)::bigint'), /lo_create.*volatile/],
  ['a file', calling(`pg_read_file('/etc/passwd')`), /pg_read_file.*volatile/],
  [
    'a folder',
    `select e."offset", l.name from explore.events e cross join pg_ls_dir('/') l (name) where e."offset" > :from and e."offset" <= :to`,
    /pg_ls_dir.*volatile/,
  ],
  ['the end of a session', calling('pg_terminate_backend(1)'), /pg_terminate_backend.*volatile/],
  ['reloading the configuration', calling('pg_reload_conf()'), /pg_reload_conf.*volatile/],
  [
    'a query in XML',
    calling(`query_to_xml('delete from ledger.contracts', true, true, '')::text`),
    /query_to_xml.*volatile/,
  ],
  ['a table in XML', calling(`table_to_xml('pg_authid', true, true, '')::text`), /table_to_xml.*session/],
  ['a transaction id', calling('pg_current_xact_id()::text'), /pg_current_xact_id.*session/],
  [
    'a search with SQL',
    `select e."offset", (select s.nentry from ts_stat('select 1') s limit 1)::bigint as n ${range}`,
    /ts_stat.*volatile/,
  ],
  // Results that depend on more than the history.
  ['chance', calling('random()'), /random.*volatile/],
  ['a random id', calling('gen_random_uuid()'), /gen_random_uuid.*volatile/],
  ['the time', calling('now()'), /now\(\).*time/],
  ['current_timestamp', calling('current_timestamp'), /reads the time/],
  ['current_user', calling('current_user::text'), /reads the time, the user/],
  ['a session setting', calling(`current_setting('search_path')`), /current_setting.*session/],
  [
    'a sample',
    `select e."offset" from explore.updates e, ledger.updates u tablesample system (10) where e."offset" > :from and e."offset" <= :to`,
    /random sample|not a view/,
  ],
  [
    'a status that changes later',
    `select c.created_at_offset as "offset", c.status from explore.contracts c where c.created_at_offset > :from and c.created_at_offset <= :to`,
    /changes when a contract ends/,
  ],
  [
    'contracts that are active now',
    `select c.created_at_offset as "offset" from explore.active_contracts c where c.created_at_offset > :from and c.created_at_offset <= :to`,
    /changes when a contract ends/,
  ],
  ['the checkpoint', calling('explore.latest_offset()'), /current state/],
  ['wait_for_offset', calling(`explore.wait_for_offset(1000000, interval '1h')::text`), /volatile|current state/],
  [
    'a view that reads the time',
    `select e."offset" from explore.token_holdings h join explore.events e on e.contract_id = h.contract_id where e."offset" > :from and e."offset" <= :to`,
    /time/,
  ],
  // Functions and types of others.
  ['a volatile function', calling('public.hostile_volatile()'), /hostile_volatile.*volatile/],
  [
    'a function with the rights of its owner',
    calling('public.hostile_definer()'),
    /hostile_definer.*rights of its owner/,
  ],
  ['a function whose body is a text', calling('public.hostile_text()'), /hostile_text.*cannot be checked/],
  ['a function that another role can replace', calling('public.hostile_replaced()'), /hostile_replaced.*could replace/],
  ['a function that calls a volatile one', calling('public.hostile_inner()'), /hostile_inner.*random.*volatile/],
  [
    'an operator with a volatile function',
    calling('1 operator(public.<~>) 2'),
    /hostile_operator.*volatile|hostile_operator.*cannot/,
  ],
  ['a domain with a condition', calling(`('1'::text)::public.hostile_domain::text`), /domain/],
  [
    'an aggregate',
    `select e."offset", (select public.hostile_sum(v) from (values (1)) v (v)) as n ${range}`,
    /hostile_sum.*cannot be checked|volatile/,
  ],
  // Tables that are not history.
  ['passwords', `select e."offset", (select max(rolname::text) from pg_roles) as name ${range}`, /not a view/],
  [
    'secrets of webhooks',
    `select e."offset", (select max(s.secret) from ledger.webhook_secrets s) as secret ${range}`,
    /not a view/,
  ],
  [
    'a table of others',
    `select e."offset", (select max(o.value) from public.others o) as value ${range}`,
    /not a view/,
  ],
  [
    "another user's view",
    `select e."offset", v.value ${range.replace(' where', ' cross join public.hostile_view v where')}`,
    /not a view/,
  ],
  ['statistics', `select e."offset", (select count(*) from pg_stat_activity) as n ${range}`, /not a view/],
  // Limits that are not used.
  ['no limits', 'select e."offset" from explore.events e', /both :from and :to/],
  [
    'a limit in a comment',
    'select e."offset" from explore.events e where e."offset" > :from -- and e."offset" <= :to',
    /both :from and :to/,
  ],
  [
    'a limit in a nested comment',
    'select e."offset" from explore.events e where e."offset" > :from /* /* */ and e."offset" <= :to */',
    /both :from and :to/,
  ],
  [
    'a limit in a string',
    `select e."offset", ':to' as a from explore.events e where e."offset" > :from`,
    /both :from and :to/,
  ],
  [
    'a limit in a dollar quote',
    `select e."offset", $a$ :to $a$ as a from explore.events e where e."offset" > :from`,
    /both :from and :to/,
  ],
  [
    'a limit as a name',
    `select e."offset", 1 as ":to" from explore.events e where e."offset" > :from`,
    /both :from and :to/,
  ],
  [
    'a parameter of Postgres',
    'select e."offset" from explore.events e where e."offset" > $1 and e."offset" <= $2',
    /parameter \$1/,
  ],
  [
    'a limit that is ignored',
    `select e."offset" from explore.events e where (e."offset" > :from or true) and e."offset" <= :to`,
    /not after :from|other rows/,
  ],
  ['rows outside the range', `select e."offset" + 1 as "offset" ${range}`, /not after :from|other rows/],
  ['an offset that is null', `select null::bigint as "offset" ${range}`, /not after :from/],
  ['an offset of another type', `select e."offset"::text as "offset" ${range}`, /"offset" of type bigint/],
  [
    'a running sum',
    `select e."offset", count(*) over (order by e."offset", e.node_id) as n ${range}`,
    /other rows for a range/,
  ],
  ['a limit of rows', `select e."offset" ${range} order by e."offset" limit 3`, /other rows for a range/],
  [
    'a value of another offset',
    `select e."offset", lag(e.node_id) over (order by e."offset", e.node_id) as n ${range}`,
    /other rows for a range/,
  ],
  ['the width of the range', calling('(:to - :from)'), /other rows for a range/],
  // Resources.
  [
    'an endless recursion',
    `with recursive n (i) as (select 1 union all select i + 1 from n) select e."offset", (select count(*) from n) as n ${range}`,
    /more than \d+ ms/,
  ],
  ['an endless loop', calling('(select count(*) from generate_series(1, 1000000000000) i)'), /more than \d+ ms/],
  [
    'a huge result',
    `select e."offset", i ${range.replace(' where', ' cross join generate_series(1, 100000) i where')}`,
    /more than \d+ rows/,
  ],
  ['a huge value', calling(`repeat('x', 100000000)`), /longer than \d+ characters|more than \d+ ms/],
  [
    'more memory than a value may have',
    calling(`repeat('x', 2000000000)`),
    /SQLSTATE (?:54000|XX000)|too large|longer/,
  ],
  [
    'too many columns',
    `select e."offset", ${Array.from({ length: 100 }, (_, n) => `1 as c${String(n)}`).join(', ')} ${range}`,
    /100 columns/,
  ],
  ['a type without equality', calling('e.payload::json'), /type json/],
  ['a type of the catalog', calling('e.event_type::regtype'), /type regtype/],
];

/** Objects of other roles that hostile SELECTs use. */
export const hostileObjects = (otherRole: string): string => `
  create sequence public.numbers;
  create table public.others (value text);
  create view public.hostile_view as select 1 as value;
  create function public.hostile_volatile() returns text language sql volatile begin atomic select 'a'; end;
  create function public.hostile_definer() returns text language sql stable security definer begin atomic select 'a'; end;
  create function public.hostile_text() returns text language plpgsql immutable as $$ begin perform set_config('a.b', 'c', false); return 'a'; end $$;
  create function public.hostile_replaced() returns text language sql stable begin atomic select 'a'; end;
  alter function public.hostile_replaced() owner to ${otherRole};
  create function public.hostile_inner() returns text language sql stable begin atomic select random()::text; end;
  create function public.hostile_operator(integer, integer) returns integer language plpgsql immutable as $$ begin return 1; end $$;
  create operator public.<~> (leftarg = integer, rightarg = integer, function = public.hostile_operator);
  create domain public.hostile_domain as text check (length(value) < 10);
  create type public.hostile_row as (value public.hostile_domain);
  create aggregate public.hostile_sum (integer) (sfunc = int4pl, stype = integer);
`;
