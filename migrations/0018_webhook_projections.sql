-- Webhooks that deliver the rows of a projection.
alter table webhooks add column projection text;
comment on column webhooks.projection is 'Projection whose rows are delivered; null if events are delivered.';
