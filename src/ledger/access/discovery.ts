/**
 * Reads the metadata of a token provider from the locations where the issuer publishes it (OpenID Connect Discovery,
 * otherwise RFC 8414). The secret is sent only to endpoints in metadata of that issuer.
 */
import {
  allowInsecureRequests,
  ClientError,
  customFetch,
  type CustomFetch,
  discovery,
  None,
  type ServerMetadata,
} from 'openid-client';
import { otherIssuerIn } from '../errors/oauth-error.ts';

export interface DiscoveryOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly fetchIt: CustomFetch;
  /** Timeout of each request. */
  readonly timeoutSeconds: number;
}

/**
 * Requests the metadata from both locations.
 * @throws the library's error; if both requests fail, the error of the first location
 */
export async function discoverServer(options: DiscoveryOptions): Promise<ServerMetadata> {
  try {
    return await requestMetadata(options, options.issuer, 'oidc');
  } catch (thrown) {
    const correctedIssuer = issuerBarringSlash(thrown, options.issuer);
    if (correctedIssuer !== undefined) return await requestMetadata(options, correctedIssuer, 'oidc');
    if (!isNotFound(thrown)) throw thrown;
    return await requestMetadata(options, options.issuer, 'oauth2').catch(() => {
      throw thrown;
    });
  }
}

async function requestMetadata(
  { clientId, fetchIt: fetchProvider, timeoutSeconds: timeout }: DiscoveryOptions,
  issuer: string,
  algorithm: 'oidc' | 'oauth2',
): Promise<ServerMetadata> {
  // The library would refuse http even on loopback. This option disables that check. Our fetch function applies its own
  // rule to every request.
  const settings = { algorithm, timeout, execute: [allowInsecureRequests], [customFetch]: fetchProvider };
  const serverConfiguration = await discovery(new URL(issuer), clientId, {}, None(), settings);
  return serverConfiguration.serverMetadata();
}

/** The issuer in the spelling of the provider, if it differs from the configured issuer only in the final slash. */
function issuerBarringSlash(thrown: unknown, issuer: string): string | undefined {
  const issuerName = otherIssuerIn(thrown);
  return issuerName !== undefined && removeTrailingSlash(issuerName) === removeTrailingSlash(issuer)
    ? issuerName
    : undefined;
}

function removeTrailingSlash(url: string): string {
  return new URL(url).href.replace(/\/$/, '');
}

function isNotFound(thrown: unknown): boolean {
  return thrown instanceof ClientError && thrown.cause instanceof Response && thrown.cause.status === 404;
}
