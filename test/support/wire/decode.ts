/** Decodes frames as they arrive from a socket, in a buffer that contains other bytes before and after the frame. */
import * as decode from '../../../src/ledger/frames/decode.ts';
import type { UnknownNames } from '../../../src/model/unknown.ts';
import type { ActiveContractEntry, Update } from '../../../src/model/update.ts';
import { Utf8 } from '../../../src/model/utf8.ts';

/** Bytes around the frame. A decoder that read them as part of the frame would end the frame at a wrong position. */
const frameStart = Buffer.from('{"update":"\\');
const frameEnd = Buffer.from('"}]},\\""]}');

export function frameOf(text: string): Utf8 {
  const frame = Buffer.from(text);
  return new Utf8(Buffer.concat([frameStart, frame, frameEnd]), frameStart.length, frameStart.length + frame.length);
}

export function decodeUpdate(text: string, unknown?: UnknownNames): Update {
  return decode.decodeUpdate(frameOf(text), unknown);
}

export function decodeActiveContract(text: string, unknown?: UnknownNames): ActiveContractEntry {
  return decode.decodeActiveContract(frameOf(text), unknown);
}

/** Returns a copy in which texts that refer to the bytes of a frame are replaced with strings. */
export function copyValue<T>(value: T): T {
  if (value instanceof Utf8) return value.toString() as T;
  if (Array.isArray(value)) return value.map(copyValue) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, nestedValue]) => [key, copyValue(nestedValue)])) as T;
}
