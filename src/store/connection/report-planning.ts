/**
 * The writer's sessions avoid scans, because its statements touch few rows of large tables. Statements that read
 * complete tables and may take long use the planner's defaults: for one transaction, until it ends.
 */
export const reportPlanning = [
  'set local plan_cache_mode = auto',
  'set local enable_seqscan = on',
  'set local enable_hashjoin = on',
  'set local enable_mergejoin = on',
].join('; ');
