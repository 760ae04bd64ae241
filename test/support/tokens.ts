/** Tokens for tests: signers of every algorithm that a participant accepts, and a server that publishes public keys. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import type { CryptoKey, JSONWebKeySet, JWK, JWTPayload } from 'jose';

export interface Signer {
  readonly algorithm: string;
  readonly key: CryptoKey | Uint8Array;
  /** The signer's entry in a JWKS; undefined for a shared secret. */
  readonly jwk: JWK | undefined;
}

/** Signs HS256 tokens with a shared secret. */
export function sharedSecret(secret: string): Signer {
  return { algorithm: 'HS256', key: new TextEncoder().encode(secret), jwk: undefined };
}

/** Creates a key pair. @param keyId the `kid` of its tokens and of its public key */
export async function keyPair(algorithm: 'RS256' | 'ES256' | 'ES512', keyId: string = algorithm): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm);
  const jwk = { ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm, use: 'sig' };
  return { algorithm, key: privateKey, jwk };
}

/** `exp` of a token that expires in this number of milliseconds. Fractions of seconds are allowed. */
export function expiresIn(milliseconds: number): number {
  return (Date.now() + milliseconds) / 1000;
}

/**
 * A token with `scope: daml_ledger_api`, `sub: alice` and a lifetime of one minute. The given claims replace these. A
 * claim that is undefined is omitted.
 */
export async function token(signer: Signer, claims: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const payload: JWTPayload = { sub: 'alice', scope: 'daml_ledger_api', exp: expiresIn(60_000), ...claims };
  const kid = signer.jwk?.kid;
  const header = { alg: signer.algorithm, ...(kid === undefined ? {} : { kid }) };
  return await new SignJWT(payload).setProtectedHeader(header).sign(signer.key);
}

/** The public keys of the signers as a JWKS. */
export function keySet(...signers: readonly Signer[]): JSONWebKeySet {
  return { keys: signers.map(({ jwk }) => jwk).filter((jwk) => jwk !== undefined) };
}

export interface JwksServer extends AsyncDisposable {
  readonly url: string;
  /** Number of requests for the keys. */
  requests(): number;
  /** Publishes only these keys. */
  publish(...signers: readonly Signer[]): void;
}

/** Serves public keys over HTTP on a free local port. */
export async function serveJwks(...signers: readonly Signer[]): Promise<JwksServer> {
  let keys = keySet(...signers);
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(keys));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    requests: () => requests,
    publish: (...otherKeys) => {
      keys = keySet(...otherKeys);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
