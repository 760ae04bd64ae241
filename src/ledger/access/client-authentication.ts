/**
 * Methods by which a client proves its secret to a token endpoint. A provider lists the methods that some of its
 * clients use, and accepts from each client only the one it is registered for. Providers differ in how they read HTTP
 * Basic.
 */
import { type ClientAuth, ClientSecretPost } from 'openid-client';

/** `raw` is Basic without the encoding of RFC 6749 §2.3.1, which some servers compare without decoding it. */
export type AuthMethod = 'basic' | 'post' | 'raw';

export interface ClientCredentials {
  readonly id: string;
  readonly secret: string;
}

/**
 * The methods in the order in which to try them. Every provider has to support Basic (RFC 6749 §2.3.1), so Basic is
 * first, unless the provider lists only the form.
 */
export function authMethods(client: ClientCredentials, supported: readonly string[] | undefined): AuthMethod[] {
  const onlyPost = supported?.includes('client_secret_basic') === false && supported.includes('client_secret_post');
  const methods: AuthMethod[] = onlyPost ? ['post', 'basic'] : ['basic', 'post'];
  // The first colon ends the id, so an id that contains a colon cannot be sent without the encoding.
  const isEncoded = credentialsOf(client, 'raw') !== credentialsOf(client, 'basic');
  return isEncoded && !client.id.includes(':') ? [...methods, 'raw'] : methods;
}

export function clientAuth(client: ClientCredentials, method: AuthMethod): ClientAuth {
  if (method === 'post') return ClientSecretPost(client.secret);
  return (_server, _metadata, _body, headers) => {
    headers.set('authorization', `Basic ${credentialsOf(client, method)}`);
  };
}

/**
 * Every form in which a request carries the secret, longest first. Used to remove the secret from text that a provider
 * repeats.
 */
export function secretForms(client: ClientCredentials): readonly string[] {
  const { secret } = client;
  if (secret === '') return [];
  const forms = [credentialsOf(client, 'basic'), credentialsOf(client, 'raw'), secret, formEncoded(secret)];
  return [...new Set([...forms, encodeURIComponent(secret)])].sort((a, b) => b.length - a.length);
}

function credentialsOf({ id, secret }: ClientCredentials, method: 'basic' | 'raw'): string {
  const [name, password] = method === 'raw' ? [id, secret] : [formEncoded(id), formEncoded(secret)];
  return Buffer.from(`${name}:${password}`, 'utf8').toString('base64');
}

/**
 * `application/x-www-form-urlencoded`, which leaves `*-._` unescaped. The library escapes these too, but a server that
 * does not decode needs them unescaped.
 */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
