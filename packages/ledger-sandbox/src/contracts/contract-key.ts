/**
 * Contract keys: their maintainers, and the hash by which they are found. The hash is opaque to clients and specific to
 * the sandbox.
 */
import { createHash } from 'node:crypto';
import type { Json } from '../wire/json.ts';

/** The key of a contract as its template computes it. */
export interface ContractKey {
  readonly value: Json;
  readonly maintainers: readonly string[];
}

/** JSON with sorted keys, so that equal values have equal texts. */
function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join()}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, nestedValue]) => `${JSON.stringify(key)}:${canonical(nestedValue)}`).join()}}`;
}

/**
 * Base64 of 32 bytes that identify a key of a template.
 * @param template `package-name:Module:Entity`
 */
export function contractKeyHash(template: string, key: Json): string {
  return createHash('sha256')
    .update(`${template}\n${canonical(key)}`)
    .digest('base64');
}

/** Contracts by key. Keys are not unique, so a key refers to the newest active contract. */
export class KeyIndex {
  #contracts = new Map<string, string[]>();

  save(): Map<string, string[]> {
    return this.#contracts;
  }

  load(contracts: Map<string, string[]>): void {
    this.#contracts = contracts;
  }

  add({ contractId, contractKeyHash: hash }: { readonly contractId: string; readonly contractKeyHash: string }): void {
    if (hash === '') return;
    const otherContracts = (this.#contracts.get(hash) ?? []).filter((otherId) => otherId !== contractId);
    this.#contracts.set(hash, [contractId, ...otherContracts]);
  }

  /** Ids of the contracts with the key, newest first, including archived ones. */
  get(hash: string): readonly string[] {
    return this.#contracts.get(hash) ?? [];
  }

  /** Removes contracts that are not needed any more. */
  retain(isNeeded: (contractId: string) => boolean): void {
    for (const [hash, contracts] of this.#contracts) {
      const neededContracts = contracts.filter(isNeeded);
      if (neededContracts.length === 0) this.#contracts.delete(hash);
      else this.#contracts.set(hash, neededContracts);
    }
  }
}
