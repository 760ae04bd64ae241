/** The schemas that stand beside a storage schema, and what they are called. */

import { escapeIdentifier } from 'pg';

/** Names of the schemas of one stream, unquoted. */
export interface ReadSchemas {
  readonly storage: string;
  readonly explore: string;
  readonly typed: string;
  readonly pqs: string;
  /** What differs from `pqs` where a contract is one row on several synchronizers. */
  readonly multisync: string;
}

const defaultStorage = 'ledger';

/** The schemas that belong to a storage schema: plain names beside `ledger`, names with a prefix beside any other. */
export function readSchemas(storage: string): ReadSchemas {
  const prefix = storage === defaultStorage ? '' : `${storage}_`;
  return {
    storage,
    explore: `${prefix}explore`,
    typed: `${prefix}typed`,
    pqs: `${prefix}pqs`,
    multisync: `${prefix}pqs_multisync`,
  };
}

/** Where readers find unqualified names: of those that stand in two schemas, the one for people. */
export function readersPath({ storage, explore, typed, pqs }: ReadSchemas): string {
  return [explore, typed, pqs, storage].map((schema) => escapeIdentifier(schema)).join(', ');
}
