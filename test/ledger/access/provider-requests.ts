/**
 * Rows of the table of identity providers: the method by which the client authenticates, and the required parameters.
 */
import { rowsOfKeys } from './provider-keys.ts';
import { parkedFailure, type ProviderRow, retries } from './provider-row.ts';
import type { Answer, TokenRequest } from './providers.ts';

const authMethods = { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] };

function refusedToken(error: string, description: string, status = 400): Answer {
  return { status, body: { error, error_description: description } };
}

const clientRows: readonly ProviderRow[] = [
  {
    provider: 'Accepts HTTP Basic only; metadata lists no method',
    indexer: 'Uses Basic',
    behavior: { accepts: ['basic'] },
    expected: { requests: 1 },
  },
  {
    provider: 'Accepts the form only, and lists it',
    indexer: 'Uses the form',
    behavior: { accepts: ['form'], metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] } },
    expected: { requests: 1 },
  },
  {
    provider: 'Lists both, client registered for the form (Authelia, Hydra)',
    indexer: 'Tries Basic, then the form, and keeps the form',
    behavior: {
      accepts: ['form'],
      metadata: authMethods,
      unrecognized: refusedToken(
        'invalid_client',
        "supports 'client_secret_post', but 'client_secret_basic' was used",
        401,
      ),
    },
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
    provider: 'Refuses the client with 401 `unauthorized_client` (Keycloak)',
    indexer: 'Tries the other method',
    behavior: {
      accepts: ['form'],
      unrecognized: refusedToken('unauthorized_client', 'Invalid client or Invalid client credentials', 401),
    },
    expected: { requests: 2 },
  },
  {
    provider: 'Reads the form only, and reports a missing `client_id`',
    indexer: 'Tries the other method',
    behavior: { accepts: ['form'], unrecognized: refusedToken('invalid_request', 'Missing parameter: client_id') },
    expected: { requests: 2 },
  },
  {
    provider: 'Refuses the client with 401 and a page',
    indexer: 'Tries the other method',
    behavior: {
      accepts: ['form'],
      unrecognized: { status: 401, body: '<html>', headers: { 'content-type': 'text/html' } },
    },
    expected: { requests: 2 },
  },
  {
    provider: 'Reads the form only, and reports with 400 `unauthorized_client` that the secret is missing',
    indexer: 'Tries the other method',
    behavior: {
      accepts: ['form'],
      unrecognized: refusedToken('unauthorized_client', 'AADSTS7000216: client_assertion or client_secret is required'),
    },
    expected: { requests: 2 },
  },
  {
    provider: 'Reads the form only, and returns 400 with a page for any other request',
    indexer: 'Tries the other method',
    behavior: {
      accepts: ['form'],
      unrecognized: { status: 400, body: '<html>', headers: { 'content-type': 'text/html' } },
    },
    expected: { requests: 2 },
  },
  {
    provider: 'Form only, and the client may not have the scope',
    indexer: 'Parks and reports `invalid_scope`',
    behavior: { accepts: ['form'], refuses: () => refusedToken('invalid_scope', 'Invalid scopes: daml_ledger_api') },
    expected: parkedFailure(/refused: invalid_scope \(Invalid scopes/u),
  },
];

const specialClient = { id: 'team/indexer', secret: 'a:b%41c+d e~f/g=h&i"j' };

const encodingRows: readonly ProviderRow[] = [
  {
    provider: 'Decodes Basic (RFC 6749), secret with `:`, `%`, `+` and a blank',
    indexer: 'Encodes it',
    behavior: { client: specialClient, accepts: ['basic'] },
    expected: { requests: 1 },
  },
  {
    provider: 'Compares Basic without decoding, the same secret',
    indexer: 'Tries Basic, the form, then Basic without encoding',
    behavior: { client: specialClient, accepts: ['basic'], comparesRaw: true },
    expected: { requests: 3 },
  },
  {
    provider: 'Compares Basic without decoding, secret with `-`, `.`, `_` and `*`',
    indexer: 'Uses Basic, in which these need no encoding',
    behavior: {
      client: { id: '8b1a-44f0.app', secret: 'Q8_x.y-z*canary' },
      accepts: ['basic'],
      comparesRaw: true,
    },
    expected: { requests: 1 },
  },
];

function needsAudience({ form: formParameters }: TokenRequest): Answer | undefined {
  if (formParameters.has('audience')) return undefined;
  const refusalText = 'No audience parameter was provided, and no default audience has been configured';
  return refusedToken('access_denied', refusalText, 403);
}

/** Requires a scope that ends with `/.default`. Ignores unknown parameters, such as `audience`. */
function needsDefaultScope({ form: formParameters }: TokenRequest): Answer | undefined {
  if (formParameters.get('scope')?.endsWith('/.default') === true) return undefined;
  return refusedToken('invalid_scope', 'AADSTS1002012: Client credential flows must have a scope with /.default');
}

const requestRows: readonly ProviderRow[] = [
  {
    provider: 'Requires `audience` (Auth0), not set',
    indexer: 'Parks and reports the description; set `LEDGER_OAUTH_AUDIENCE`',
    behavior: { refuses: needsAudience },
    expected: parkedFailure(/access_denied \(No audience parameter was provided/u),
  },
  {
    provider: 'Requires `audience` (Auth0), set',
    indexer: 'Sends it',
    behavior: { refuses: needsAudience, spelled: (issuer) => `${issuer}/` },
    options: { audience: 'https://ledger.example' },
    expected: { requests: 1 },
  },
  {
    provider: 'Requires a scope `…/.default` (Entra), not set',
    indexer: 'Parks and reports the description; set `LEDGER_OAUTH_SCOPE`',
    behavior: { refuses: needsDefaultScope },
    expected: parkedFailure(/invalid_scope \(AADSTS1002012: Client credential flows/u),
  },
  {
    provider: 'Requires a scope `…/.default` (Entra), set',
    indexer: 'Sends it',
    behavior: { refuses: needsDefaultScope, issuerPath: '/3f6d/v2.0' },
    options: { scope: 'api://ledger/.default', audience: 'ignored' },
    expected: { requests: 1 },
  },
  {
    provider: 'Refuses scopes that it does not know (Keycloak, Cognito), `LEDGER_OAUTH_SCOPE=none`',
    indexer: 'Sends no scope',
    behavior: {
      refuses: ({ form: formParameters }) =>
        formParameters.has('scope') ? refusedToken('invalid_scope', 'unknown') : undefined,
    },
    options: { scope: 'none' },
    expected: { requests: 1 },
  },
  {
    provider: 'Refuses a request with two client credentials (Okta)',
    indexer: 'Sends one',
    behavior: {
      first: ({ form: formParameters, headers }) =>
        headers.authorization !== undefined && formParameters.has('client_id')
          ? refusedToken('invalid_request', 'Cannot supply multiple client credentials.', 401)
          : undefined,
    },
    expected: { requests: 1 },
  },
];

const discoveryRows: readonly ProviderRow[] = [
  {
    provider: 'Issuer with a path (Keycloak realms, Entra tenants)',
    indexer: 'Reads the metadata below the path',
    behavior: { issuerPath: '/realms/ledger' },
    expected: { requests: 1 },
  },
  {
    provider: 'Issuer with a final slash that the setting lacks',
    indexer: 'Accepts both spellings',
    behavior: { issuerPath: '/oauth2/ledger', spelled: (issuer) => `${issuer}/` },
    expected: { requests: 1 },
  },
  {
    provider: 'Issuer without the final slash of the setting (Keycloak)',
    indexer: 'Accepts both spellings',
    behavior: { issuerPath: '/realms/ledger' },
    options: { issuerSlash: true },
    expected: { requests: 1 },
  },
  {
    provider: 'Metadata only where RFC 8414 puts it',
    indexer: 'Reads it there after a 404',
    behavior: { issuerPath: '/tenants/a', metadataAt: '/.well-known/oauth-authorization-server/tenants/a' },
    expected: { requests: 1 },
  },
  {
    provider: 'Token endpoint on another host (Google, Entra)',
    indexer: 'Uses it',
    behavior: { tokenHost: 'localhost' },
    expected: { requests: 1 },
  },
  {
    provider: 'Metadata that redirects',
    indexer: 'Retries and reports the target; set the new address',
    behavior: { metadataMovedTo: 'https://login.example/realms/ledger?token=x' },
    expected: retries(/returned HTTP 302, a redirect to https:\/\/login\.example\/realms\/ledger$/u),
  },
  {
    provider: 'Metadata of another issuer',
    indexer: 'Retries and reports that issuer; sends no secret',
    behavior: { spelled: () => 'https://sts.windows.net/3f6d/' },
    expected: retries(/describes itself as another issuer: https:\/\/sts\.windows\.net\/3f6d\/$/u),
  },
];

export const rowsOfRequests: Readonly<Record<string, readonly ProviderRow[]>> = {
  'client authentication': clientRows,
  'client authentication by a key': rowsOfKeys,
  'encoding of the secret': encodingRows,
  'request parameters': requestRows,
  discovery: discoveryRows,
};
