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
    const readField = fields[field];
    if (readField === undefined) reader.skip(wireType, field);
    else readField(reader, wireType);
  }
}

function assertWireType(actual: WireType, expected: WireType): void {
  if (actual !== expected) throw new Error(`a field has wire type ${actual} instead of ${expected}`);
}

/** Reader for a field with a message or bytes. The bytes are not copied. */
export function bytesField(onBytes: (bytes: Uint8Array) => void): FieldReader {
  return (reader, wireType) => {
    assertWireType(wireType, WireType.LengthDelimited);
    onBytes(reader.bytes());
  };
}

/** Reader for a field with text. */
export function textField(onText: (text: string) => void): FieldReader {
  return (reader, wireType) => {
    assertWireType(wireType, WireType.LengthDelimited);
    onText(reader.string());
  };
}

/** Reader for a field with an int32, a bool or an enum value; all are numbers. */
export function numberField(onNumber: (value: number) => void): FieldReader {
  return (reader, wireType) => {
    assertWireType(wireType, WireType.Varint);
    onNumber(reader.int32());
  };
}

/** Reader for a repeated int32, whether packed or not. */
export function numbersField(onNumber: (value: number) => void): FieldReader {
  return (reader, wireType) => {
    if (wireType !== WireType.LengthDelimited) {
      numberField(onNumber)(reader, wireType);
      return;
    }
    const packedReader = new BinaryReader(reader.bytes());
    while (packedReader.pos < packedReader.len) onNumber(packedReader.int32());
  };
}

/** The number in one field of a message. If the field is missing, it is 0, which is never written. */
export function numberIn(bytes: Uint8Array, field: number): number {
  let lastNumber = 0;
  readMessage(bytes, { [field]: numberField((value) => (lastNumber = value)) });
  return lastNumber;
}

/** All numbers in a repeated field of a message. */
export function readNumbers(bytes: Uint8Array, field: number): readonly number[] {
  const numbers: number[] = [];
  readMessage(bytes, { [field]: numbersField((value) => numbers.push(value)) });
  return numbers;
}

/** All messages in a repeated field of a message. */
export function messagesIn(bytes: Uint8Array, field: number): readonly Uint8Array[] {
  const messages: Uint8Array[] = [];
  readMessage(bytes, { [field]: bytesField((value) => messages.push(value)) });
  return messages;
}
