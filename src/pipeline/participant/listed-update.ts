/**
 * An update as a list or a lookup returns it, read only as far as needed to identify it. It is never decoded, because
 * it may not be storable.
 */
import { isObject, type JsonObject } from '../../ledger/frames/field.ts';

export interface Listed {
  /** As the participant names it: Transaction, OffsetCheckpoint … */
  readonly kind: string;
  readonly offset: number;
  readonly value: JsonObject;
}

/** Undefined if the update has no offset. @throws SyntaxError if the text is not JSON */
export function readListed(text: string): Listed | undefined {
  const answer: unknown = JSON.parse(text);
  const update = isObject(answer) && isObject(answer['update']) ? answer['update'] : {};
  const [kind = ''] = Object.keys(update);
  const value = isObject(update[kind]) ? update[kind]['value'] : undefined;
  const offset = isObject(value) ? value['offset'] : undefined;
  return isObject(value) && typeof offset === 'number' ? { kind, offset, value } : undefined;
}
