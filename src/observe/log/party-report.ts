/** Parties of LEDGER_PARTIES that the participant does not know: the stream shows nothing of them, and does not say why. */
import { elapsed } from '../../config/pause.ts';
import type { JobHealth } from '../health/job-health.ts';
import type { Logger } from './logger.ts';

const usuallyEveryMs = 60_000;

type Unknown = readonly { readonly party: string; readonly sentence: string }[];

export interface WatchedParties {
  readonly parties: readonly string[];
  /** Those of the parties that the participant does not know, each with a sentence that says so. */
  readonly unknownOf: (parties: readonly string[]) => Promise<Unknown>;
  readonly jobs: Pick<JobHealth, 'partiesUnknown'>;
  readonly logger: Pick<Logger, 'warn' | 'debug'>;
  readonly stop: AbortSignal;
  /** Between two requests for parties that are not known yet, a minute by default. */
  readonly everyMs?: number;
}

/** Warns of them once, and keeps the list of the status document until all are known. Users who may not query parties get none. */
export async function watchUnknownParties(watched: WatchedParties): Promise<void> {
  const { parties, unknownOf, jobs, logger, stop, everyMs = usuallyEveryMs } = watched;
  const request = (names: readonly string[]): Promise<Unknown | undefined> =>
    unknownOf(names).catch((err: unknown) => {
      logger.debug({ err }, 'the participant was not asked for parties');
      return undefined;
    });
  let unknown = (await request(parties)) ?? [];
  for (const { sentence } of unknown) logger.warn(`${sentence}: correct LEDGER_PARTIES, unless it will come`);
  while (unknown.length > 0 && !stop.aborted) {
    jobs.partiesUnknown = unknown.map(({ party }) => party);
    await elapsed(everyMs, stop);
    // A participant that is away for a moment says nothing of them.
    unknown = (await request(jobs.partiesUnknown)) ?? unknown;
  }
  jobs.partiesUnknown = [];
}
