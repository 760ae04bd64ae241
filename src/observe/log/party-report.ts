/**
 * Finds parties in LEDGER_PARTIES that the participant does not know. For such parties, the stream returns neither data
 * nor an error.
 */
import { elapsed } from '../../config/pause.ts';
import type { JobHealth } from '../health/job-health.ts';
import type { Logger } from './logger.ts';

const usuallyEveryMs = 60_000;

type Unknown = readonly { readonly party: string; readonly sentence: string }[];

export interface WatchedParties {
  readonly parties: readonly string[];
  /** The given parties that the participant does not know, each with a sentence for the log. */
  readonly unknownOf: (parties: readonly string[]) => Promise<Unknown>;
  readonly jobs: Pick<JobHealth, 'partiesUnknown'>;
  readonly logger: Pick<Logger, 'warn' | 'debug'>;
  readonly stop: AbortSignal;
  /** Interval of requests for parties that are not known yet, milliseconds; default one minute. */
  readonly everyMs?: number;
}

/**
 * Warns once about unknown parties, and keeps their list in the status document until all are known. If the user may
 * not query parties, there are no warnings.
 */
export async function watchUnknownParties(watched: WatchedParties): Promise<void> {
  const { parties, unknownOf, jobs, logger, stop, everyMs = usuallyEveryMs } = watched;
  const request = (names: readonly string[]): Promise<Unknown | undefined> =>
    unknownOf(names).catch((err: unknown) => {
      logger.debug({ err }, 'parties could not be queried');
      return undefined;
    });
  let unknown = (await request(parties)) ?? [];
  for (const { sentence } of unknown) logger.warn(`${sentence}: correct LEDGER_PARTIES, unless it will exist later`);
  while (unknown.length > 0 && !stop.aborted) {
    jobs.partiesUnknown = unknown.map(({ party }) => party);
    await elapsed(everyMs, stop);
    // If the participant is temporarily unavailable, the list is not changed.
    unknown = (await request(jobs.partiesUnknown)) ?? unknown;
  }
  jobs.partiesUnknown = [];
}
