-- Webhooks that select changes by meaning, and webhooks that end.
alter table webhooks
  add column interface_name text,
  add column choices text[] not null default '{}',
  add column token_events text[] not null default '{}',
  add column filter text,
  add column until text;
comment on column webhooks.interface_name is 'Interface through which the contract or choice of an event is seen, package-name:Module:Interface; null for any event.';
comment on column webhooks.choices is 'Choices of the events to send; empty for all.';
comment on column webhooks.token_events is 'Token events to send, such as transfer.accepted; empty for all events.';
comment on column webhooks.filter is 'Filter that the events to send match; null for all.';
comment on column webhooks.until is 'Offset or time in UTC up to which events are sent; null if deliveries do not end.';

alter table webhooks drop constraint webhooks_state_check;
alter table webhooks add constraint webhooks_state_check check (state in ('active', 'disabled', 'finished'));
comment on column webhooks.state is 'active; disabled: the receiver returned 410, and nothing is sent until `ledger-indexer webhook resume`; finished: every event up to the end was accepted.';
