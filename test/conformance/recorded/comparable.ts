/**
 * Compares the responses of two participants: status, content type, close and, of every body and frame, the keys in
 * their order with the kind of each value. Rejections are compared value by value, except for values of one event:
 * traces and the participant.
 */
import type { Answered } from './exchange.ts';

const trace = /^[0-9a-f]{32}$/;

/** Keys and kinds, all the way down; a list has the kinds of its elements. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((one) => JSON.stringify(shapeOf(one))))];
  if (typeof value !== 'object') return typeof value;
  if (value === null) return 'null';
  return Object.entries(value).map(([key, one]) => [key, shapeOf(one)]);
}

function blurred(value: unknown): unknown {
  return typeof value === 'string' && trace.test(value) ? '<trace>' : value;
}

/** The context of a rejection: a map, so its order is undefined. */
function contextOf(context: Readonly<Record<string, unknown>>): unknown {
  const entries = Object.entries(context).map(([key, value]) =>
    key === 'participant' ? [key, '<participant>'] : [key, blurred(value)],
  );
  return entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

function isRefusal(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && 'errorCategory' in value;
}

/** A body or a frame, ready to be compared. */
function comparableText(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    return text;
  }
  if (!isRefusal(value)) return shapeOf(value);
  const { context, ...rest } = value;
  const body = Object.entries(rest).map(([key, one]) => [key, blurred(one)]);
  return { body, context: contextOf(context as Readonly<Record<string, unknown>>) };
}

/** The part of a response that may be left out. */
export type Ignored = 'body';

/** A response, ready to be compared. @param frames how many of its frames count */
export function comparable(response: Answered, frames: number, ignored?: Ignored): unknown {
  const { body, ...rest } = response;
  return {
    ...rest,
    ...(body === undefined || ignored === 'body' ? {} : { body: comparableText(body) }),
    frames: response.frames.slice(0, frames).map(comparableText),
  };
}
