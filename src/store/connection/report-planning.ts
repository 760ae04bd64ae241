/**
 * The writer's sessions avoid scans, because its statements touch few rows of large tables. Statements that read whole
 * tables, for as long as it takes, are planned as Postgres does by itself: for one transaction, until it ends.
 */
export const reportPlanning = [
  'set local plan_cache_mode = auto',
  'set local enable_seqscan = on',
  'set local enable_hashjoin = on',
  'set local enable_mergejoin = on',
].join('; ');
