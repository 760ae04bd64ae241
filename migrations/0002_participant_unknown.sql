-- A participant tells its id to administrators only; an indexer with no more than the right to read does without it.

alter table stream alter column participant_id drop not null;
comment on column stream.participant_id is 'The participant whose offsets these are; another participant is refused. Null until the user of the indexer could read it.';
