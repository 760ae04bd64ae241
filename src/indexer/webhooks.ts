/** Webhooks of one process: the database connections for deliveries, and when deliveries may run. */
import { elapsed } from '../config/pause.ts';
import type { Config } from '../config/config.ts';
import type { Logger } from '../observe/log/logger.ts';
import { WebhookReport } from '../observe/log/webhook-report.ts';
import type { Metrics } from '../observe/metrics/metrics.ts';
import { type PollIntervals, defaultPace } from '../config/pace.ts';
import { shareOf, type Database } from '../store/connection/database.ts';
import { pageConnections } from './connections.ts';
import type { WriterCandidate } from '../store/lock/writer-lock.ts';
import { webhookProgress } from '../store/webhooks/webhook-progress.ts';
import { WebhookDeliveries } from '../webhooks/deliveries.ts';

/** Time limit of a stop for deliveries without a response, and for recording them, milliseconds. */
const maxClosingMs = 3_000;

export interface DeliveryContext {
  readonly config: Config;
  readonly version: string;
  readonly pace?: PollIntervals;
}

export interface DeliveryParts {
  /** Closed by the caller. */
  readonly pages: Database;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The claim of this process to the writer lock. */
  readonly candidate: Pick<WriterCandidate, 'isHeld'>;
}

export interface DeliveryHandle {
  /** Called when a checkpoint is in the database. */
  readonly reached: (checkpoint: number) => void;
  /** Records deliveries, then closes. Never rejects. */
  readonly close: (limitMs: number) => Promise<void>;
}

/** Starts at once, and delivers while this process holds the writer lock. A bounded run delivers nothing. */
export function startDelivering(
  { config, version, pace = defaultPace }: DeliveryContext,
  { pages, logger, metrics, candidate }: DeliveryParts,
): DeliveryHandle {
  const { webhookNetworks, webhookAttempts: attempts, stopAt } = config.indexer;
  const deliveries = new WebhookDeliveries({
    store: webhookProgress(shareOf(pages, pageConnections)),
    observer: new WebhookReport({ logger, metrics }),
    isWriter: () => candidate.isHeld,
    reach: stopAt === undefined ? webhookNetworks : 'none',
    attempts,
    userAgent: `ledger-indexer/${version}`,
    lookMs: pace.webhooksMs,
  });
  return {
    reached: () => deliveries.stir(),
    close: async (limitMs) => {
      await Promise.race([deliveries.close(), elapsed(Math.min(limitMs, maxClosingMs))]);
    },
  };
}
