/** Tokens for tests: signers of every algorithm a participant takes, and a server that publishes public keys. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import type { CryptoKey, JSONWebKeySet, JWK, JWTPayload } from 'jose';

export interface Signer {
  readonly algorithm: string;
  readonly key: CryptoKey | Uint8Array;
  /** Its entry in a JWKS; undefined for a shared secret. */
  readonly jwk: JWK | undefined;
}

/** Signs HS256 tokens with a shared secret. */
export function sharedSecret(secret: string): Signer {
  return { algorithm: 'HS256', key: new TextEncoder().encode(secret), jwk: undefined };
}

/** A new key pair. @param keyId the `kid` of its tokens and of its public key */
export async function keyPair(algorithm: 'RS256' | 'ES256' | 'ES512', keyId: string = algorithm): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm);
  const jwk = { ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm, use: 'sig' };
  return { algorithm, key: privateKey, jwk };
}

/** `exp` of a token that expires in so many milliseconds; fractions of seconds are legal there. */
export function endsIn(milliseconds: number): number {
  return (Date.now() + milliseconds) / 1000;
}

/**
 * A token with `scope: daml_ledger_api`, `sub: alice` and one minute to live; claims given replace these, and one that
 * is undefined is left out.
 */
export async function token(signer: Signer, claims: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const payload: JWTPayload = { sub: 'alice', scope: 'daml_ledger_api', exp: endsIn(60_000), ...claims };
  const kid = signer.jwk?.kid;
  const header = { alg: signer.algorithm, ...(kid === undefined ? {} : { kid }) };
  return await new SignJWT(payload).setProtectedHeader(header).sign(signer.key);
}

/** The public halves of key pairs. */
export function keySet(...signers: readonly Signer[]): JSONWebKeySet {
  return { keys: signers.map(({ jwk }) => jwk).filter((jwk) => jwk !== undefined) };
}

export interface JwksServer extends AsyncDisposable {
  readonly url: string;
  /** How often the keys were fetched. */
  requests(): number;
  /** Publishes these keys and no others. */
  publish(...signers: readonly Signer[]): void;
}

/** Serves the public keys over HTTP, on a free port of this machine. */
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
    publish: (...others) => {
      keys = keySet(...others);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
