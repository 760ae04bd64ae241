/** Detects an access token that is newer than the token that a running stream was opened with. */
import { pause } from '../../config/pause.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { AccessToken } from '../../ledger/access/token.ts';
import type { PipelineParts } from '../ports/parts.ts';

/** Longest single pause, because a timer cannot be set for more than 24 days. */
const longestPauseMs = 3_600_000;
const shortestPauseMs = 20;
/**
 * Interval of token requests when none succeeds. The stream continues without a valid token until the ledger ends it.
 */
const renewalRetryMs = 5_000;

async function pauseUntil(at: number, signal: AbortSignal): Promise<void> {
  await pause(Math.min(longestPauseMs, Math.max(shortestPauseMs, at - performance.now())), signal);
}

/**
 * Resolves to true when there is a newer token, and to false when `signal` is aborted or no newer token is available.
 * Requests the token when it is due. Never rejects.
 * @param reportFailure called with each failed attempt; by default it reports to the observer
 */
export async function newerToken(
  parts: PipelineParts,
  currentToken: AccessToken | undefined,
  signal: AbortSignal,
  reportFailure: typeof reportRenewalFailure = reportRenewalFailure,
): Promise<boolean> {
  let { renewAt } = currentToken ?? {};
  while (renewAt !== undefined && !signal.aborted) {
    await pauseUntil(renewAt, signal);
    if (signal.aborted) break;
    if (performance.now() < renewAt) continue;
    try {
      const newest = await parts.tokenSource.lease();
      if (newest?.token !== currentToken?.token) return !signal.aborted;
      renewAt = newest?.renewAt;
      if (newest?.problem !== undefined) reportFailure(parts, newest.problem, renewAt);
    } catch (thrown) {
      renewAt = performance.now() + renewalRetryMs;
      reportFailure(parts, thrown, renewAt);
    }
  }
  return false;
}

/**
 * Resolves to true if there is a different token now. Resolves to false if `signal` is aborted in the meantime. Never
 * rejects.
 */
export async function hasNewerToken(
  { tokenSource }: PipelineParts,
  currentToken: AccessToken | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const newest = await tokenSource.lease().catch(() => currentToken);
  return newest?.token !== currentToken?.token && !signal.aborted;
}

function reportRenewalFailure(parts: PipelineParts, thrown: unknown, nextAt: number | undefined): void {
  const delayMs = nextAt === undefined ? undefined : Math.round(Math.max(0, nextAt - performance.now()));
  if (!parts.stop.aborted) parts.observers.stream.failed('ledger', toIndexerError(thrown), delayMs);
}
