/**
 * Compares the responses of two participants: status, content type, close, and for every body and frame the keys in
 * order, with the kind of each value. Rejections are compared by value, except for trace ids and the participant, which
 * differ in every event.
 */
import type { ExchangeResult } from './exchange.ts';

const trace = /^[0-9a-f]{32}$/;

/** Keys and kinds of values at every depth. A list is represented by the kinds of its elements. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((nestedValue) => JSON.stringify(shapeOf(nestedValue))))];
  if (typeof value !== 'object') return typeof value;
  if (value === null) return 'null';
  return Object.entries(value).map(([key, nestedValue]) => [key, shapeOf(nestedValue)]);
}

function blurValues(value: unknown): unknown {
  return typeof value === 'string' && trace.test(value) ? '<trace>' : value;
}

/** The context of a rejection, sorted, because it is a map without a defined order. */
function contextOf(context: Readonly<Record<string, unknown>>): unknown {
  const entries = Object.entries(context).map(([key, value]) =>
    key === 'participant' ? [key, '<participant>'] : [key, blurValues(value)],
  );
  return entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

function isRefusal(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && 'errorCategory' in value;
}

/** A body or frame, in a comparable form. */
function comparableText(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    return text;
  }
  if (!isRefusal(value)) return shapeOf(value);
  const { context, ...otherFields } = value;
  const body = Object.entries(otherFields).map(([key, nestedValue]) => [key, blurValues(nestedValue)]);
  return { body, context: contextOf(context as Readonly<Record<string, unknown>>) };
}

/** A part of a response that is not compared. */
export type IgnoredPart = 'body';

/** A response in a comparable form. @param frames number of frames that are compared */
export function comparable(response: ExchangeResult, frames: number, ignoredPart?: IgnoredPart): unknown {
  const { body, ...otherFields } = response;
  return {
    ...otherFields,
    ...(body === undefined || ignoredPart === 'body' ? {} : { body: comparableText(body) }),
    frames: response.frames.slice(0, frames).map(comparableText),
  };
}
