/** Fields of the ledger's frames as the texts that `verify` compares. */
import type { JsonObject } from './field.ts';
import { columnText } from '../../model/escape.ts';

/** Thrown when the scanner has to read the frame, because JSON.parse changed something in it. */
export const inexactFrame = new RangeError('a frame for the scanner');

/** An object within an object; empty if there is none. */
export function objectField(source: JsonObject, key: string): JsonObject {
  return (source[key] ?? {}) as JsonObject;
}

/** The objects of a list; empty if there is no list. */
export function parts(source: JsonObject, key: string): readonly JsonObject[] {
  return (source[key] ?? []) as readonly JsonObject[];
}

/** Text; null if it is absent or empty. */
export function textOrNull(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  if (value === null || value === undefined) return null;
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
}

/** Free text in the form in which a text column stores it. */
export function escapedTextOrNull(value: unknown): string | null {
  const text = textOrNull(value);
  return text === null ? null : columnText(text);
}

/** An integer as text. Throws {@link inexactFrame} if JavaScript has rounded it. */
export function integerText(value: unknown): string | null {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw inexactFrame;
  return textOrNull(value);
}

/** A list of texts whose order has no meaning, sorted, with the spacing of `json_agg`. */
export function set(value: unknown): string {
  const names = (value ?? []) as readonly string[];
  const texts = [...names].sort(compareBytes).map((name) => JSON.stringify(name));
  return `[${texts.join(', ')}]`;
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** A time as microseconds since 1970, rounded as Postgres rounds. */
export function micros(value: unknown): string | null {
  const text = textOrNull(value);
  if (text === null) return null;
  const seconds = Date.parse(`${text.slice(0, 19)}Z`) / 1000;
  const nanos = Number(text.slice(20, -1).padEnd(9, '0').slice(0, 9));
  const sum = seconds * 1e6 + Math.round(nanos / 1000);
  return Number.isSafeInteger(sum)
    ? String(sum)
    : String(BigInt(seconds) * 1_000_000n + BigInt(Math.round(nanos / 1000)));
}
