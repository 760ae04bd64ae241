-- Webhooks: receivers of changes over HTTP, the position of each, and events that could not be delivered. Runs with search_path
-- set to the schema of the stream and names no schema itself.

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
comment on table webhooks is 'Webhooks that receive changes over HTTP, one row each. Address and secret are in webhook_secrets.';
comment on column webhooks.name is 'Name, as given to `ledger-indexer webhook add`.';
comment on column webhooks.hook_id is 'Generated id, part of every webhook-id. A webhook that is added later under the same name has another id.';
comment on column webhooks.role_name is 'Role whose rights and row security select the events to send.';
comment on column webhooks.template is 'Template of the events to send, package-name:Module:Entity; null for any template.';
comment on column webhooks.party is 'Party that the events to send must name; null for any party.';
comment on column webhooks.event_types is 'Values of event_type of explore.events to send; empty for all.';
comment on column webhooks.state is 'active; disabled: the receiver returned 410, and nothing is sent until `ledger-indexer webhook resume`.';
comment on column webhooks.cursor_offset is 'Inclusive: events up to this position were delivered, or are in webhook_dead_letters. Null if delivery begins with the first stored event.';
comment on column webhooks.cursor_node is 'Inclusive node within the update at cursor_offset; null for the complete update.';
comment on column webhooks.missed is 'Description of the history that was not delivered because it is not completely stored; null if there is none.';
comment on column webhooks.added_at is 'Time the webhook was added.';
comment on column webhooks.moved_at is 'Time the cursor last moved.';

create table webhook_secrets (
  name text primary key,
  url text not null,
  secret text not null,
  previous_secret text
);
comment on table webhook_secrets is 'Addresses and signing secrets of webhooks. Row security has no policy: the owner and the writer see all rows, readers see none.';
comment on column webhook_secrets.name is 'Name of the webhook.';
comment on column webhook_secrets.url is 'Address for deliveries; path or query may hold a secret of the receiver.';
comment on column webhook_secrets.secret is 'whsec_ followed by the signing key in base64, as in Standard Webhooks.';
comment on column webhook_secrets.previous_secret is 'The secret before `ledger-indexer webhook rotate`, with which events are signed as well; null if no rotation is open.';
-- No role sees rows of this table, whatever it is granted on all tables, now or later.
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
comment on table webhook_dead_letters is 'Dead letters: events that a receiver did not accept, and later events of the same contract, which wait for them. Rows have no contents; a replay reads the contents again.';
comment on column webhook_dead_letters.name is 'Name of the webhook.';
comment on column webhook_dead_letters."offset" is 'Offset of the event.';
comment on column webhook_dead_letters.node_id is 'Node of the event within its update.';
comment on column webhook_dead_letters.contract_id is 'Contract of the event; empty for topology events.';
comment on column webhook_dead_letters.attempts is 'Number of delivery attempts; 0 for an event that waits for an earlier event of its contract.';
comment on column webhook_dead_letters.problem is 'Last response of the receiver without its body, or the reason the event was not sent.';
comment on column webhook_dead_letters.replay is 'Whether the event is sent again as soon as no earlier dead letter of its contract blocks it: requested with `ledger-indexer webhook replay`, or waiting for an earlier event.';
comment on column webhook_dead_letters.failed_at is 'Time the event became a dead letter.';
