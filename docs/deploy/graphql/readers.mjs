// Authenticates a request and selects the Postgres role that reads for it. Row security of the role limits the visible
// rows; this file does not.
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const {
  POSTGRES_SCHEMA = 'ledger',
  GRAPHQL_JWKS_URL,
  GRAPHQL_JWT_SECRET_FILE,
  GRAPHQL_JWT_ISSUER,
  GRAPHQL_JWT_AUDIENCE,
  GRAPHQL_JWT_CLAIM = 'sub',
  GRAPHQL_ROLES = '{}',
  GRAPHQL_STATEMENT_TIMEOUT = '10s',
  GRAPHQL_ALLOWED_HOSTS = '',
} = process.env;

const roles = new Map(Object.entries(JSON.parse(GRAPHQL_ROLES)));
const key = keyOfTokens();

/** Undefined if no token is required. */
function keyOfTokens() {
  if (GRAPHQL_JWKS_URL) return createRemoteJWKSet(new URL(GRAPHQL_JWKS_URL));
  if (!GRAPHQL_JWT_SECRET_FILE) return undefined;
  const secret = readFileSync(GRAPHQL_JWT_SECRET_FILE, 'utf8').trim();
  if (secret.length < 32) throw new Error('GRAPHQL_JWT_SECRET_FILE: a secret has 32 characters and more');
  return new TextEncoder().encode(secret);
}
if (key !== undefined && !GRAPHQL_JWT_AUDIENCE) {
  throw new Error('GRAPHQL_JWT_AUDIENCE is missing: a token for another audience would be accepted');
}

/** Settings of a request in Postgres. Settings of a role apply only at login, so they are set here. */
export async function readerOf(request, schemas) {
  const incoming = request.node?.req;
  const settings = {
    search_path: [...schemas, POSTGRES_SCHEMA].map((name) => `"${name}"`).join(', '),
    statement_timeout: GRAPHQL_STATEMENT_TIMEOUT,
    transaction_read_only: 'on',
  };
  if (key === undefined) {
    refuseOtherNames(incoming?.headers.host ?? '');
    return { pgSettings: settings };
  }
  // The role is set last, because settings after it would be made with the rights of this role.
  return { pgSettings: { ...settings, role: await roleOf(incoming?.headers.authorization) } };
}

async function roleOf(authorization = '') {
  const [, token] = /^Bearer +([\w.-]+)$/i.exec(authorization) ?? [];
  if (token === undefined) throw refused(401, 'A token is required: Authorization: Bearer …');
  const { payload } = await jwtVerify(token, key, {
    audience: GRAPHQL_JWT_AUDIENCE,
    requiredClaims: ['exp'],
    ...(GRAPHQL_JWT_ISSUER ? { issuer: GRAPHQL_JWT_ISSUER } : {}),
  }).catch((cause) => {
    throw refused(401, `The token is refused: ${cause.code ?? 'unknown'}`);
  });
  const role = roles.get(payload[GRAPHQL_JWT_CLAIM]);
  if (role === undefined) throw refused(403, `No role belongs to the claim "${GRAPHQL_JWT_CLAIM}" of the token`);
  return role;
}

/**
 * Without tokens, a third-party page could make its own name resolve to this address, and its visitor's browser would
 * read for it.
 */
function refuseOtherNames(host) {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (name === 'localhost' || isIP(name) !== 0 || GRAPHQL_ALLOWED_HOSTS.split(',').includes(name)) return;
  throw refused(421, 'Unknown host name: see GRAPHQL_ALLOWED_HOSTS');
}

function refused(statusCode, message) {
  return Object.assign(new Error(message), { statusCode });
}
