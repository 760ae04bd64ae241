-- Where the active contracts came from. Participants from 3.7 on leave out reassignments in flight unless they are requested, and a
-- continuation token is of use to the same version of the participant only.
alter table stream add column seed_release text, add column seed_has_in_flight boolean;
comment on column stream.seed_release is 'Version of the participant that the active contracts came from; null: it could not be read, or none were read.';
comment on column stream.seed_has_in_flight is 'Whether the active contracts were requested so that reassignments in flight are among them; null: read before this was noted.';
