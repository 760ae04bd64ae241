/** Identity providers whose tokens the participant trusts in addition to its own settings. */
import type { Call, Endpoint } from '../api/endpoint.ts';
import { invalidArgument, missingField } from '../wire/failure.ts';
import type { IdentityProvider } from '../identity/identity-providers.ts';
import { asObject, asText } from '../wire/json.ts';
import type { Json } from '../wire/json.ts';

function configBody({ identityProviderId, isDeactivated, issuer, jwksUrl, audience }: IdentityProvider): Json {
  return { identityProviderId, isDeactivated, issuer, jwksUrl, audience };
}

function readConfig(value: Json | undefined): IdentityProvider {
  const config = asObject(value);
  if (config === undefined) throw missingField('identity_provider_config');
  const identityProviderId = asText(config['identityProviderId']);
  const issuer = asText(config['issuer']);
  const jwksUrl = asText(config['jwksUrl']);
  if (identityProviderId === '') throw missingField('identity_provider_id');
  if (issuer === '') throw missingField('issuer');
  if (!URL.canParse(jwksUrl)) throw invalidArgument('field jwks_url is not a URL');
  const isDeactivated = config['isDeactivated'] === true;
  return { identityProviderId, isDeactivated, issuer, jwksUrl, audience: asText(config['audience']) };
}

function listProviders({ participant }: Call): string {
  return JSON.stringify({ identityProviderConfigs: participant.identityProviders.list().map(configBody) });
}

function createProvider({ participant, body }: Call): string {
  const config = readConfig(body['identityProviderConfig']);
  participant.identityProviders.create(config);
  return JSON.stringify({ identityProviderConfig: configBody(config) });
}

function getProvider({ participant, path }: Call): string {
  const config = participant.identityProviders.get(path['idp-id'] ?? '', 'getting identity provider config');
  return JSON.stringify({ identityProviderConfig: configBody(config) });
}

function deleteProvider({ participant, path }: Call): string {
  participant.identityProviders.delete(path['idp-id'] ?? '');
  return '{}';
}

const providerPath = '/v2/idps/{idp-id}';

export const identityProviderEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/v2/idps',
    summary: 'The identity providers',
    response: 'ListIdentityProviderConfigsResponse',
    needs: 'admin',
    run: listProviders,
  },
  {
    method: 'POST',
    path: '/v2/idps',
    summary: 'Trust an identity provider',
    request: 'CreateIdentityProviderConfigRequest',
    response: 'CreateIdentityProviderConfigResponse',
    needs: 'admin',
    run: createProvider,
  },
  {
    method: 'GET',
    path: providerPath,
    summary: 'An identity provider',
    response: 'GetIdentityProviderConfigResponse',
    needs: 'admin',
    run: getProvider,
  },
  {
    method: 'DELETE',
    path: providerPath,
    summary: 'Stop trusting an identity provider',
    response: 'DeleteIdentityProviderConfigResponse',
    needs: 'admin',
    run: deleteProvider,
  },
];
