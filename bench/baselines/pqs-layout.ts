/**
 * The layout of PQS, from its published schema: the same tables, columns and indexes under readable names. Archives are
 * marked in the same way: ends are staged together with the other rows of a batch, and moving the watermark updates the
 * rows of the contracts by a trigger, template by template. Written from scratch for this measurement; no code of PQS
 * runs here. In favor of this layout, contracts and exercises are not partitioned, COPY is binary, and dictionaries,
 * packages and checks of the writer are omitted.
 */
import { escapeLiteral } from 'pg';
import { preloadedSql, withoutIndexes } from '../growth/preload.ts';
import { explore } from '../postgres.ts';
import { payload } from '../replay/events.ts';
import { randomFrom, templateName } from '../replay/names.ts';
import { preloadedPerActive } from '../replay/recording.ts';
import type { Baseline } from './baseline.ts';

const types = `
  create type event_type as enum ('create', 'archive', 'exercise', 'unassign', 'assign');
  create type event_id as ("offset" bigint, node_id integer);
  create type trace_context as (trace_parent text, trace_state text);`;

const layout = `
  create table transactions (
    ix bigint primary key, "offset" bigint, transaction_id text, effective_at timestamptz, workflow_id text,
    synchronizer_id text, trace_context trace_context, external_transaction_hash bytea, paid_traffic_cost bigint);
  create unique index on transactions ("offset", ix);
  create index on transactions using brin (effective_at);
  create index on transactions using hash (transaction_id);
  create index on transactions using hash (external_transaction_hash) where external_transaction_hash is not null;

  create table events (pk bigint primary key, tx_ix bigint not null, event_id event_id not null, type event_type not null);
  create index on events (event_id);
  create index on events (tx_ix);

  create table contracts (
    tpe_pk bigint not null, create_event_pk bigint, created_at_ix bigint, archive_event_pk bigint, archived_at_ix bigint,
    life_ix int8range not null generated always as (int8range(created_at_ix, archived_at_ix)) stored,
    contract_id text not null, payload jsonb, contract_key jsonb, metadata bytea, redaction_id text,
    package_pk bigint not null default 0, signatories text[] not null, observers text[] not null,
    witnesses text[] not null, divulged_only boolean not null default false, creation_package_id text,
    contract_key_hash bytea);
  create index on contracts (archive_event_pk);
  create index on contracts (archived_at_ix) include (tpe_pk);
  create index on contracts using hash (contract_id);
  create index on contracts (create_event_pk);
  create index on contracts (created_at_ix) include (tpe_pk);
  create index on contracts using gist (life_ix) include (tpe_pk) where not divulged_only;
  create index on contracts (package_pk);

  create table exercises (
    tpe_pk bigint not null, contract_tpe_pk bigint not null, exercise_event_pk bigint, exercised_at_ix bigint,
    contract_id text not null, argument jsonb, result jsonb, redaction_id text, package_pk bigint not null default 0,
    controllers text[] not null, last_descendant_node_id integer not null, witnesses text[] not null);
  create index on exercises using hash (contract_id);
  create index on exercises (exercise_event_pk);
  create index on exercises (exercised_at_ix) include (tpe_pk);
  create index on exercises (package_pk);

  create table staged_ends (
    tpe_pk bigint not null, contract_id text not null, archive_event_pk bigint not null, archived_at_ix bigint not null);
  create index on staged_ends (archived_at_ix);

  create table watermark (singleton boolean primary key default true check (singleton), ix bigint, "offset" bigint);
  insert into watermark (ix, "offset") values (0, 0);
  create function end_contracts() returns trigger language plpgsql as $body$
    declare
      template bigint;
    begin
      for template in select distinct tpe_pk from staged_ends where archived_at_ix <= new.ix loop
        with moved as (delete from staged_ends where archived_at_ix <= new.ix and tpe_pk = template returning *)
        update contracts set archive_event_pk = moved.archive_event_pk, archived_at_ix = moved.archived_at_ix
          from moved where contracts.tpe_pk = template and contracts.contract_id = moved.contract_id;
      end loop;
      return new;
    end $body$;
  create trigger ends_contracts before update on watermark for each row execute function end_contracts();`;

/** Range of numbers for the events of the largest transaction. Any number as wide as the keys of PQS is suitable. */
const maxNodes = 1_048_576;
const eventPk = (offset: string, node: string): string => `${offset} * ${String(maxNodes)} + ${node}`;
/** Replaces the number in a dictionary of names; it has the same width. */
const typePk = (name: string): string => `hashtext(${name})::bigint`;

/** The offset is used as the number of the transaction, because recordings have no gaps. */
const transactionRows = `
  select "offset" as staged_at, "offset" as ix, "offset", update_id as transaction_id, effective_at, workflow_id,
         synchronizer_id, row(trace_parent, trace_state)::trace_context as trace_context,
         decode(external_transaction_hash, 'hex') as external_transaction_hash, paid_traffic_cost
    from ${explore}.updates where kind = 'transaction' and "offset" > 0 order by "offset"`;

const eventRows = `
  select "offset" as staged_at, ${eventPk('"offset"', 'node_id')} as pk, "offset" as tx_ix,
         row("offset", node_id)::event_id as event_id, type
    from (select created_at_offset as "offset", node_id, 'create'::event_type as type
            from ${explore}.contracts where created_at_offset > 0
           union all
          select "offset", node_id, (case consuming when true then 'archive' when false then 'exercise' end)::event_type
            from ${explore}.exercises) as ends
   order by "offset", node_id`;

/** Always as jsonb: PQS stores JSON as jsonb, and the text of another type would differ. */
const contractRows = `
  select created_at_offset as staged_at, ${typePk('template_fqn')} as tpe_pk,
         ${eventPk('created_at_offset', 'node_id')} as create_event_pk, created_at_offset as created_at_ix, contract_id,
         payload::jsonb as payload, contract_key::jsonb as contract_key, signatories, observers, witnesses
    from ${explore}.contracts where created_at_offset > 0 order by created_at_offset, node_id`;

const exerciseRows = `
  select "offset" as staged_at, ${typePk(`template_fqn || ':' || choice`)} as tpe_pk,
         ${typePk('template_fqn')} as contract_tpe_pk, ${eventPk('"offset"', 'node_id')} as exercise_event_pk,
         "offset" as exercised_at_ix, contract_id, argument::jsonb as argument, result::jsonb as result,
         acting_parties as controllers,
         last_descendant_node_id, witnesses
    from ${explore}.exercises order by "offset", node_id`;

const endRows = `
  select "offset" as staged_at, ${typePk('template_fqn')} as tpe_pk, contract_id,
         ${eventPk('"offset"', 'node_id')} as archive_event_pk, "offset" as archived_at_ix
    from ${explore}.exercises where consuming order by "offset", node_id`;

const hashOf = (...columns: readonly string[]): string =>
  `sum(hashtextextended(concat_ws('|', ${columns.join(', ')}), 0))`;

const countsBefore = `
  select u.count as updates, c.count as contracts, e.count as exercises, c.active,
         concat_ws(' ', u.hash, c.hash, e.hash) as contents
    from (select count(*), ${hashOf('"offset"', 'update_id', 'effective_at', 'workflow_id')} as hash
            from ${explore}.updates where kind = 'transaction' and "offset" > 0) as u,
         (select count(*) filter (where created_at_offset > 0), count(*) filter (where is_active) as active,
                 ${hashOf('contract_id', 'created_at_offset', 'archived_at_offset', 'payload::jsonb', 'signatories', 'observers', 'witnesses')}
                 filter (where created_at_offset > 0) as hash
            from ${explore}.contracts) as c,
         (select count(*), ${hashOf('contract_id', '"offset"', 'argument::jsonb', 'result::jsonb', 'acting_parties', 'witnesses')} as hash
            from ${explore}.exercises) as e`;

const countsAfter = `
  select u.count as updates, c.count as contracts, e.count as exercises, c.active,
         concat_ws(' ', u.hash, c.hash, e.hash) as contents
    from (select count(*), ${hashOf('"offset"', 'transaction_id', 'effective_at', 'workflow_id')} as hash from transactions) as u,
         (select count(*) filter (where created_at_ix > 0), count(*) filter (where upper_inf(life_ix)) as active,
                 ${hashOf('contract_id', 'created_at_ix', 'archived_at_ix', 'payload', 'signatories', 'observers', 'witnesses')}
                 filter (where created_at_ix > 0) as hash
            from contracts) as c,
         (select count(*), ${hashOf('contract_id', 'exercised_at_ix', 'argument', 'result', 'controllers', 'witnesses')} as hash
            from exercises) as e`;

/**
 * Contracts of the first template, like those of `growth/preload.ts`, but with payloads as long as those of the stream,
 * because an archive rewrites the complete row.
 */
const preload: Baseline['preload'] = async (client, contracts) => {
  const { id, packageName } = templateName(0);
  const name = escapeLiteral(`${packageName}:${id.split(':').slice(1).join(':')}`);
  const endedSql = `case when n % ${String(preloadedPerActive)} <> 0 then`;
  const rebuild = await withoutIndexes(client, 'contracts');
  await client.query(
    `insert into contracts (tpe_pk, create_event_pk, created_at_ix, archive_event_pk, archived_at_ix, contract_id, payload,
                            signatories, observers, witnesses)
     select ${typePk(name)}, n - 1000000000, n - 1000000000, ${endedSql} n - 1000000000 end, ${endedSql} n - 999999999 end, id,
            $1::jsonb, $2::text[], $2::text[], $2::text[] || $2::text[] from ${preloadedSql(contracts)}`,
    [payload(randomFrom(1), 600), [`preloaded::1220${'0'.repeat(64)}`]],
  );
  for (const statement of rebuild) await client.query(statement);
};

export const pqsLayout: Baseline = {
  name: `PQS's layout`,
  schema: 'pqs_layout',
  types,
  layout,
  tables: [
    { name: 'transactions', rows: transactionRows },
    { name: 'events', rows: eventRows },
    { name: 'contracts', rows: contractRows },
    { name: 'exercises', rows: exerciseRows },
    { name: 'staged_ends', rows: endRows },
  ],
  publish: (lastOffset) => `update watermark set ix = ${String(lastOffset)}, "offset" = ${String(lastOffset)}`,
  countsBefore,
  countsAfter,
  preload,
};
