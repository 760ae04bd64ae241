/**
 * Finds parties in LEDGER_PARTIES that the participant does not know. For such parties, the stream returns neither data
 * nor an error.
 */
import { elapsed } from '../../config/pause.ts';
import type { JobHealth } from '../health/job-health.ts';
import type { Logger } from './logger.ts';

const defaultIntervalMs = 60_000;

type UnknownParties = readonly { readonly party: string; readonly sentence: string }[];

export interface WatchedParties {
  readonly parties: readonly string[];
  /** The given parties that the participant does not know, each with a sentence for the log. */
  readonly unknownOf: (parties: readonly string[]) => Promise<UnknownParties>;
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
export async function reportUnknownParties(options: WatchedParties): Promise<void> {
  const { parties, unknownOf, jobs, logger, stop, everyMs = defaultIntervalMs } = options;
  const request = (names: readonly string[]): Promise<UnknownParties | undefined> =>
    unknownOf(names).catch((err: unknown) => {
      logger.debug({ err }, 'parties could not be queried');
      return undefined;
    });
  let unknownParties = (await request(parties)) ?? [];
  for (const { sentence: partySentence } of unknownParties)
    logger.warn(`${partySentence}: correct LEDGER_PARTIES, unless it will exist later`);
  while (unknownParties.length > 0 && !stop.aborted) {
    jobs.partiesUnknown = unknownParties.map(({ party }) => party);
    await elapsed(everyMs, stop);
    // If the participant is temporarily unavailable, the list is not changed.
    unknownParties = (await request(jobs.partiesUnknown)) ?? unknownParties;
  }
  jobs.partiesUnknown = [];
}
