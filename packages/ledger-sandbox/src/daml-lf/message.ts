/** Writes protobuf messages field by field, as the compiler's library does. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A number (0 is omitted), a text, a message, or a packed list of numbers (an empty one is omitted). */
export type FieldValue = number | string | Uint8Array | readonly number[];

/** Field number and value. */
export type Field = readonly [number, FieldValue];

/** A message with the fields in the given order. */
export function message(...fields: readonly Field[]): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const [field, value] of fields) {
    if (typeof value === 'number') {
      if (value !== 0) writer.tag(field, WireType.Varint).int32(value);
    } else if (typeof value === 'string') {
      writer.tag(field, WireType.LengthDelimited).string(value);
    } else if (value instanceof Uint8Array) {
      writer.tag(field, WireType.LengthDelimited).bytes(value);
    } else if (value.length > 0) {
      writer.tag(field, WireType.LengthDelimited).fork();
      for (const element of value) writer.int32(element);
      writer.join();
    }
  }
  return writer.finish();
}

/** A message in which a number selects one field. Unlike other fields, the number is written even if it is 0. */
export function choiceOf(field: number, value: number): Uint8Array<ArrayBuffer> {
  return new BinaryWriter().tag(field, WireType.Varint).int32(value).finish();
}

/** The same for a zigzag number. */
export function signedChoiceOf(field: number, value: number): Uint8Array<ArrayBuffer> {
  return new BinaryWriter().tag(field, WireType.Varint).sint64(value).finish();
}
