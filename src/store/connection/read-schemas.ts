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

/** Name of the schema with the projections that users add. It exists once there is one. */
export function derivedSchema(storage: string): string {
  return storage === defaultStorage ? 'derived' : `${storage}_derived`;
}

/** Name of the table and of the function of a version, without their schema. */
export function versionName(view: string, generation: number): string {
  return `${view}$${String(generation)}`;
}

/** SQL: an object of schema `derived`. */
export function derivedName(storage: string, name: string): string {
  return `${escapeIdentifier(derivedSchema(storage))}.${escapeIdentifier(name)}`;
}

/** Search path of readers. If a name exists in two schemas, the view of `explore` comes first. */
export function readersPath({ storage, explore, typed: typedSchema, pqs }: ReadSchemas): string {
  return [explore, typedSchema, pqs, storage].map((schema) => escapeIdentifier(schema)).join(', ');
}
