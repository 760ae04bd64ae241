/** The quick reader and the scanner report fields that this version does not know, and never report known fields. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fieldsByMessage } from '../../../src/ledger/frames/known-fields.ts';
import { decodeActiveContract, decodeUpdate } from '../../../src/ledger/frames/decode.ts';
import { decodeCompletion } from '../../../src/ledger/frames/decode-completion.ts';
import { UnknownNames, otherNames } from '../../../src/model/unknown.ts';
import * as frames from '../../support/frames.ts';
import type { Json, JsonRecord } from '../../support/frames.ts';
import { fixture, fixtureLines, sampleNames } from '../../support/wire/fixtures.ts';

const unassignment = { JsUnassignedEvent: { value: frames.unassigned() } };
const everyUpdate = [
  frames.fullTransaction(41),
  frames.reassignment(50, unassignment),
  frames.reassignment(51, { JsAssignmentEvent: frames.assigned() }),
  frames.topology(60),
  frames.offsetCheckpoint(70),
];
const completionKinds = [
  {
    completionResponse: {
      Completion: {
        value: {
          offset: 80,
          commandId: 'c',
          updateId: '1220ab',
          userId: 'u',
          actAs: ['a::1220'],
          submissionId: 's',
          status: { code: 0, message: '', details: [] },
          deduplicationPeriod: { DeduplicationOffset: { value: 7 } },
          traceContext: { traceparent: null, tracestate: null },
          synchronizerTime: { synchronizerId: 's::1220', recordTime: '2026-01-05T08:00:00Z' },
          paidTrafficCost: 1,
        },
      },
    },
  },
  { completionResponse: { OffsetCheckpoint: { value: { offset: 81, synchronizerTimes: [] } } } },
];
const entryKinds = [
  frames.activeEntry(),
  frames.entry('JsIncompleteUnassigned', { createdEvent: frames.created(), unassignedEvent: frames.unassigned() }),
  frames.entry('JsIncompleteAssigned', { assignedEvent: frames.assigned() }),
  frames.entry('JsEmpty', {}),
];

type Decode = typeof decodeUpdate | typeof decodeActiveContract | typeof decodeCompletion;

function unknownOf(decode: Decode, text: string): readonly string[] {
  const unknown = new UnknownNames();
  decode(text, unknown);
  return unknown.all.map(({ kind, name, firstOffset, count }) => `${kind} ${name} ${String(firstOffset)} ${count}`);
}

const opaque = new Set(['createArgument', 'contractKey', 'choiceArgument', 'exerciseResult', 'viewValue', 'details']);

/** The value with one more field in every object that is not a payload. */
function withUnknownField(value: Json, name: string): Json {
  if (Array.isArray(value)) return value.map((entry) => withUnknownField(entry, name));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, nestedValue]) => [
    key,
    opaque.has(key) ? nestedValue : withUnknownField(nestedValue, name),
  ]);
  return { ...(Object.fromEntries(fields) as JsonRecord), [name]: { n: [1.5] } };
}

describe('unknown fields', () => {
  it('are reported with message, offset and count by the quick reader and the scanner', () => {
    const frame = frames.transaction(41, [
      { CreatedEvent: frames.created({ shape: 1 }) },
      { CreatedEvent: frames.created({ shape: null, 'no name of ours': {} }) },
      { ExercisedEvent: frames.exercised({ cost: [{ a: 1 }] }) },
    ]);
    const expected = [
      'field CreatedEvent.shape 41 2',
      'field CreatedEvent.(unknown) 41 1',
      'field ExercisedEvent.cost 41 1',
    ];
    expect(unknownOf(decodeUpdate, JSON.stringify(frame))).toEqual(expected);
    expect(unknownOf(decodeUpdate, JSON.stringify(frame, undefined, 1))).toEqual(expected);
  });

  it('are reported in every type of message', () => {
    const fieldNames = new Set<string>();
    const collect = (decode: Decode, frame: JsonRecord): void => {
      for (const name of unknownOf(decode, JSON.stringify(withUnknownField(frame, 'novel')))) {
        expect(name).toMatch(/^field \w+\.novel /);
        fieldNames.add(name.split(/[ .]/)[1] ?? '');
      }
    };
    for (const frame of everyUpdate) collect(decodeUpdate, frame);
    for (const frame of entryKinds) collect(decodeActiveContract, frame);
    for (const frame of completionKinds) collect(decodeCompletion, frame);
    expect([...fieldNames].sort()).toEqual(Object.keys(fieldsByMessage).sort());
  });

  it('are reported even with the names of JavaScript properties, but not in known frames', () => {
    for (const frame of everyUpdate) expect(unknownOf(decodeUpdate, JSON.stringify(frame, undefined, 1))).toEqual([]);
    for (const frame of entryKinds) expect(unknownOf(decodeActiveContract, JSON.stringify(frame))).toEqual([]);
    for (const frame of completionKinds) expect(unknownOf(decodeCompletion, JSON.stringify(frame))).toEqual([]);
    const oddTopology = JSON.stringify(frames.topology(60)).replace(
      '"traceContext":null',
      '"constructor":1,"__proto__":{}',
    );
    expect(unknownOf(decodeUpdate, oddTopology)).toEqual([
      'field TopologyTransaction.constructor 60 1',
      'field TopologyTransaction.(unknown) 60 1',
    ]);
  });

  it('are all fields without a row in docs/reference/coverage.md', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../docs/reference/coverage.md'), 'utf8');
    const documentedFieldPairs = [...text.matchAll(/^\| ([A-Z]\w+)\.(\w+) /gm)].map(
      ([, message = '', field = '']) => `${message}.${field}`,
    );
    const knownNames = Object.entries(fieldsByMessage)
      .filter(([message]) => /^[A-Z]/.test(message))
      .flatMap(([message, fields]) => Object.keys(fields).map((field) => `${message}.${field}`))
      // These fields are described in the text of the page. Their own fields have separate tables.
      .filter(
        (field) =>
          !/\.(?:traceContext|viewStatus|contractEntry|synchronizerTimes?|status|deduplicationPeriod)$/.test(field),
      );
    // A deduplication period is documented by the fields of its kinds.
    const plainFields = (fields: readonly string[]): readonly string[] =>
      fields.filter((field) => !field.startsWith('DeduplicationPeriod.')).sort();
    expect(plainFields(knownNames)).toEqual(plainFields(documentedFieldPairs));
  });

  it('do not occur in recordings of participants or in samples', () => {
    const names = ['updates-ledger-effects', 'updates-acs-delta', 'active-contracts'];
    const lines = ['core', 'two-synchronizers'].flatMap((recordingName) =>
      names.flatMap((name) => fixtureLines(`recordings/${recordingName}/${name}.jsonl`)),
    );
    const samples = sampleNames().map((name) => fixture(`samples/${name}`));
    const readCounts = { updates: 0, entries: 0 };
    for (const text of [...lines, ...samples]) {
      const frame = JSON.parse(text) as object;
      if ('update' in frame) {
        expect(unknownOf(decodeUpdate, text), text).toEqual([]);
        readCounts.updates += 1;
      } else if ('contractEntry' in frame) {
        expect(unknownOf(decodeActiveContract, text), text).toEqual([]);
        readCounts.entries += 1;
      }
    }
    expect(readCounts.updates).toBeGreaterThan(300);
    expect(readCounts.entries).toBeGreaterThan(100);
  });
});

describe('UnknownNames', () => {
  it('counts the first fifty names individually, and all further names together', () => {
    const unknown = new UnknownNames();
    for (let at = 0; at < 1_000; at += 1)
      unknown.add({ kind: 'update', name: `K${String(at)}`, firstOffset: at, count: 1 });
    expect(unknown.size).toBe(51);
    expect(unknown.all.at(-1)).toEqual({ kind: 'update', name: otherNames, firstOffset: 50, count: 950 });
    expect(unknown.add({ kind: 'update', name: 'K7', firstOffset: 2_000, count: 2 })).toEqual({
      name: 'K7',
      fresh: false,
    });
    expect(unknown.all[7]).toEqual({ kind: 'update', name: 'K7', firstOffset: 7, count: 3 });
  });
});
