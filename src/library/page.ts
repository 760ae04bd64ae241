/**
 * The module that `packages/page` imports as `ledger-indexer/page`: types of the JSON that the daemon sends to its pages.
 * The browser code and the daemon are both type-checked against them. It is not an export of the npm package, because
 * types do not exist in a browser.
 */
export type { UnknownNameCount } from '../model/unknown.ts';
export type { HealthState } from '../observe/health/health.ts';
export type { StatusDocument } from '../observe/health/health-tracker.ts';
export type { ProjectionStatus } from '../observe/health/projection-health.ts';
export type { RecentError } from '../observe/health/recent-errors.ts';
export type { RequestedJobStatus } from '../observe/health/requested-jobs.ts';
export type {
  ConsoleCallerName,
  ConsoleExplained,
  ConsoleFailure,
  ConsoleGuide,
  ConsoleRows,
  ReadyQuery,
} from '../observe/page/console-messages.ts';
export type { HelloMessage, RatedTemplate, Recent, Sample, TickMessage } from '../observe/page/messages.ts';
export type { UpdateFacts } from '../observe/page/recent-facts.ts';
export type { OutlineNode, UpdateOutline } from '../observe/page/update-outline.ts';
