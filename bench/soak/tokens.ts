/** The identity provider of the soak: an OAuth token endpoint on this machine whose tokens live for a minute. */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { onExit, type CleanupStep } from '../cleanup.ts';

/** The user of the tokens, and the secret that the ledger checks them with. */
export const ledgerUser = 'soak';
export const ledgerSecret = 'soak-shared-secret-of-the-sandbox-ledger';
const clientSecret = 'soak-client-secret';
const lifetimeSeconds = 60;

export function newToken(): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1_000) + lifetimeSeconds;
  const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ sub: ledgerUser, scope: 'daml_ledger_api', exp })}`;
  return `${content}.${createHmac('sha256', ledgerSecret).update(content).digest('base64url')}`;
}

export interface TokenServer {
  /** Variables of the indexer. */
  readonly env: Readonly<Record<string, string>>;
  /** Number of tokens that the indexer has obtained. */
  issued(): number;
  readonly stop: CleanupStep;
}

export async function startTokenServer(port: number): Promise<TokenServer> {
  let issued = 0;
  const server = createServer((request, response) => {
    request.resume();
    issued += 1;
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ access_token: newToken(), token_type: 'Bearer', expires_in: lifetimeSeconds }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const stop = onExit(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    env: {
      LEDGER_OAUTH_TOKEN_URL: `http://127.0.0.1:${String(port)}/token`,
      LEDGER_OAUTH_CLIENT_ID: 'soak',
      LEDGER_OAUTH_CLIENT_SECRET: clientSecret,
    },
    issued: () => issued,
    stop,
  };
}
