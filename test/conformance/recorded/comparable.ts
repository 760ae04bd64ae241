/**
 * Compares the responses of two participants: status, content type, close, and for every body and frame the keys in
 * order, with the kind of each value. Rejections are compared by value, except for trace ids and the participant, which
 * differ in every event.
 */
import type { Answered } from './exchange.ts';

const trace = /^[0-9a-f]{32}$/;

/** Keys and kinds of values at every depth. A list is represented by the kinds of its elements. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((one) => JSON.stringify(shapeOf(one))))];
  if (typeof value !== 'object') return typeof value;
  if (value === null) return 'null';
  return Object.entries(value).map(([key, one]) => [key, shapeOf(one)]);
}

function blurred(value: unknown): unknown {
  return typeof value === 'string' && trace.test(value) ? '<trace>' : value;
}

/** The context of a rejection, sorted, because it is a map without a defined order. */
function contextOf(context: Readonly<Record<string, unknown>>): unknown {
  const entries = Object.entries(context).map(([key, value]) =>
    key === 'participant' ? [key, '<participant>'] : [key, blurred(value)],
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
  const { context, ...rest } = value;
  const body = Object.entries(rest).map(([key, one]) => [key, blurred(one)]);
  return { body, context: contextOf(context as Readonly<Record<string, unknown>>) };
}

/** A part of a response that is not compared. */
export type Ignored = 'body';

/** A response in a comparable form. @param frames number of frames that are compared */
export function comparable(response: Answered, frames: number, ignored?: Ignored): unknown {
  const { body, ...rest } = response;
  return {
    ...rest,
    ...(body === undefined || ignored === 'body' ? {} : { body: comparableText(body) }),
    frames: response.frames.slice(0, frames).map(comparableText),
  };
}
