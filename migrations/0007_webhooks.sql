-- Who is told of changes over HTTP, how far each was told, and what could not be delivered. Runs with search_path set to the
-- schema of the stream; names no schema itself.

create table webhooks (
  name text primary key,
  hook_id text not null unique default gen_random_uuid()::text,
  role_name text not null,
  template text,
  party text,
  event_types text[] not null default '{}',
  state text not null default 'active' check (state in ('active', 'disabled')),
  cursor_offset bigint,
  cursor_node integer,
  missed text,
  added_at timestamptz not null default now(),
  moved_at timestamptz not null default now(),
  check (cursor_offset is not null or cursor_node is null)
);
comment on table webhooks is 'Who is told of changes over HTTP: one row per webhook. Its address and secret are in webhook_secrets.';
comment on column webhooks.name is 'Name, as given to `ledger-indexer webhook add`.';
comment on column webhooks.hook_id is 'Made once, and part of every webhook-id: a webhook of the same name that is added later has other ids.';
comment on column webhooks.role_name is 'Role whose rights and row security decide what is sent.';
comment on column webhooks.template is 'Only events of this template, package-name:Module:Entity; null: of any.';
comment on column webhooks.party is 'Only events that name this party; null: any.';
comment on column webhooks.event_types is 'Only these values of event_type of explore.events; empty: all.';
comment on column webhooks.state is 'active; disabled: the receiver answered 410, and nothing is sent until `ledger-indexer webhook resume`.';
comment on column webhooks.cursor_offset is 'Everything up to this place was delivered, or is in webhook_dead_letters. Null: it begins where history begins.';
comment on column webhooks.cursor_node is 'Node within the update at cursor_offset; null: the whole update.';
comment on column webhooks.missed is 'What of history it was not told, because it is not complete here; null: nothing.';
comment on column webhooks.added_at is 'When it was added.';
comment on column webhooks.moved_at is 'When its cursor was moved last.';

create table webhook_secrets (
  name text primary key,
  url text not null,
  secret text not null
);
comment on table webhook_secrets is 'Addresses and signing secrets of webhooks. Row security without a policy: the owner and the writer see rows, readers none.';
comment on column webhook_secrets.name is 'The webhook.';
comment on column webhook_secrets.url is 'Where it is delivered to; may hold a secret of the receiver in its path or query.';
comment on column webhook_secrets.secret is 'whsec_ and the key of the signatures in base64, as Standard Webhooks has it.';
-- Whatever a role is granted on all tables, now or later, it sees no row here.
alter table webhook_secrets enable row level security;

create table webhook_dead_letters (
  name text not null,
  "offset" bigint not null,
  node_id integer not null,
  contract_id text not null,
  attempts integer not null,
  problem text not null,
  replay boolean not null default false,
  failed_at timestamptz not null default now(),
  primary key (name, "offset", node_id)
);
comment on table webhook_dead_letters is 'Dead letters: events that a receiver did not take, and later events of the same contract, which wait behind them. No contents: those are read again when one is replayed.';
comment on column webhook_dead_letters.name is 'The webhook.';
comment on column webhook_dead_letters."offset" is 'Offset of the event.';
comment on column webhook_dead_letters.node_id is 'Node of the event within its update.';
comment on column webhook_dead_letters.contract_id is 'Its contract; empty for an event of topology.';
comment on column webhook_dead_letters.attempts is 'How often it was sent; 0 for one that waits behind another of its contract.';
comment on column webhook_dead_letters.problem is 'What the receiver answered last, without its words, or why it was not sent.';
comment on column webhook_dead_letters.replay is 'It is sent again once no letter of its contract before it is in the way: asked for with `ledger-indexer webhook replay`, or waiting behind another.';
comment on column webhook_dead_letters.failed_at is 'When it was given up.';
