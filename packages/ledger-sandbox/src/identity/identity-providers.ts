/**
 * The identity providers that a participant trusts in addition to its own settings. The `iss` of a token selects one.
 */
import { failure } from '../wire/failure.ts';
import type { LedgerFailure } from '../wire/failure.ts';

export interface IdentityProvider {
  readonly identityProviderId: string;
  readonly isDeactivated: boolean;
  readonly issuer: string;
  readonly jwksUrl: string;
  /** Empty for the audience of the participant itself. */
  readonly audience: string;
}

function refusal(code: string, category: number, resource: string, cause: string): LedgerFailure {
  return failure({ code, category, cause, resources: [['IDENTITY_PROVIDER_CONFIG', resource]] });
}

export class IdentityProviders {
  readonly #providers = new Map<string, IdentityProvider>();

  /** All providers, sorted by id. */
  list(): IdentityProvider[] {
    return [...this.#providers.values()].sort((a, b) => (a.identityProviderId < b.identityProviderId ? -1 : 1));
  }

  has(id: string): boolean {
    return this.#providers.has(id);
  }

  /** The active provider with this issuer. */
  issuing(issuer: string): IdentityProvider | undefined {
    return this.list().find((provider) => provider.issuer === issuer && !provider.isDeactivated);
  }

  /** The provider with this id. Throws IDP_CONFIG_NOT_FOUND. @param operation e.g. `getting identity provider config` */
  get(id: string, operation: string): IdentityProvider {
    const provider = this.#providers.get(id);
    if (provider !== undefined) return provider;
    throw refusal('IDP_CONFIG_NOT_FOUND', 11, id, `${operation} failed for unknown identity provider id "${id}"`);
  }

  /** Adds a provider. Throws IDP_CONFIG_ALREADY_EXISTS or IDP_CONFIG_ISSUER_ALREADY_EXISTS. */
  create(provider: IdentityProvider): void {
    const { identityProviderId: id, issuer } = provider;
    const operation = 'creating identity provider config';
    if (this.#providers.has(id)) {
      const cause = `${operation} failed, as identity provider "${id}" already exists`;
      throw refusal('IDP_CONFIG_ALREADY_EXISTS', 10, id, cause);
    }
    if (this.list().some((otherProvider) => otherProvider.issuer === issuer)) {
      const cause = `${operation} failed, as identity provider with issuer "${issuer}" already exists`;
      throw refusal('IDP_CONFIG_ISSUER_ALREADY_EXISTS', 10, issuer, cause);
    }
    this.#providers.set(id, provider);
  }

  /** Deletes a provider. Throws IDP_CONFIG_NOT_FOUND. */
  delete(id: string): void {
    this.get(id, 'deleting identity provider config');
    this.#providers.delete(id);
  }
}
