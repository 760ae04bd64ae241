/**
 * Statements that set the planner's defaults for one transaction. They are used for statements that read complete
 * tables and may take long. The writer's sessions avoid scans, because their statements touch few rows of large tables.
 */
export const reportPlanning = [
  'set local plan_cache_mode = auto',
  'set local enable_seqscan = on',
  'set local enable_hashjoin = on',
  'set local enable_mergejoin = on',
].join('; ');
