/** Names of the schemas that belong to a storage schema. */

import { escapeIdentifier } from 'pg';

/** Names of the schemas of one stream, unquoted. */
export interface ReadSchemas {
  readonly storage: string;
  readonly explore: string;
  readonly typed: string;
  readonly pqs: string;
  /** The variant of `pqs` that has one row for a contract that is on several synchronizers. */
  readonly multisync: string;
}

const defaultStorage = 'ledger';

/** The schemas that belong to a storage schema: plain names for `ledger`, names with a prefix for any other. */
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

/** Search path of readers. If a name exists in two schemas, the view of `explore` comes first. */
export function readersPath({ storage, explore, typed: typedSchema, pqs }: ReadSchemas): string {
  return [explore, typedSchema, pqs, storage].map((schema) => escapeIdentifier(schema)).join(', ');
}
