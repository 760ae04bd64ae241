/**
 * An update as a list or a lookup returns it. Only the fields that identify it are read. It is never decoded, because
 * it may be an update that cannot be stored.
 */
import { isObject, type JsonObject } from '../../ledger/frames/field.ts';

export interface ListedUpdate {
  /** The kind in the notation of the participant: Transaction, OffsetCheckpoint … */
  readonly kind: string;
  readonly offset: number;
  readonly value: JsonObject;
}

/** Returns undefined if the update has no offset. @throws SyntaxError if the text is not JSON */
export function parseListedUpdate(text: string): ListedUpdate | undefined {
  const listEntry: unknown = JSON.parse(text);
  const update = isObject(listEntry) && isObject(listEntry['update']) ? listEntry['update'] : {};
  const [kind = ''] = Object.keys(update);
  const value = isObject(update[kind]) ? update[kind]['value'] : undefined;
  const offset = isObject(value) ? value['offset'] : undefined;
  return isObject(value) && typeof offset === 'number' ? { kind, offset, value } : undefined;
}
