-- What readers need beyond the storage of a stream: packages and their types, counts, and indexes of the two read paths.

create table packages (
  package_id text primary key,
  package_name text not null,
  package_version text not null,
  language_version text not null,
  model jsonb not null,
  read_at timestamptz not null default now()
);
comment on table packages is 'Packages whose archives were read from the participant, with the types that typed views are made from.';
comment on column packages.package_id is 'SHA-256 of the package, as in template identifiers.';
comment on column packages.package_name is 'Name of the package: the same for all versions that upgrade each other.';
comment on column packages.package_version is 'Version of the package, as its author numbered it.';
comment on column packages.language_version is 'Version of Daml-LF the archive is written in, e.g. 2.1.';
comment on column packages.model is 'Templates, choices, interfaces and data types of the package as JSON.';
comment on column packages.read_at is 'When the archive was read.';

create table paddings (
  template_pk integer primary key,
  padding jsonb not null
);
comment on table paddings is 'What values of templates and interface views lack because the ledger does not write trailing fields that are None.';
comment on column paddings.template_pk is 'Template or interface, see templates. Those whose values lack nothing have no row.';
comment on column paddings.padding is 'Where the missing fields belong, see function padded of schema pqs.';

create table typed_views (
  view_name text primary key,
  kind text not null check (kind in ('template', 'choice', 'interface')),
  package_name text not null,
  module_name text not null,
  entity_name text not null,
  choice text not null default '',
  unique (kind, package_name, module_name, entity_name, choice)
);
comment on table typed_views is 'The generated views of schema typed, and what each one shows. A name once given is never given to something else.';
comment on column typed_views.view_name is 'Name in schema typed; the view with all contracts of a template has __history at its end.';
comment on column typed_views.kind is 'template, choice or interface.';
comment on column typed_views.package_name is 'Package that defines it.';
comment on column typed_views.module_name is 'Module that defines it.';
comment on column typed_views.entity_name is 'Template or interface; of a choice, the one that has the choice.';
comment on column typed_views.choice is 'Name of the choice; empty for templates and interfaces.';

create table typed_columns (
  view_name text not null,
  position integer not null,
  column_name text not null,
  path text[] not null,
  type text not null,
  description text not null,
  primary key (view_name, column_name),
  unique (view_name, position)
);
comment on table typed_columns is 'Columns of the generated views in the order they were first seen: new fields come last, so that views built on them stay valid.';
comment on column typed_columns.view_name is 'The view in schema typed.';
comment on column typed_columns.position is 'Place among the columns made from fields, from 1.';
comment on column typed_columns.column_name is 'Name of the column.';
comment on column typed_columns.path is 'Field names from the payload down to the value.';
comment on column typed_columns.type is 'Postgres type of the column.';
comment on column typed_columns.description is 'The Daml type and path, shown as comment of the column.';

create table active_counts (
  template_pk integer primary key,
  activated bigint not null default 0,
  deactivated bigint not null default 0
);
comment on table active_counts is 'Contracts by template, counted in the transaction that wrote them: activated minus deactivated are active now.';
comment on column active_counts.template_pk is 'Template, see templates.';
comment on column active_counts.activated is 'Rows of lifetimes with this template.';
comment on column active_counts.deactivated is 'Those of them that have ended.';
insert into active_counts select template_pk, count(*), count(deactivated_offset) from lifetimes group by 1;

alter table activity_hourly
  add column transactions bigint not null default 0,
  add column paid_traffic_cost bigint not null default 0,
  add column delay_seconds double precision not null default 0,
  add column total_creates bigint not null default 0,
  add column total_archives bigint not null default 0,
  add column total_exercises bigint not null default 0;
comment on column activity_hourly.transactions is 'Transactions recorded in this hour. Like all columns that follow, filled only where template and choice are 0: that row stands for the updates of the hour themselves.';
comment on column activity_hourly.paid_traffic_cost is 'Traffic cost of the updates of the hour, where this participant submitted them.';
comment on column activity_hourly.delay_seconds is 'Sum over the transactions of the hour of record time minus effective time, in seconds.';
comment on column activity_hourly.total_creates is 'Creates of the hour, all templates together.';
comment on column activity_hourly.total_archives is 'Archives of the hour, all templates together.';
comment on column activity_hourly.total_exercises is 'Exercises of the hour, all templates together.';
-- What is stored already is counted as the writer does: delays in units of 2^-20 seconds, so that sums do not round.
insert into activity_hourly (hour, template_pk, choice_pk, synchronizer_pk, creates, archives, exercises, transactions,
                             paid_traffic_cost, delay_seconds, total_creates, total_archives, total_exercises)
  select hour, 0, 0, synchronizer_pk, 0, 0, 0, sum(transactions), least(sum(cost), 9223372036854775807),
         sum(delay)::double precision / 1048576, sum(creates), sum(archives), sum(exercises)
    from (select hour, synchronizer_pk, creates, archives, exercises, 0 as transactions, 0::bigint as cost,
                 0::numeric as delay
            from activity_hourly
          union all
          select date_trunc('hour', record_time, 'UTC'), coalesce(synchronizer_pk, 0), 0, 0, 0,
                 (kind = 'transaction')::integer, coalesce(paid_traffic_cost, 0),
                 case when kind = 'transaction'
                      then coalesce(round(extract(epoch from record_time - effective_at)::numeric * 1048576), 0) else 0 end
            from updates
           where record_time is not null and (kind = 'transaction' or paid_traffic_cost is not null)) parts
   group by hour, synchronizer_pk;
create index activity_hourly_template on activity_hourly (template_pk, hour);
comment on index activity_hourly_template is 'One template, or the row of all, over a span of time.';

create function lifetime_class(activated_offset bigint, deactivated_offset bigint) returns integer
  language sql immutable parallel safe
  return floor(ln((deactivated_offset - activated_offset + 1)::double precision) / ln(2::double precision))::integer;
comment on function lifetime_class(bigint, bigint) is
  'How long a contract was active, as the power of two of its length in offsets: what was active at an offset is found among those that can reach it.';

create index lifetimes_live on lifetimes (template_pk, activated_offset) where deactivated_offset is null;
comment on index lifetimes_live is 'Active contracts of a template: holds live rows only.';
create index lifetimes_ended on lifetimes
  (template_pk, lifetime_class(activated_offset, deactivated_offset), activated_offset) where deactivated_offset is not null;
comment on index lifetimes_ended is 'Contracts of a template that were active at an offset of the past; see lifetime_class.';

create index updates_record_time on updates using brin (record_time) with (pages_per_range = 32, autosummarize = on);
comment on index updates_record_time is 'Times to offsets, at next to no cost: times rise with the offsets.';
create index updates_effective_at on updates using brin (effective_at) with (pages_per_range = 32, autosummarize = on);
comment on index updates_effective_at is 'As updates_record_time, by ledger effective time.';
