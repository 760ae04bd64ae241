/**
 * Reads protobuf messages of which only some fields are needed. Any exception here means that the bytes are damaged.
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** Reads the value of one field. */
export type FieldReader = (reader: BinaryReader, wireType: WireType) => void;

/** Reads the listed fields of a message in the order of the bytes, and skips all other fields. */
export function readMessage(bytes: Uint8Array, fields: Readonly<Record<number, FieldReader>>): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const read = fields[field];
    if (read === undefined) reader.skip(wireType, field);
    else read(reader, wireType);
  }
}

function demand(found: WireType, expected: WireType): void {
  if (found !== expected) throw new Error(`a field has wire type ${found} instead of ${expected}`);
}

/** Reader for a field with a message or bytes. The bytes are not copied. */
export function bytesField(take: (bytes: Uint8Array) => void): FieldReader {
  return (reader, wireType) => {
    demand(wireType, WireType.LengthDelimited);
    take(reader.bytes());
  };
}

/** Reader for a field with text. */
export function textField(take: (text: string) => void): FieldReader {
  return (reader, wireType) => {
    demand(wireType, WireType.LengthDelimited);
    take(reader.string());
  };
}

/** Reader for a field with an int32, a bool or an enum value; all are numbers. */
export function numberField(take: (value: number) => void): FieldReader {
  return (reader, wireType) => {
    demand(wireType, WireType.Varint);
    take(reader.int32());
  };
}

/** Reader for a repeated int32, whether packed or not. */
export function numbersField(take: (value: number) => void): FieldReader {
  return (reader, wireType) => {
    if (wireType !== WireType.LengthDelimited) {
      numberField(take)(reader, wireType);
      return;
    }
    const packed = new BinaryReader(reader.bytes());
    while (packed.pos < packed.len) take(packed.int32());
  };
}

/** The number in one field of a message. If the field is missing, it is 0, which is never written. */
export function numberIn(bytes: Uint8Array, field: number): number {
  let found = 0;
  readMessage(bytes, { [field]: numberField((value) => (found = value)) });
  return found;
}

/** All numbers in a repeated field of a message. */
export function numbersIn(bytes: Uint8Array, field: number): readonly number[] {
  const found: number[] = [];
  readMessage(bytes, { [field]: numbersField((value) => found.push(value)) });
  return found;
}

/** All messages in a repeated field of a message. */
export function messagesIn(bytes: Uint8Array, field: number): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  readMessage(bytes, { [field]: bytesField((value) => found.push(value)) });
  return found;
}
