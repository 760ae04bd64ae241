/** The details of a gRPC status in the form of the JSON interface: a typed message, in bytes and decoded. */
import { asText } from './json.ts';
import type { JsonObject } from './json.ts';

const unknownFields = { fields: {} };

/** A length-delimited protobuf field: its tag, its length as a varint, and its bytes. */
function field(number: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let remainingLength = content.length; ; remainingLength >>>= 7) {
    length.push(remainingLength > 0x7f ? (remainingLength & 0x7f) | 0x80 : remainingLength);
    if (remainingLength <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
}

function detail(type: string, value: Buffer, decodedDetail: JsonObject): JsonObject {
  return {
    typeUrl: `type.googleapis.com/google.rpc.${type}`,
    value: value.toString('base64'),
    valueDecoded: { ...decodedDetail, unknownFields },
    unknownFields,
  };
}

/** `google.rpc.RequestInfo` (request_id = 1): the correlation id. */
export function requestInfo(requestId: string): JsonObject {
  return detail('RequestInfo', field(1, Buffer.from(requestId)), { requestId, servingData: '' });
}

/** `google.rpc.ResourceInfo` (resource_type = 1, resource_name = 2), one for each resource that an error names. */
export function resourceInfo(resourceType: string, resourceName: string): JsonObject {
  const value = Buffer.concat([field(1, Buffer.from(resourceType)), field(2, Buffer.from(resourceName))]);
  return detail('ResourceInfo', value, { resourceType, resourceName, owner: '', description: '' });
}

/** `google.rpc.ErrorInfo` (reason = 1, domain = 2, metadata = 3) of an error code and its context. */
export function errorInfo(reason: string, context: JsonObject): JsonObject {
  const metadata = Object.entries(context).map(([key, value]) =>
    field(3, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(asText(value)))])),
  );
  const value = Buffer.concat([field(1, Buffer.from(reason)), ...metadata]);
  return detail('ErrorInfo', value, { reason, domain: '', metadata: context });
}
