-- Why a receiver does not take events now. Its dead letters have the reasons of events that were given up; a receiver that cannot be
-- reached gives none.
alter table webhooks add column problem text, add column problem_at timestamptz;
comment on column webhooks.problem is 'Why the last attempt failed; null: it did not, or there was none.';
comment on column webhooks.problem_at is 'Since when it has failed for this reason.';
