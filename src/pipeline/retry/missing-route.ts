/**
 * Handles HTTP 404 without an error of the participant. A gateway that is being reconfigured lacks a route only
 * temporarily, but another gateway may never have the route. Therefore a call is repeated only a few times.
 */
import { type IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { pause } from '../../config/pause.ts';

const delaysMs: readonly number[] = [500, 1_000];

/** Whether the failure may end after a wait, or with a new token if this one was refused. */
export function isTransient(error: IndexerError): boolean {
  return error.retry === 'retry' || error.retry === 'refresh-token' || isRouteMissing(error);
}

function isRouteMissing({ code, facts }: IndexerError): boolean {
  return code === 'LEDGER_NOT_A_LEDGER' && facts['httpStatus'] === 404;
}

/** Sends the request again while the route is missing, three times in all. @throws IndexerError of the last request */
export async function retryMissingRoute<T>(
  { observers, stop }: Pick<PipelineParts, 'observers' | 'stop'>,
  request: () => Promise<T>,
): Promise<T> {
  for (const delayMs of delaysMs) {
    try {
      return await request();
    } catch (thrown) {
      const error = toIndexerError(thrown);
      if (!isRouteMissing(error) || stop.aborted) throw error;
      observers.stream.failed('ledger', error, delayMs);
      await pause(delayMs, stop);
    }
  }
  return request();
}
