/** The quick reader must return the same structure and payloads as the scanner, or pass the frame to the scanner. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFrame } from '../../../src/ledger/frames/frame-reader.ts';
import { activeContractFrame, updateFrame } from '../../../src/ledger/frames/frame-shapes.ts';
import { payloadKeys, scanFrame, type RawJson } from '../../../src/ledger/frames/raw-json.ts';
import { copyValue, frameOf } from '../../support/wire/decode.ts';
import * as frames from '../../support/frames.ts';
import { expectProperty } from '../../support/chance/property.ts';

const transaction = (...events: frames.JsonRecord[]): string => frames.text(frames.transaction(7, events));
const createOf = (argument: string): string =>
  transaction({ CreatedEvent: frames.created({ createArgument: 'HERE' }) }).replace('"HERE"', () => argument);

const knownKeys = new Set(
  [...transaction({ CreatedEvent: frames.created() }, { ExercisedEvent: frames.exercised() }).matchAll(/"(\w+)":/g)]
    .map(([, key]) => key ?? '')
    .concat('contractEntry', 'JsActiveContract', 'createdEvent', 'synchronizerId', 'reassignmentCounter', 'workflowId'),
);

/** A frame as decoded by the quick reader, with its payloads; undefined if the quick reader does not decode it. */
function readQuickly(text: string, shape = updateFrame): unknown {
  const parsedFrame = readFrame(frameOf(text), shape);
  return parsedFrame && withoutPayloads(copyValue(parsedFrame.value), (payload) => payload);
}

/** The payloads of a frame, as text. */
function payloadsOf(text: string): readonly string[] {
  const readFields: string[] = [];
  withoutPayloads(copyValue(readFrame(frameOf(text), updateFrame)?.value), (payload) =>
    readFields.push(String(payload)),
  );
  return readFields;
}

function readSlowly(text: string): unknown {
  return withoutPayloads(scanFrame(text), (raw) => (raw as RawJson).text);
}

/** The value without absent fields, and without fields that the quick reader skips. */
function withoutPayloads(value: unknown, payloadOf: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => withoutPayloads(entry, payloadOf));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key, nestedValue]) => knownKeys.has(key) && (nestedValue ?? null) !== null,
  );
  const nestedEntry = ([key, fieldValue]: [string, unknown]): [string, unknown] => [
    key,
    payloadKeys.has(key) ? payloadOf(fieldValue) : withoutPayloads(fieldValue, payloadOf),
  ];
  return Object.fromEntries(entries.map(nestedEntry));
}

const json = fc.json({ maxDepth: 4 }).map((text) => text.trim());
const shortString = fc.string({ unit: 'grapheme', maxLength: 12 });
const optionalArbitrary = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null | undefined> =>
  fc.oneof({ weight: 4, arbitrary }, fc.constantFrom(null, undefined));

/** An object with its fields in any order, some absent, some unknown. */
function shuffleFields(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<string> {
  const knownFields = fc.record(
    Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, optionalArbitrary(value)])),
  );
  return fc
    .tuple(knownFields, fc.array(fc.tuple(shortString, json), { maxLength: 1 }), fc.infiniteStream(fc.nat()))
    .map(([values, otherFields, keys]) => {
      const members = Object.entries(values)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => `"${key}":${payloadKeys.has(key) ? String(value) : printValue(value)}`)
        .concat(otherFields.map(([key, value]) => `${JSON.stringify(`other${key}`)}:${value}`));
      const orderedMembers = members.map((text) => ({ text, key: keys.next().value as number }));
      return `{${orderedMembers.sort((a, b) => a.key - b.key).map(({ text }) => text).join(',')}}`; // prettier-ignore
    });
}

/** Prints a value as JSON. Objects are already texts. */
function printValue(value: unknown): string {
  if (Array.isArray(value) && typeof value[0] === 'string' && value[0].startsWith('{')) return `[${value.join(',')}]`;
  return typeof value === 'string' && value.startsWith('{') ? value : JSON.stringify(value);
}

const text = shortString.filter((value) => !value.startsWith('{'));
const integer = fc.oneof(fc.integer(), fc.maxSafeInteger());
const createdJson = shuffleFields({
  offset: integer,
  contractId: text,
  createArgument: json,
  contractKey: json,
  signatories: fc.array(text, { maxLength: 3 }),
  interfaceViews: fc.array(
    shuffleFields({ interfaceId: text, viewValue: json, viewStatus: shuffleFields({ code: integer }) }),
    {
      maxLength: 2,
    },
  ),
  acsDelta: fc.boolean(),
});
const exercisedJson = shuffleFields({
  choice: text,
  choiceArgument: json,
  exerciseResult: json,
  consuming: fc.boolean(),
});
const event = fc.oneof(
  createdJson.map((value) => `{"CreatedEvent":${value}}`),
  exercisedJson.map((value) => `{"ExercisedEvent":${value}}`),
);
const frame = shuffleFields({
  offset: integer,
  events: fc.array(event, { maxLength: 3 }),
  commandId: text,
  traceContext: shuffleFields({ traceparent: text }),
}).map((value) => `{"update":{"Transaction":{"value":${value}}}}`);

describe('readFrame()', () => {
  it('returns the same value as the scanner for any field order and unknown fields', () => {
    let readCount = 0;
    expectProperty(
      fc.property(frame, (frameText) => {
        const quickFields = readQuickly(frameText);
        readCount += quickFields === undefined ? 0 : 1;
        if (quickFields !== undefined) expect(quickFields).toEqual(readSlowly(frameText));
      }),
      1_500,
    );
    expect(readCount, 'frames that were not left to the scanner').toBeGreaterThan(500);
  });

  it('passes a damaged frame to the scanner, unless the damage is in a payload', () => {
    const damageArbitrary = fc.tuple(
      fc.nat(),
      fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', '\\', '0', 'n', ' '),
    );
    expectProperty(
      fc.property(frame, damageArbitrary, (frameText, [position, replacement]) => {
        const damagePosition = position % frameText.length;
        // A WebSocket never delivers half a character.
        const damagedFrame = (
          frameText.slice(0, damagePosition) +
          replacement +
          frameText.slice(damagePosition + 1)
        ).toWellFormed();
        if (readFrame(frameOf(damagedFrame), updateFrame) === undefined) return;
        if (isJson(damagedFrame)) expect(readQuickly(damagedFrame)).toEqual(readSlowly(damagedFrame));
        else expect(payloadsOf(damagedFrame).every(isJson)).toBe(false);
      }),
      3_000,
    );
  });

  it.each([
    '9007199254740993',
    '1.10',
    '1e400',
    '12345678901234567890123456789.0123456789',
    '[1,9007199254740993]',
    '{"a" : 1.50}',
    'true',
    '""',
    String.raw`"a\\"`,
    String.raw`{"a":"]}\\\"{","createArgument":{"b":[]}}`,
    String.raw`{"exerciseResult":"\"createArgument\":1"}`,
  ])('keeps the payload %s unchanged', (argument) => {
    expect(payloadsOf(createOf(argument))).toContain(argument);
  });

  it.each([
    ['a frame with spaces', transaction({ CreatedEvent: frames.created() }).replaceAll('":', '": ')],
    ['a key that contains escapes', createOf('5').replace('createArgument', String.raw`create\u0041rgument`)],
    ['an integer that a number cannot represent', createOf('5').replace('"offset":7', '"offset":9007199254740993')],
    ['an update of another kind', '{"update":{"Novelty":{"value":{"offset":7}}}}'],
    ['two kinds at once', createOf('5').replace('{"Transaction"', '{"Novelty":{},"Transaction"')],
    [
      'an event of two kinds',
      createOf('5').replace('{"CreatedEvent"', '{"ExercisedEvent":{"offset":7},"CreatedEvent"'),
    ],
    [
      'a field that occurs twice',
      createOf('5').replace('"createArgument":5', '"createArgument":{"a""b"},"createArgument":5'),
    ],
    ['text after the frame', `${createOf('5')} {}`],
    ['a truncated frame', createOf('5').slice(0, -9)],
    ['a text instead of a list', createOf('5').replace(/"signatories":\[[^\]]*\]/, '"signatories":"Alice"')],
  ])('passes %s to the scanner', (_, frameText) => {
    expect(readFrame(frameOf(createOf('5')), updateFrame)).toBeDefined();
    expect(readFrame(frameOf(frameText), updateFrame)).toBeUndefined();
  });

  it('returns the same active contract as the scanner', () => {
    const entry = { createdEvent: frames.created(), synchronizerId: 'here', reassignmentCounter: 3 };
    const frameText = JSON.stringify({ workflowId: 'w', contractEntry: { JsActiveContract: entry } });
    expect(readQuickly(frameText, activeContractFrame)).toEqual(readSlowly(frameText));
    expect(readQuickly(frameText, activeContractFrame)).toHaveProperty(
      'contractEntry.JsActiveContract.reassignmentCounter',
      3,
    );
  });
});

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
