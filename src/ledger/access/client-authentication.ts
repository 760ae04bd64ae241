/**
 * Methods by which a client authenticates to a token endpoint. A provider lists all methods that its clients may use,
 * but accepts from each client only the method for which the client is registered. Providers also differ in how they
 * decode HTTP Basic, and in which audience an assertion must have.
 */
import { type ClientAuth, ClientSecretPost, modifyAssertion, PrivateKeyJwt, type ServerMetadata } from 'openid-client';
import type { ClientKey } from './client-key.ts';

/**
 * `raw` is Basic without the encoding of RFC 6749 §2.3.1, because some servers do not decode the credentials. `issuer`
 * and `endpoint` are assertions signed with the client's key (RFC 7523) whose audience is the issuer or the endpoint.
 */
export type AuthMethod = 'basic' | 'post' | 'raw' | 'issuer' | 'endpoint';

interface SecretClient {
  readonly id: string;
  readonly secret: string;
}

interface KeyClient {
  readonly id: string;
  readonly key: ClientKey;
}

export type ClientCredentials = SecretClient | KeyClient;

/** The methods in the order in which they are tried. */
export function authMethods(client: ClientCredentials, server: ServerMetadata): AuthMethod[] {
  // Okta accepts only the endpoint as the audience, and FAPI 2.0 only the issuer. One assertion must not have several
  // audiences.
  if ('key' in client) return server.issuer === server.token_endpoint ? ['issuer'] : ['issuer', 'endpoint'];
  return secretMethods(client, server.token_endpoint_auth_methods_supported);
}

/**
 * Every provider has to support Basic (RFC 6749 §2.3.1). Therefore Basic comes first, unless the provider lists only
 * the form.
 */
function secretMethods(client: SecretClient, supportedMethods: readonly string[] | undefined): AuthMethod[] {
  const isPostOnly =
    supportedMethods?.includes('client_secret_basic') === false && supportedMethods.includes('client_secret_post');
  const methods: AuthMethod[] = isPostOnly ? ['post', 'basic'] : ['basic', 'post'];
  // The first colon ends the id. An id that contains a colon can therefore be sent only with the encoding.
  const isEncoded = basicCredentials(client, 'raw') !== basicCredentials(client, 'basic');
  return isEncoded && !client.id.includes(':') ? [...methods, 'raw'] : methods;
}

/** Adds the client's credentials to a request. */
export function clientAuth(client: ClientCredentials, method: AuthMethod): ClientAuth {
  if ('key' in client) return assertionAuth(client.key, method);
  if (method === 'post') return ClientSecretPost(client.secret);
  return (_server, _metadata, _body, headers) => {
    headers.set('authorization', `Basic ${basicCredentials(client, method)}`);
  };
}

function assertionAuth({ key, kid, alg }: ClientKey, method: AuthMethod): ClientAuth {
  const signer = kid === undefined ? { key } : { key, kid };
  return (server, ...request) =>
    PrivateKeyJwt(signer, {
      [modifyAssertion]: (header, payload) => {
        // The library always uses the newer name of an Ed25519 algorithm.
        header['alg'] = alg;
        // By default, the library sets the issuer as the audience.
        if (method === 'endpoint') payload['aud'] = server.token_endpoint;
      },
    })(server, ...request);
}

/**
 * Every form in which a request carries the secret, longest first; used to remove it from text that a provider repeats.
 * Keys are never sent. Assertions need not be removed, because they are longer than any word of such text that is kept.
 */
export function secretForms(client: ClientCredentials): readonly string[] {
  if ('key' in client || client.secret === '') return [];
  const { secret } = client;
  const forms = [basicCredentials(client, 'basic'), basicCredentials(client, 'raw'), secret, formEncoded(secret)];
  return [...new Set([...forms, encodeURIComponent(secret)])].sort((a, b) => b.length - a.length);
}

function basicCredentials({ id, secret }: SecretClient, method: AuthMethod): string {
  const [name, password] = method === 'raw' ? [id, secret] : [formEncoded(id), formEncoded(secret)];
  return Buffer.from(`${name}:${password}`, 'utf8').toString('base64');
}

/**
 * `application/x-www-form-urlencoded`, which leaves `*-._` unescaped. The library would escape these characters too,
 * but a server that does not decode the credentials needs them unescaped.
 */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
