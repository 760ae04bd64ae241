-- Reason why a receiver does not accept events now. Dead letters have only the reasons for their own events, and a
-- receiver that cannot be reached creates no dead letters.
alter table webhooks add column problem text, add column problem_at timestamptz;
comment on column webhooks.problem is 'Reason the last attempt failed; null if it succeeded, or before the first attempt.';
comment on column webhooks.problem_at is 'Time since which attempts have failed for this reason; null without a problem.';
