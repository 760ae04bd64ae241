/** What a token provider's failure means. Never the secret, and nothing of an answer but its OAuth error code and description. */
import { ClientError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { IndexerError } from '../../errors/indexer-error.ts';
import { escapeSteering } from '../../visible-text.ts';
import { ledgerError } from './make-ledger-error.ts';

/** RFC 6749 §5.2 and RFC 8707: the answers that the same request gets again, until a person changes something. */
const refusals: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
  'invalid_target',
  'invalid_request',
  'invalid_grant',
  'unsupported_grant_type',
  'access_denied',
]);

function refused(reason: string, host: string, httpStatus: number, description = ''): IndexerError {
  return ledgerError('LEDGER_TOKEN_REFUSED', `the token provider ${host} refused: ${reason}${description}`, {
    facts: { host, oauthError: reason, httpStatus },
  });
}

/** In brackets, without control characters. A word as long as secrets and tokens are is left out, and so is the secret. */
function described(description: string | undefined, secret: string): string {
  if (description === undefined || description === '') return '';
  const secrets = secret === '' ? [] : [secret, encodeURIComponent(secret)];
  const hidden = secrets.reduce((text, each) => text.replaceAll(each, '…'), description);
  return ` (${escapeSteering(hidden.replaceAll(/[^\s:=,;"']{24,}/gu, '…').slice(0, 300))})`;
}

function unavailable(what: string, host: string, facts: Readonly<Record<string, string | number>> = {}): IndexerError {
  return ledgerError('LEDGER_TOKEN_PROVIDER_UNAVAILABLE', `the token provider ${host} ${what}`, {
    facts: { host, ...facts },
  });
}

/** The error, its cause, the cause of that, and so on. */
function chainOf(thrown: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let link = thrown; link !== undefined && chain.length < 8;) {
    chain.push(link);
    link = link instanceof AggregateError ? link.errors[0] : link instanceof Error ? link.cause : undefined;
  }
  return chain;
}

/** `ECONNREFUSED`, `CERT_HAS_EXPIRED` and the like; undefined when it was not the network. */
function errnoIn(chain: readonly unknown[]): string | undefined {
  for (const link of chain) {
    if (!(link instanceof Error) || !('code' in link) || typeof link.code !== 'string') continue;
    if (!link.code.startsWith('OAUTH_')) return link.code;
  }
  return undefined;
}

function statusIn(chain: readonly unknown[]): number | undefined {
  return chain.find((link): link is Response => link instanceof Response)?.status;
}

function isTimeout(chain: readonly unknown[]): boolean {
  return chain.some((link) => link instanceof Error && link.name === 'TimeoutError');
}

function errorFromClient(error: ClientError, chain: readonly unknown[], host: string): IndexerError {
  const httpStatus = statusIn(chain);
  const code = error.code ?? 'unknown';
  // 200 with a page instead of JSON is a login page or a portal in between.
  if (httpStatus === 200) return unavailable('answered with something that is not a token answer', host, { code });
  if (httpStatus !== undefined) return unavailable(`answered HTTP ${httpStatus}`, host, { httpStatus });
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') {
    return unavailable('describes itself as another issuer', host, { code });
  }
  return unavailable('answered with something that is not a token answer', host, { code });
}

/**
 * Classifies what asking for a token threw.
 * @param host of the provider, with its port; for the message
 * @param secret of the client, which the provider may repeat
 */
export function errorFromProvider(thrown: unknown, host: string, secret: string): IndexerError {
  const chain = chainOf(thrown);
  const own = chain.find((link): link is IndexerError => link instanceof IndexerError);
  if (own !== undefined) return own;
  if (thrown instanceof ResponseBodyError) {
    const reason = /^[\w-]{1,60}$/u.test(thrown.error) ? thrown.error : 'an error without a code';
    const description = described(thrown.error_description, secret);
    if (refusals.has(reason)) return refused(reason, host, thrown.status, description);
    return unavailable(`answered HTTP ${thrown.status}: ${reason}${description}`, host, { httpStatus: thrown.status });
  }
  // A challenge at the token endpoint asks for other client credentials; its error code is optional.
  if (thrown instanceof WWWAuthenticateChallengeError && thrown.status === 401) {
    return refused('invalid_client', host, thrown.status);
  }
  if (isTimeout(chain)) return unavailable('did not answer in time', host);
  const errno = errnoIn(chain);
  if (errno !== undefined) return unavailable(`cannot be reached: ${errno}`, host, { errno });
  if (thrown instanceof ClientError) return errorFromClient(thrown, chain, host);
  return unavailable('cannot be asked', host);
}
