/** Writes packages of Daml-LF 2 byte by byte, valid and invalid ones. */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

type Value = number | string | Uint8Array;

/** A message with the fields in the given order. Numbers become varints, other values are length-delimited. */
export function message(...fields: readonly (readonly [number, Value])[]): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const [field, value] of fields) {
    if (typeof value === 'number') writer.tag(field, WireType.Varint).int32(value);
    else if (typeof value === 'string') writer.tag(field, WireType.LengthDelimited).string(value);
    else writer.tag(field, WireType.LengthDelimited).bytes(value);
  }
  return writer.finish();
}

/** Numbers of built-in types in the definition of Daml-LF. */
export const code = {
  unit: 0,
  int64: 2,
  numeric: 5,
  party: 6,
  text: 7,
  contractId: 8,
  optional: 9,
  list: 10,
  arrow: 16,
};

const recursiveType = message([1, message()]);

/** A package under construction. Names and types are added to its tables when they are first used. */
export class PackageBuilder {
  readonly #strings = new Map<string, number>();
  readonly #dotted: Uint8Array[] = [];
  readonly #types: Uint8Array[] = [];
  readonly #modules: Uint8Array[] = [];
  readonly #imports: string[] = [];

  text(text: string): number {
    const stringIndex = this.#strings.get(text) ?? this.#strings.size;
    this.#strings.set(text, stringIndex);
    return stringIndex;
  }

  name(dottedName: string): number {
    return this.segments(dottedName.split('.').map((segment) => this.text(segment)));
  }

  segments(segments: readonly number[]): number {
    return this.#dotted.push(message(...segments.map((segment) => [1, segment] as const))) - 1;
  }

  /** A TypeConId of this package or of an imported one. */
  typeName(module: string, name: string, packageId?: string): Uint8Array {
    const from = packageId === undefined ? recursiveType : message([4, this.#imports.push(packageId) - 1]);
    return message([1, message([1, from], [2, this.name(module)])], [2, this.name(name)]);
  }

  data(typeName: Uint8Array, ...args: readonly Uint8Array[]): Uint8Array {
    return message([2, message([1, typeName], ...args.map((argument) => [2, argument] as const))]);
  }

  synonym(typeName: Uint8Array, ...args: readonly Uint8Array[]): Uint8Array {
    return message([7, message([1, typeName], ...args.map((argument) => [2, argument] as const))]);
  }

  builtin(number: number, ...args: readonly Uint8Array[]): Uint8Array {
    return message([3, message([1, number], ...args.map((argument) => [2, argument] as const))]);
  }

  variable(name: string): Uint8Array {
    return message([1, message([3, this.text(name)])]);
  }

  natural(value: number): Uint8Array {
    return new BinaryWriter().tag(6, WireType.Varint).sint64(value).finish();
  }

  apply(type: Uint8Array, ...args: readonly Uint8Array[]): Uint8Array {
    return args.reduce((appliedType, argument) => message([9, message([1, appliedType], [2, argument])]), type);
  }

  /** Adds a type to the type table and returns a reference to it. */
  intern(type: Uint8Array): Uint8Array {
    return message([8, this.#types.push(type) - 1]);
  }

  parameter(name: string): Uint8Array {
    return message([3, this.text(name)], [2, message([1, message()])]);
  }

  field(name: string, type: Uint8Array): Uint8Array {
    return message([2, type], [3, this.text(name)]);
  }

  /** @param kind 5 for a record, 6 for a variant */
  dataType(
    name: string,
    fields: readonly Uint8Array[],
    { parameters = [], kind = 5 }: { parameters?: readonly string[]; kind?: 5 | 6 } = {},
  ): Uint8Array {
    return message(
      [2, this.name(name)],
      ...parameters.map((parameter) => [3, this.parameter(parameter)] as const),
      [4, 1],
      [kind, message(...fields.map((field) => [1, field] as const))],
    );
  }

  synonymDefinition(name: string, parameters: readonly string[], body: Uint8Array): Uint8Array {
    return message([2, this.name(name)], ...parameters.map((parameter) => [3, this.parameter(parameter)] as const), [
      4,
      body,
    ]);
  }

  /** @param definitions each with the field number in Module: 3 synonyms, 4 data types, 6 templates, 8 interfaces */
  module(name: string, ...definitions: readonly (readonly [number, Uint8Array])[]): this {
    this.#modules.push(message([1, this.name(name)], ...definitions));
    return this;
  }

  /** The bytes of the ArchivePayload. */
  payload({ name = 'built', version = '1.0.0', minor = '1' } = {}): Uint8Array<ArrayBuffer> {
    const metadata = message([1, this.text(name)], [2, this.text(version)]);
    const innerMessage = message(
      ...this.#modules.map((module) => [1, module] as const),
      ...[...this.#strings.keys()].map((text) => [2, text] as const),
      ...this.#dotted.map((dottedName) => [3, dottedName] as const),
      [4, metadata],
      ...this.#types.map((type) => [5, type] as const),
      [9, message(...this.#imports.map((packageId) => [1, packageId] as const))],
    );
    return message([3, minor], [4, innerMessage]);
  }
}
