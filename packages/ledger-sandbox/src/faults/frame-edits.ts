/** Changes to the text and the bytes of one frame, for the fault script. Pure. */
import { asObject, parseJson } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';

/** Fields that contain data of contracts and choices, whose keys are chosen by users of the ledger. */
const payloads = new Set(['createArgument', 'choiceArgument', 'exerciseResult', 'contractKey', 'viewValue', 'context']);

/** True for a frame that contains an update other than a checkpoint. */
export function isUpdate(text: string): boolean {
  return text.startsWith('{"update":{') && !isCheckpoint(text);
}

/** True for an OffsetCheckpoint frame. */
export function isCheckpoint(text: string): boolean {
  return text.startsWith('{"update":{"OffsetCheckpoint"');
}

/** The offset of a frame. In the participant's key order, the first offset is that of the update. */
export function offsetOf(text: string): number | undefined {
  const offsetText = /"offset":(\d+)/.exec(text)?.[1];
  return offsetText === undefined ? undefined : Number(offsetText);
}

function editObject(value: Json, edit: (object: JsonObject) => JsonObject): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((element) => editObject(element, edit));
  const object = asObject(value);
  if (object === undefined) return value;
  const editedEntries = Object.entries(object).map(
    ([key, child]) => [key, payloads.has(key) ? child : editObject(child, edit)] as const,
  );
  return edit(Object.fromEntries(editedEntries));
}

function editFrame(text: string, edit: (object: JsonObject) => JsonObject): string {
  const body = parseJson(text);
  return body === undefined ? text : JSON.stringify(editObject(body, edit));
}

/** The frame without these keys, in all objects outside of payloads. */
export function withoutKeys(text: string, keys: readonly string[]): string {
  return editFrame(text, (object) => Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key))));
}

/**
 * The frame with these keys added in all objects outside of payloads. Sum types, which have one key, are not changed.
 */
export function withKeys(text: string, keys: JsonObject): string {
  return editFrame(text, (object) => (Object.keys(object).length > 1 ? { ...object, ...keys } : object));
}

const partyLists = new Set(['signatories', 'observers', 'witnessParties', 'actingParties']);

/** The frame with its lists of parties reversed. */
export function withPartiesReversed(text: string): string {
  const isParties = (key: string, value: Json): value is Json[] => partyLists.has(key) && Array.isArray(value);
  return editFrame(text, (object) =>
    Object.fromEntries(
      Object.entries(object).map(([key, value]) => [key, isParties(key, value) ? value.toReversed() : value]),
    ),
  );
}

/**
 * The frame with its views of interfaces as a newer package computes them: with an optional field added at their end.
 */
export function withNewerViews(text: string, implementationPackageId: string): string {
  return editFrame(text, (object) => {
    const value = asObject(object['viewValue']);
    return value === undefined
      ? object
      : { ...object, viewValue: { ...value, addedLater: null }, implementationPackageId };
  });
}

/** The update with a kind that no release knows. */
export function withUnknownKind(text: string): string {
  return text.replace(/^\{"update":\{"\w+"/, '{"update":{"SandboxUpdate"');
}

/** The frame, extended with blanks to this many bytes. */
export function padFrame(text: string, bytes: number): string {
  return text + ' '.repeat(Math.max(0, bytes - Buffer.byteLength(text)));
}

/**
 * The text in two parts. The first part ends inside the first multi-byte character or, if there is none, in the middle.
 */
export function splitInHalf(text: string): readonly [Buffer, Buffer] {
  const bytes = Buffer.from(text);
  const wideByteIndex = bytes.findIndex((byte) => byte >= 0xc0);
  const splitIndex = wideByteIndex < 0 ? bytes.length >> 1 : wideByteIndex + 1;
  return [bytes.subarray(0, splitIndex), bytes.subarray(splitIndex)];
}

/** The bytes of the text, with the first byte of a multi-byte character that lacks its other bytes. */
export function brokenUtf8(text: string): Buffer {
  return Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.of(0xc3), Buffer.from(text.slice(-1))]);
}

/** The text as one unmasked WebSocket text frame, header included (RFC 6455, section 5.2). */
export function wireBytes(text: string): Buffer {
  const payload = Buffer.from(text);
  if (payload.length < 126) return Buffer.concat([Buffer.of(0x81, payload.length), payload]);
  const isWide = payload.length > 0xff_ff;
  const header = Buffer.alloc(isWide ? 10 : 4);
  header.writeUInt16BE(isWide ? 0x817f : 0x817e);
  if (isWide) header.writeBigUInt64BE(BigInt(payload.length), 2);
  else header.writeUInt16BE(payload.length, 2);
  return Buffer.concat([header, payload]);
}
