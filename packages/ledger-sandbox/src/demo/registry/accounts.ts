/**
 * Accounts of version 2 of the token standard. An account has an owner, who may have a provider and several accounts.
 */
import { asObject, asText } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';

/** Account of a party without a provider and a name, the only kind that version 1 knows. */
export function basicAccount(owner: string): JsonObject {
  return { owner, provider: null, id: '' };
}

/** The account of the issuer, which is the other side of mints and burns. */
export const mintAccount: JsonObject = { owner: null, provider: null, id: 'cip-112/mint' };
export const burnAccount: JsonObject = { owner: null, provider: null, id: 'cip-112/burn' };

/** The owner of an account; empty for an account of the issuer. */
export function ownerOf(account: Json | undefined): string {
  return asText(asObject(account)?.['owner']);
}

export function isBasic(account: Json | undefined): boolean {
  const { provider = null, id } = asObject(account) ?? {};
  return ownerOf(account) !== '' && provider === null && asText(id) === '';
}

/** The owner and the provider of an account. */
export function partiesOf(account: Json | undefined): string[] {
  const { owner, provider } = asObject(account) ?? {};
  return [asText(owner), asText(provider)].filter((party) => party !== '');
}

export function isSameAccount(a: Json | undefined, b: Json | undefined): boolean {
  const key = (account: Json | undefined): string => {
    const { owner, provider, id } = asObject(account) ?? {};
    return JSON.stringify([asText(owner), asText(provider), asText(id)]);
  };
  return key(a) === key(b);
}
