/** Accounts of version 2 of the token standard: an owner, who may have a provider and more than one account. */
import { asObject, asText } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';

/** Account of a party with neither provider nor name: the only kind that version 1 knows. */
export function basicAccount(owner: string): JsonObject {
  return { owner, provider: null, id: '' };
}

/** The accounts of the issuer, which are the other side of mints and burns. */
export const mintAccount: JsonObject = { owner: null, provider: null, id: 'cip-112/mint' };
export const burnAccount: JsonObject = { owner: null, provider: null, id: 'cip-112/burn' };

/** Empty for an account of the issuer. */
export function ownerOf(account: Json | undefined): string {
  return asText(asObject(account)?.['owner']);
}

export function isBasic(account: Json | undefined): boolean {
  const { provider = null, id } = asObject(account) ?? {};
  return ownerOf(account) !== '' && provider === null && asText(id) === '';
}

/** Owner and provider. */
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
