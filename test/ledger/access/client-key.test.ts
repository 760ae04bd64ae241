/** Key files of OAuth clients. Node verifies the assertion that each kind of key signs. Errors name unusable kinds. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { clientAuth } from '../../../src/ledger/access/client-authentication.ts';
import { type ClientKey, readClientKey } from '../../../src/ledger/access/client-key.ts';
import { openAccess } from '../../../src/ledger/open-access.ts';
import { secretFile } from '../../support/secret-file.ts';
import { assertionFlaw } from './assertions.ts';

interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = (namedCurve: string): Pair => generateKeyPairSync('ec', { namedCurve });
const ed25519 = generateKeyPairSync('ed25519');

type Form = 'pkcs1' | 'pkcs8' | 'sec1';

function pem({ privateKey }: Pair, type: Form = 'pkcs8', encryption: object = {}): string {
  return privateKey.export({ type, format: 'pem', ...encryption }).toString();
}

function jwk({ privateKey }: Pair, overrides: object = {}): string {
  return JSON.stringify({ ...privateKey.export({ format: 'jwk' }), ...overrides });
}

const server = { issuer: 'https://id.example', token_endpoint: 'https://id.example/token' };

async function formOf(key: ClientKey): Promise<URLSearchParams> {
  const formParameters = new URLSearchParams();
  const auth = clientAuth({ id: 'indexer', key }, 'issuer');
  // The library awaits the result, although its type declares none.
  await (auth(server, { client_id: 'indexer' }, formParameters, new Headers()) as unknown as Promise<void>);
  return formParameters;
}

const p256 = ec('P-256');
const p384 = ec('P-384');
const p521 = ec('P-521');

describe('readClientKey()', () => {
  it.each([
    ['RSA, PKCS#8', rsa, pem(rsa), 'RS256', 'by-option'],
    ['RSA, PKCS#1', rsa, pem(rsa, 'pkcs1'), 'RS256', 'by-option'],
    ['P-256, SEC1', p256, pem(p256, 'sec1'), 'ES256', 'by-option'],
    ['P-384, PKCS#8', p384, pem(p384), 'ES384', 'by-option'],
    ['P-521, PKCS#8', p521, pem(p521), 'ES512', 'by-option'],
    ['Ed25519, PKCS#8', ed25519, pem(ed25519), 'EdDSA', 'by-option'],
    ['RSA after a certificate', rsa, `${certificate()}${pem(rsa)}`, 'RS256', 'by-option'],
    ['RSA, JWK', rsa, jwk(rsa), 'RS256', 'by-option'],
    ['RSA, JWK with alg and kid', rsa, jwk(rsa, { alg: 'PS256', kid: 'own' }), 'PS256', 'own'],
    ['RSA, JWK with another hash', rsa, jwk(rsa, { alg: 'PS512' }), 'PS512', 'by-option'],
    ['P-256, JWK', p256, jwk(p256, { alg: 'ES256' }), 'ES256', 'by-option'],
    ['Ed25519, JWK', ed25519, jwk(ed25519, { alg: 'Ed25519' }), 'Ed25519', 'by-option'],
  ])('reads a key that signs assertions: %s', async (_name, { publicKey }, text, alg, kid) => {
    const key = await readClientKey(secretFile(text), 'by-option');
    expect(key).toMatchObject({ alg, kid });
    expect(key.key.extractable).toBe(false);
    const formParameters = await formOf(key);
    const rules = { clientId: 'indexer', audiences: [server.issuer], usedIds: new Set<string>() };
    expect(assertionFlaw(formParameters, { publicKey, kid }, rules)).toBeUndefined();
    const [header = ''] = formParameters.get('client_assertion')?.split('.') ?? [];
    expect(JSON.parse(Buffer.from(header, 'base64url').toString('utf8'))).toEqual({ alg, kid });
  });

  it('returns a version that depends on the file content, and no kid by default', async () => {
    const [first, sameAssertion, otherAssertion] = await Promise.all(
      [pem(rsa), pem(rsa), jwk(rsa)].map(async (text) => await readClientKey(secretFile(text), undefined)),
    );
    expect(first?.kid).toBeUndefined();
    expect(first?.version).toBe(sameAssertion?.version);
    expect(first?.version).not.toBe(otherAssertion?.version);
  });
});

function certificate(): string {
  return readFileSync(join(import.meta.dirname, '../../support/certificates/server.pem'), 'utf8');
}

const passphrase = { cipher: 'aes-256-cbc', passphrase: 'canary' };
const publicPem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const publicJwk = JSON.stringify(rsa.publicKey.export({ format: 'jwk' }));
const smallKey = generateKeyPairSync('rsa', { modulusLength: 1024 });
const opensshPem = '-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n-----END OPENSSH PRIVATE KEY-----';
const damagedPem = '-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----';

describe('readClientKey() with an invalid file', () => {
  it.each([
    ['an encrypted key', pem(rsa, 'pkcs8', passphrase)],
    ['an encrypted key', pem(rsa, 'pkcs1', passphrase)],
    ['a public key', publicPem],
    ['a public key', publicJwk],
    ['a certificate', certificate()],
    ['an RSA key of 1024 bits', pem(smallKey)],
    ['an RSA key of 1024 bits', jwk(smallKey)],
    ['a key of type secp256k1', pem(ec('secp256k1'))],
    ['a key of type x25519', pem(generateKeyPairSync('x25519'))],
    ['a key of type rsa-pss', pem(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }))],
    ['a key in the form of OpenSSH', opensshPem],
    ['a damaged private key', damagedPem],
    ['a damaged private key', '{"kty":"EC","crv":"P-256","d":"canary","x":"AA","y":"AA"}'],
    ['a set of keys', `{"keys":[${jwk(rsa)}]}`],
    ['a shared secret', '{"kty":"oct","k":"canary"}'],
    ['JSON without `kty`', '{"type":"service_account","private_key":"canary"}'],
    ['a JWK whose `alg` does not fit its key', jwk(rsa, { alg: 'ES256' })],
    ['nothing', ''],
    ['other text', 'canary-client-secret'],
  ])('reports that the file contains %s, without printing the contents', async (problem, text) => {
    const failure = await failureOf(secretFile(text));
    expect(failure.message).toMatch(
      /^LEDGER_OAUTH_CLIENT_KEY_FILE: expected an unencrypted private key as PEM or JWK:/u,
    );
    expect(failure.message).toContain(`; found ${problem} in /`);
    expect(`${failure.message} ${failure.stack ?? ''}`).not.toMatch(/canary|Y2FuYXJ5|MII/u);
  });

  it('makes openAccess() fail', async () => {
    const { ledger } = loadConfig({
      LEDGER_OAUTH_TOKEN_URL: 'https://id.example/token',
      LEDGER_OAUTH_CLIENT_ID: 'indexer',
      LEDGER_OAUTH_CLIENT_KEY_FILE: secretFile(publicPem),
    });
    await expect(openAccess(ledger, new AbortController().signal)).rejects.toThrow('found a public key in');
  });

  it('reports ENOENT if the file is missing', async () => {
    const path = secretFile(pem(rsa));
    rmSync(path);
    expect((await failureOf(path)).message).toBe(`LEDGER_OAUTH_CLIENT_KEY_FILE: cannot read ${path} (ENOENT)`);
  });
});

async function failureOf(path: string): Promise<IndexerError> {
  const caughtError: unknown = await readClientKey(path, undefined).catch((error: unknown) => error);
  if (!(caughtError instanceof IndexerError)) throw new Error(`expected an IndexerError, found ${String(caughtError)}`);
  expect(caughtError).toMatchObject({ code: 'CONFIGURATION_INVALID', exitCode: 78, retry: 'fatal' });
  expect(caughtError.cause).toBeUndefined();
  return caughtError;
}
