/**
 * Classifies failures of a token provider. The errors never contain the secret. Of a response they contain only its
 * OAuth error code and description.
 */
import { ClientError, ResponseBodyError } from 'openid-client';
import { IndexerError } from '../../errors/indexer-error.ts';
import { escapeSteering, filterHidden } from '../../errors/visible-text.ts';
import { isObject } from '../frames/field.ts';
import { ledgerError } from './make-ledger-error.ts';
import { retryAfterSeconds } from './retry-after.ts';

/** RFC 6749 §5.2 and RFC 8707: errors that the same request will get again until an operator changes something. */
const refusalCodes: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
  'invalid_target',
  'invalid_request',
  'invalid_grant',
  'unsupported_grant_type',
  'access_denied',
]);

/** Statuses of a busy provider, whatever error code its response has. */
const busy: ReadonlySet<number> = new Set([408, 425, 429]);

function tokenRefusedError(reason: string, host: string, httpStatus: number, description = ''): IndexerError {
  return ledgerError('LEDGER_TOKEN_REFUSED', `the token provider ${host} refused: ${reason}${description}`, {
    facts: { host, oauthError: reason, httpStatus },
  });
}

/**
 * The description in parentheses, without control characters, without the secret, and without words as long as secrets
 * and tokens are.
 */
function describeSafely(description: string | undefined, secrets: readonly string[]): string {
  if (description === undefined || description === '') return '';
  const removeSecrets = (text: string): string =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text).replaceAll(/[^\s:=,;"']{24,}/gu, '…');
  return ` (${escapeSteering(filterHidden(description, removeSecrets).slice(0, 300))})`;
}

/** The error code, unless it is not one that a provider would define. */
function reasonOf(error: string, secrets: readonly string[]): string {
  const isCode = /^[\w-]{1,60}$/u.test(error) && !secrets.some((secret) => error.includes(secret));
  return isCode ? error : 'an error without a code';
}

function providerUnavailableError(
  problem: string,
  host: string,
  facts: Readonly<Record<string, string | number>> = {},
): IndexerError {
  return ledgerError('LEDGER_TOKEN_PROVIDER_UNAVAILABLE', `the token provider ${host} ${problem}`, {
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

/** `ECONNREFUSED`, `CERT_HAS_EXPIRED` and similar codes; undefined if the network was not the cause. */
function errnoIn(chain: readonly unknown[]): string | undefined {
  for (const link of chain) {
    if (!(link instanceof Error) || !('code' in link) || typeof link.code !== 'string') continue;
    if (!link.code.startsWith('OAUTH_')) return link.code;
  }
  return undefined;
}

function findResponse(chain: readonly unknown[]): Response | undefined {
  return chain.find((link): link is Response => link instanceof Response);
}

/** The requested delay as a fact; empty if none was requested. */
function retryAfterOf({ status, headers }: Response): { retryAfterSeconds?: number } {
  const delayHeaders = {
    'retry-after': headers.get('retry-after') ?? undefined,
    date: headers.get('date') ?? undefined,
  };
  const seconds = retryAfterSeconds(status, delayHeaders);
  return seconds === undefined ? {} : { retryAfterSeconds: seconds };
}

/** The target of a redirect, without its query; the redirect is not followed. */
function redirectOf({ status, headers }: Response): string {
  const location = headers.get('location') ?? '';
  if (status < 300 || status > 399 || !URL.canParse(location, 'http://same.invalid')) return '';
  const { origin, pathname } = new URL(location, 'http://same.invalid');
  return `, a redirect to ${quoteText(origin === 'http://same.invalid' ? pathname : `${origin}${pathname}`)}`;
}

function quoteText(text: string): string {
  return escapeSteering(text.slice(0, 200));
}

/** The issuer that the provider names in its metadata, if it is not the requested one. */
export function otherIssuerIn(thrown: unknown): string | undefined {
  if (!(thrown instanceof ClientError) || thrown.code !== 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') return undefined;
  const body = isObject(thrown.cause) ? thrown.cause['body'] : undefined;
  const issuer = isObject(body) ? body['issuer'] : undefined;
  return typeof issuer === 'string' && URL.canParse(issuer) ? issuer : undefined;
}

function isTimeout(chain: readonly unknown[]): boolean {
  return chain.some((link) => link instanceof Error && link.name === 'TimeoutError');
}

function errorFromClient(error: ClientError, chain: readonly unknown[], host: string): IndexerError {
  const response = findResponse(chain);
  const code = error.code ?? 'unknown';
  if (response !== undefined && response.status !== 200) {
    const facts = { httpStatus: response.status, ...retryAfterOf(response) };
    return providerUnavailableError(`returned HTTP ${response.status}${redirectOf(response)}`, host, facts);
  }
  const issuer = otherIssuerIn(error);
  if (issuer !== undefined)
    return providerUnavailableError(`describes itself as another issuer: ${quoteText(issuer)}`, host, { code });
  // Status 200 with a web page instead of JSON is a login page or a portal in between.
  return providerUnavailableError('returned something that is not a token response', host, { code });
}

function errorFromBody(error: ResponseBodyError, host: string, secrets: readonly string[]): IndexerError {
  const { status, response } = error;
  const reason = reasonOf(error.error, secrets);
  const description = describeSafely(error.error_description, secrets);
  if (refusalCodes.has(reason) && !busy.has(status)) return tokenRefusedError(reason, host, status, description);
  const facts = { httpStatus: status, ...retryAfterOf(response) };
  return providerUnavailableError(`returned HTTP ${status}: ${reason}${description}`, host, facts);
}

/**
 * Classifies the error of a token request.
 * @param host of the provider, with its port; for the message
 * @param secrets of the client, in every form that the provider may repeat
 */
export function errorFromProvider(thrown: unknown, host: string, secrets: readonly string[]): IndexerError {
  const chain = chainOf(thrown);
  const indexerError = chain.find((link): link is IndexerError => link instanceof IndexerError);
  if (indexerError !== undefined) return indexerError;
  if (thrown instanceof ResponseBodyError) return errorFromBody(thrown, host, secrets);
  if (isTimeout(chain)) return providerUnavailableError('did not respond in time', host);
  const errno = errnoIn(chain);
  if (errno !== undefined) return providerUnavailableError(`cannot be reached: ${errno}`, host, { errno });
  if (thrown instanceof ClientError) return errorFromClient(thrown, chain, host);
  return providerUnavailableError('could not be queried', host);
}
