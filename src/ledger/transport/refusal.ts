/** Facts of a refusing response in addition to its body: the requested delay, and visible flaws of the token. */
import type { IncomingHttpHeaders } from 'node:http';
import { withContext, type IndexerError } from '../../errors/indexer-error.ts';
import { errorFromBody } from '../errors/ledger-error.ts';
import { isUnknownEndpoint } from '../errors/ledger-error-body.ts';
import { retryAfterSeconds } from '../errors/retry-after.ts';
import { tokenFlaws } from '../access/token-claims.ts';

/** An HTTP response that is not a success. */
export interface Refusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed if it is JSON. */
  readonly body: unknown;
}

/** @param token the token that the request was sent with */
export function errorFromRefusal({ status, headers, body }: Refusal, token: string | undefined): IndexerError {
  const error = withTokenFlaws(errorFromBody(body, status), token);
  const seconds = retryAfterSeconds(status, headers);
  return seconds === undefined ? error : withContext(error, { facts: { retryAfterSeconds: seconds } });
}

/**
 * The same for a refused handshake. A gateway that is being reconfigured lacks the route for a moment, so its 404 is
 * retried. The 404 of a participant means that it has no such stream.
 */
export function errorFromHandshake(refusal: Refusal, token: string | undefined): IndexerError {
  const error = errorFromRefusal(refusal, token);
  const isGateway = refusal.status === 404 && error.code === 'LEDGER_NOT_A_LEDGER' && !isUnknownEndpoint(refusal.body);
  return isGateway ? withContext(error, { retry: 'retry' }) : error;
}

/** Adds visible flaws of the token if the ledger refused it, because the ledger gives no reason. */
export function withTokenFlaws(error: IndexerError, token: string | undefined): IndexerError {
  if (error.code !== 'LEDGER_UNAUTHENTICATED' || token === undefined) return error;
  const tokenProblems = tokenFlaws(token, Date.now() / 1000);
  return tokenProblems.length === 0
    ? error
    : withContext(error, { message: `${error.message}; the token itself ${tokenProblems.join(', and ')}` });
}
