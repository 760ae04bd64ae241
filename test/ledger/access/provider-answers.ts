/** Rows of the table of identity providers: fields of responses, clocks, rotation, and errors. */
import { writeFileSync } from 'node:fs';
import { errorFromRefusal } from '../../../src/ledger/transport/refusal.ts';
import { parkedFailure, type ProviderRow, retries, type RowRun } from './provider-row.ts';
import { registeredClient, type Answer } from './providers.ts';

const json = { 'content-type': 'application/json' };
const page = { 'content-type': 'text/html' };

/** A response with a token, in which the given fields are replaced. */
function granting(changes: Readonly<Record<string, unknown>>): (token: string) => Answer {
  return (token) => ({ body: { access_token: token, token_type: 'Bearer', expires_in: 300, ...changes } });
}

/** Expects this error message after the participant has rejected the token. */
async function expectExplanation({ source }: RowRun, expected: RegExp): Promise<void> {
  const refusal = { status: 401, headers: {}, body: { code: 'NA', grpcCodeValue: 16 } };
  const { message } = errorFromRefusal(refusal, await source.read());
  if (!expected.test(message)) throw new Error(`expected ${String(expected)}, got: ${message}`);
}

const fieldRows: readonly ProviderRow[] = [
  {
    provider: 'No `expires_in`, or `null`',
    indexer: 'Takes the life from the token (`exp` − `iat`)',
    behavior: {
      grants: granting({ expires_in: null }),
      claims: (claims) => ({ ...claims, exp: Number(claims['iat']) + 120 }),
    },
    expected: { requests: 1, lifeSeconds: 120 },
  },
  {
    provider: '`expires_in` as text, empty `refresh_token` (Entra v1)',
    indexer: 'Reads the number, ignores the rest',
    behavior: { grants: granting({ expires_in: '3599', refresh_token: '', scope: ['a'] }) },
    expected: { requests: 1, lifeSeconds: 3599 },
  },
  {
    provider: 'An id token in addition (scope `openid`)',
    indexer: 'Ignores it',
    behavior: { grants: granting({ id_token: 'e30.e30.c2ln' }) },
    expected: { requests: 1 },
  },
  {
    provider: 'No `token_type`',
    indexer: 'Assumes Bearer',
    behavior: { grants: granting({ token_type: undefined }) },
    expected: { requests: 1 },
  },
  {
    provider: '`token_type` `bearer` in lower case',
    indexer: 'Accepts it',
    behavior: { grants: granting({ token_type: 'bearer' }) },
    expected: { requests: 1 },
  },
  {
    provider: 'Opaque token without a lifetime (default of Hydra, Authelia, Zitadel)',
    indexer: 'Uses it; if the participant refuses it, reports that it is not a JWT',
    behavior: { token: () => 'ory_at_Hx3k9', grants: granting({ expires_in: undefined }) },
    expected: {
      requests: 1,
      lifeSeconds: 'unknown',
      after: (run) => expectExplanation(run, /the token itself is not a JWT, which participants require/u),
    },
  },
  {
    provider: 'Empty `access_token`',
    indexer: 'Retries',
    behavior: { token: () => '' },
    expected: retries(/not a token response/u),
  },
  {
    provider: 'Response of 2 MiB',
    indexer: 'Retries; stops reading at 1 MiB',
    behavior: { grants: (token) => ({ headers: json, body: `${' '.repeat(2 ** 21)}{"access_token":"${token}"}` }) },
    expected: retries(/not a token response/u),
  },
  {
    provider: 'JSON with charset and byte order mark, or of another content type',
    indexer: 'Reads it',
    behavior: {
      grants: (token) => ({
        headers: { 'content-type': 'text/json; charset=utf-8' },
        body: `\u{FEFF}${JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 300 })}`,
      }),
    },
    expected: { requests: 1, lifeSeconds: 300 },
  },
  {
    provider: 'Login page with 200',
    indexer: 'Retries',
    behavior: { grants: () => ({ headers: page, body: '<html>sign in</html>' }) },
    expected: retries(/not a token response/u),
  },
  {
    provider: '200 with an `error`',
    indexer: 'Parks and reports it',
    behavior: { grants: () => ({ body: { error: 'invalid_scope', error_description: 'no such scope' } }) },
    expected: parkedFailure(/refused: invalid_scope \(no such scope\)/u),
  },
];

/** Whether a participant with the clock of this machine accepts the token. */
function isAccepted(token: string): boolean {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as { nbf: number };
  return claims.nbf <= Date.now() / 1000;
}

/**
 * Expects that the participant accepts one of the first three tokens, because the indexer parks after three rejections.
 */
async function acceptTokenInTime({ source }: RowRun): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    if (isAccepted((await source.read()) ?? '')) return;
    source.invalidate();
  }
  throw new Error('the participant refused three tokens');
}

const clockRows: readonly ProviderRow[] = [
  {
    provider: 'Clock 1 s ahead of the participant',
    indexer: 'Keeps the next token back for 2 s',
    behavior: { ahead: 1 },
    expected: { requests: 1, after: acceptTokenInTime },
  },
  {
    provider: 'Clock 3 s ahead of the participant',
    indexer: 'Keeps tokens back for 2 s, then 5 s',
    behavior: { ahead: 3 },
    expected: { requests: 1, after: acceptTokenInTime },
  },
  {
    provider: 'Clock an hour ahead',
    indexer: 'Renews by `expires_in`; after a refusal reports that the clocks differ',
    behavior: { ahead: 3600 },
    expected: {
      requests: 1,
      lifeSeconds: 300,
      after: (run) => expectExplanation(run, /is not valid for another 60 minutes: the clocks .* differ/u),
    },
  },
  {
    provider: 'Clock an hour behind',
    indexer: 'Renews by `expires_in`; after a refusal reports that the token expired',
    behavior: { ahead: -3600 },
    expected: { requests: 1, lifeSeconds: 300, after: (run) => expectExplanation(run, /expired 55 minutes ago/u) },
  },
  {
    provider: '`iat` and `exp` with fractions',
    indexer: 'Reads them',
    behavior: {
      grants: granting({ expires_in: undefined }),
      claims: (claims) => ({ ...claims, iat: 1000.25, exp: 1120.75 }),
    },
    expected: { requests: 1, lifeSeconds: 120.5 },
  },
];

const rotationRows: readonly ProviderRow[] = [
  {
    provider: 'New signing key',
    indexer: 'Nothing: the participant checks signatures',
    behavior: { token: (number) => `e30.${Buffer.from(`{"kid":${number}}`).toString('base64url')}.c2ln` },
    expected: {
      requests: 1,
      after: async ({ source }) => {
        source.invalidate();
        await source.read();
      },
    },
  },
  {
    provider: 'New client secret, the old one refused',
    indexer: 'Reads `LEDGER_OAUTH_CLIENT_SECRET_FILE` again for every token',
    behavior: {},
    expected: {
      requests: 1,
      after: async ({ provider, source, credentialFile }) => {
        provider.client = { ...registeredClient, secret: 'canary-secret-new-91ab' };
        writeFileSync(credentialFile, '');
        source.invalidate();
        if ((await source.read().catch(() => undefined)) !== undefined) throw new Error('the old secret was accepted');
        writeFileSync(credentialFile, `${provider.client.secret}\n`);
        await source.read();
      },
    },
  },
  {
    provider: 'New client secret that not every node knows yet',
    indexer: 'Parks, and gets a token at the next attempt',
    behavior: {
      first: ({ number }) => (number <= 2 ? { status: 401, body: { error: 'invalid_client' } } : undefined),
    },
    expected: parkedFailure(/refused: invalid_client$/u, async ({ source }) => {
      await source.read();
    }),
  },
];

const errorDescription = `secret ${registeredClient.secret} of \r\n\u{1B}[2J ${Buffer.from(`${registeredClient.id}:${registeredClient.secret}`).toString('base64')}`;

const errorRows: readonly ProviderRow[] = [
  {
    provider: '400 `invalid_client` (Cognito), description with the secret and control characters',
    indexer: 'Parks; the secret is removed, control characters are escaped',
    behavior: {
      first: () => ({ status: 400, body: { error: 'invalid_client', error_description: errorDescription } }),
    },
    expected: parkedFailure(/invalid_client \(secret … of \\u000d\\u000a\\u001b\[2J …\)$/u),
  },
  {
    provider: '401 `invalid_client` with `WWW-Authenticate`',
    indexer: 'Parks and reports the description',
    behavior: {
      first: () => ({
        status: 401,
        headers: { 'www-authenticate': 'Basic realm="x"' },
        body: { error: 'invalid_client', error_description: 'Secret expired' },
      }),
    },
    expected: parkedFailure(/refused: invalid_client \(Secret expired\)$/u),
  },
  {
    provider: '401 with `WWW-Authenticate` and a page',
    indexer: 'Parks as `invalid_client`',
    behavior: {
      first: () => ({ status: 401, headers: { ...page, 'www-authenticate': 'Basic realm="x"' }, body: '<html>' }),
    },
    expected: parkedFailure(/refused: invalid_client$/u),
  },
  {
    provider: '`errorCode` and `errorSummary` instead of `error` (Okta)',
    indexer: 'Parks and reports both',
    behavior: {
      first: () => ({
        status: 400,
        body: { errorCode: 'invalid_client', errorSummary: "Invalid value for 'client_id' parameter." },
      }),
    },
    expected: parkedFailure(/invalid_client \(Invalid value for 'client_id' parameter\.\)$/u),
  },
  {
    provider: '400 `unauthorized_client`: the grant is not allowed',
    indexer: 'Parks and reports it',
    behavior: { refuses: () => ({ status: 400, body: { error: 'unauthorized_client' } }) },
    expected: parkedFailure(/refused: unauthorized_client$/u),
  },
  {
    provider: 'Error as JSON of another content type',
    indexer: 'Reads it',
    behavior: { refuses: () => ({ status: 400, headers: page, body: '{"error":"invalid_scope"}' }) },
    expected: parkedFailure(/refused: invalid_scope$/u),
  },
  {
    provider: 'Error code that repeats the secret, long description',
    indexer: 'Retries; neither is reported in full',
    behavior: {
      first: () => ({ status: 400, body: { error: registeredClient.secret, error_description: 'word '.repeat(1000) } }),
    },
    expected: retries(/returned HTTP 400: an error without a code \((?:word ){60}\)$/u),
  },
  {
    provider: '403 with a page (a firewall)',
    indexer: 'Retries',
    behavior: { first: () => ({ status: 403, headers: page, body: '<html>' }) },
    expected: retries(/returned HTTP 403$/u),
  },
  {
    provider: '403 with `WWW-Authenticate`',
    indexer: 'Retries',
    behavior: { first: () => ({ status: 403, headers: { 'www-authenticate': 'Bearer error="x"' } }) },
    expected: retries(/returned HTTP 403$/u),
  },
  {
    provider: '429 with `Retry-After`, whatever the error code',
    indexer: 'Retries after that time',
    behavior: { first: () => ({ status: 429, headers: { 'retry-after': '40' }, body: { error: 'access_denied' } }) },
    expected: retries(/returned HTTP 429: access_denied$/u, 40),
  },
  {
    provider: '503 `temporarily_unavailable` with `Retry-After`',
    indexer: 'Retries after that time',
    behavior: {
      first: () => ({ status: 503, headers: { 'retry-after': '7' }, body: { error: 'temporarily_unavailable' } }),
    },
    expected: retries(/returned HTTP 503/u, 7),
  },
  {
    provider: '500 with a page',
    indexer: 'Retries',
    behavior: { first: () => ({ status: 500, headers: page, body: '<html>' }) },
    expected: retries(/returned HTTP 500$/u),
  },
  {
    provider: 'Connection closed without a response',
    indexer: 'Retries',
    behavior: { first: () => 'cut' },
    expected: retries(/cannot be reached: ECONNRESET$/u),
  },
];

export const rowsOfAnswers: Readonly<Record<string, readonly ProviderRow[]>> = {
  'fields of a response': fieldRows,
  clocks: clockRows,
  rotation: rotationRows,
  errors: errorRows,
};
