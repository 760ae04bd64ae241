/** Rows of the table of identity providers: clients that sign an assertion instead of sending a secret. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parkedFailure, type ProviderRow } from './provider-row.ts';
import { registeredClient } from './providers.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const newerKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });

function pemOf({ privateKey }: { readonly privateKey: KeyObject }): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function clientOf({ publicKey }: { readonly publicKey: KeyObject }, kid?: string) {
  return { ...registeredClient, key: kid === undefined ? { publicKey } : { publicKey, kid } };
}

export const rowsOfKeys: readonly ProviderRow[] = [
  {
    provider: 'Requires `private_key_jwt` (Okta API services), no key set',
    indexer: 'Parks and reports the description; set `LEDGER_OAUTH_CLIENT_KEY_FILE`',
    behavior: {
      client: clientOf(rsa),
      metadata: { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
      first: ({ form: formParameters }) =>
        formParameters.has('client_assertion')
          ? undefined
          : {
              status: 401,
              body: { error: 'invalid_client', error_description: 'The client must use private_key_jwt' },
            },
    },
    expected: parkedFailure(/invalid_client \(The client must use private_key_jwt\)/u),
  },
  {
    provider: 'Requires `private_key_jwt` with the issuer as audience (FAPI 2.0)',
    indexer: 'Signs an assertion for the issuer',
    behavior: { client: clientOf(rsa), assertionAudience: 'issuer', spelled: (issuer) => `${issuer}/` },
    options: { key: pemOf(rsa) },
    expected: { requests: 1 },
  },
  {
    provider: 'Requires `private_key_jwt` with the token endpoint as audience (Okta)',
    indexer: 'Tries the issuer, then the endpoint, and keeps the endpoint',
    behavior: { client: clientOf(ec), assertionAudience: 'endpoint' },
    options: { key: pemOf(ec) },
    expected: {
      requests: 2,
      after: async ({ provider, source }) => {
        source.invalidate();
        await source.read();
        if (provider.tokenRequests.length !== 3) throw new Error('expected one request for the second token');
      },
    },
  },
  {
    provider: 'Finds the public key by `kid`, key as PEM',
    indexer: 'Sends `LEDGER_OAUTH_CLIENT_KEY_ID`',
    behavior: { client: clientOf(ec, 'indexer-1') },
    options: { key: pemOf(ec), keyId: 'indexer-1' },
    expected: { requests: 1 },
  },
  {
    provider: 'Finds the public key by `kid`, key as JWK',
    indexer: 'Sends the `kid` of the JWK',
    behavior: { client: clientOf(ec, 'indexer-2') },
    options: {
      key: JSON.stringify({ ...ec.privateKey.export({ format: 'jwk' }), kid: 'indexer-2' }),
      keyId: 'of-an-older-key',
    },
    expected: { requests: 1 },
  },
  {
    provider: 'Another public key is registered, endpoint as audience',
    indexer: 'Parks and reports the description until the key is registered',
    behavior: { client: clientOf(newerKey), assertionAudience: 'endpoint' },
    options: { key: pemOf(ec) },
    expected: parkedFailure(
      /invalid_client \(The client_assertion signature is invalid\.\)$/u,
      async ({ provider, source }) => {
        provider.client = clientOf(ec);
        await source.read();
      },
    ),
  },
  {
    provider: 'New public key, the old one refused',
    indexer: 'Reads `LEDGER_OAUTH_CLIENT_KEY_FILE` again for every token',
    behavior: { client: clientOf(ec) },
    options: { key: pemOf(ec) },
    expected: {
      requests: 1,
      after: async ({ provider, source, credentialFile }) => {
        writeFileSync(credentialFile, '');
        source.invalidate();
        await source.read();
        provider.client = clientOf(newerKey);
        source.invalidate();
        if ((await source.read().catch(() => undefined)) !== undefined) throw new Error('the old key was accepted');
        writeFileSync(credentialFile, pemOf(newerKey));
        await source.read();
      },
    },
  },
  {
    provider: 'Description that repeats the assertion',
    indexer: 'Parks; the assertion is removed',
    behavior: {
      client: clientOf(ec),
      first: ({ form: formParameters }) => ({
        status: 400,
        body: {
          error: 'invalid_client',
          error_description: `cannot read ${formParameters.get('client_assertion')} (JWT)`,
        },
      }),
    },
    options: { key: pemOf(ec) },
    expected: parkedFailure(/refused: invalid_client \(cannot read … \(JWT\)\)$/u),
  },
];
