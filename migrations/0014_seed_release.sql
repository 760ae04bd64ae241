-- Source of the active contracts. Since release 3.7, participants omit reassignments in flight unless they are
-- requested, and a continuation token is valid only for the same version of the participant.
alter table stream add column seed_release text, add column seed_has_in_flight boolean;
comment on column stream.seed_release is 'Version of the participant that returned the active contracts; null if it could not be read, or no active contracts were read.';
comment on column stream.seed_has_in_flight is 'Whether the active contracts were requested with reassignments in flight included; null if they were read before this column existed.';
