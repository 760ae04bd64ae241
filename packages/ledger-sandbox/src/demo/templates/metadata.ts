/** Metadata of the token standard: texts by key. Includes the entries that Splice writes about a transaction. */
import { asObject, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';

const prefix = 'splice.lfdecentralizedtrust.org';

/** Kinds of transactions by their effect on holdings, in Splice's terms. */
export type TxKind = 'transfer' | 'merge-split' | 'mint' | 'burn' | 'unlock' | 'expire-dust';

/** Metadata without entries. */
export const emptyMetadata: JsonObject = { values: {} };

/** Extra arguments without entries. */
export const emptyExtraArgs: JsonObject = { context: { values: {} }, meta: emptyMetadata };

/** Metadata with the reason for a transfer. */
export function reasonMeta(reason: string): JsonObject {
  return { values: { [`${prefix}/reason`]: reason } };
}

/** The reason in metadata; empty if there is none. */
export function reasonOf(meta: Json | undefined): string {
  return textAt(meta, 'values', `${prefix}/reason`);
}

/** Metadata of a result: the kind of transaction, and its sender and reason if known. */
export function kindMeta(kind: TxKind, sender = '', reason = ''): JsonObject {
  return {
    values: {
      ...(reason === '' ? {} : { [`${prefix}/reason`]: reason }),
      ...(sender === '' ? {} : { [`${prefix}/sender`]: sender }),
      [`${prefix}/tx-kind`]: kind,
    },
  };
}

/** The same for a burn, with the amount. */
export function burnMeta(sender: string, reason: string, burned: string): JsonObject {
  const { values } = kindMeta('burn', sender, reason);
  return { values: { [`${prefix}/burned`]: burned, ...(values as JsonObject) } };
}

/** Extra arguments whose choice context names contracts. */
export function contextOf(contracts: Readonly<Record<string, string>>, preapproved = false): JsonObject {
  const metadataEntries = Object.entries(contracts).map(
    ([key, value]) => [key, { tag: 'AV_ContractId', value }] as const,
  );
  const approval = preapproved ? [['transfer-preapproval', { tag: 'AV_Bool', value: true }] as const] : [];
  return {
    context: { values: Object.fromEntries<JsonObject>([...metadataEntries, ...approval]) },
    meta: emptyMetadata,
  };
}

/** An entry of the choice context of extra arguments, as its inner value. */
export function contextValue(extraArgs: Json | undefined, key: string): Json | undefined {
  const values = asObject(asObject(asObject(extraArgs)?.['context'])?.['values']);
  return asObject(values?.[key])?.['value'];
}
