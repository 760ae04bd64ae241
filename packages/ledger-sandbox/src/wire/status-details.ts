/** The details of a gRPC status as the JSON interface prints them: a typed message, in bytes and decoded. */
import { asText } from './json.ts';
import type { JsonObject } from './json.ts';

const unknownFields = { fields: {} };

/** A length-delimited protobuf field: its tag, its length as a varint, its bytes. */
function field(number: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
}

/** `google.rpc.ErrorInfo` (reason = 1, domain = 2, metadata = 3) of an error code and its context. */
export function errorInfo(reason: string, context: JsonObject): JsonObject {
  const metadata = Object.entries(context).map(([key, value]) =>
    field(3, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(asText(value)))])),
  );
  return {
    typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo',
    value: Buffer.concat([field(1, Buffer.from(reason)), ...metadata]).toString('base64'),
    valueDecoded: { reason, domain: '', metadata: context, unknownFields },
    unknownFields,
  };
}
