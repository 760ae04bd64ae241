/** Decodes frames of both streams: every kind, every absent field, every wrong type, and fuzzed frames. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import * as decode from '../../../src/ledger/frames/decode.ts';
import { UnknownNames } from '../../../src/model/unknown.ts';
import type { ActiveContractEntry, Update } from '../../../src/model/update.ts';
import * as inMemory from '../../support/wire/decode.ts';
import * as frames from '../../support/frames.ts';
import type { Json, JsonRecord } from '../../support/frames.ts';
import { expectProperty } from '../../support/chance/property.ts';

const { text } = frames;
type Path = readonly (string | number)[];

const updates: readonly (readonly [string, JsonRecord])[] = [
  ['transaction', frames.fullTransaction()],
  ['unassign', frames.reassignment(50, { JsUnassignedEvent: { value: frames.unassigned() } })],
  ['assign', frames.reassignment(51, { JsAssignmentEvent: frames.assigned() }, frames.there)],
  ['topology', frames.topology(60)],
  ['OffsetCheckpoint', frames.offsetCheckpoint(70)],
];
const entries: readonly (readonly [string, JsonRecord])[] = [
  ['active', frames.activeEntry()],
  [
    'incomplete unassigned',
    frames.entry('JsIncompleteUnassigned', { createdEvent: frames.created(), unassignedEvent: frames.unassigned() }),
  ],
  ['incomplete assigned', frames.entry('JsIncompleteAssigned', { assignedEvent: frames.assigned() })],
  ['empty', frames.entry('JsEmpty', {})],
];

/** Decodes from bytes and from a string. The quick reader and the scanner must return the same result. */
function decodeUpdate(frame: string): Update {
  const decodedUpdate = inMemory.copyValue(inMemory.decodeUpdate(frame));
  expect(decodedUpdate).toEqual(decode.decodeUpdate(frame));
  return decodedUpdate;
}

function decodeActiveContract(frame: string): ActiveContractEntry {
  const decodedContract = inMemory.copyValue(inMemory.decodeActiveContract(frame));
  expect(decodedContract).toEqual(decode.decodeActiveContract(frame));
  return decodedContract;
}

/** Every path in a value, except the root. */
function paths(value: Json, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, nestedValue]) => {
    const childPath = [...path, Array.isArray(value) ? Number(key) : key];
    return [childPath, ...paths(nestedValue, childPath)];
  });
}

/** A copy in which the value at the path is replaced, or removed if `replacement` is undefined. */
function replaceAt(frame: Json, path: Path, replacement: Json | undefined): Json {
  const copy = structuredClone(frame);
  let parent = copy as { [key: string | number]: Json };
  for (const key of path.slice(0, -1)) parent = parent[key] as { [key: string]: Json };
  const last = path.at(-1) ?? '';
  if (replacement !== undefined) {
    // A plain assignment of __proto__ would change the prototype of the fixture.
    Object.defineProperty(parent, last, { value: replacement, enumerable: true, writable: true, configurable: true });
  } else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  return copy;
}

function refusal(decode: () => unknown): IndexerError | undefined {
  try {
    decode();
    return undefined;
  } catch (error) {
    if (error instanceof IndexerError) return error;
    throw error;
  }
}

describe('decodeUpdate()', () => {
  it('decodes all four kinds of updates with every field', () => {
    const [transaction, unassign, assign, topology, checkpoint] = updates.map(([, frame]) => decodeUpdate(text(frame)));
    expect(transaction).toMatchObject({
      kind: 'transaction',
      offset: 41,
      commandId: 'command',
      workflowId: 'workflow',
      traceParent: '00-aa-bb-01',
      traceState: 'vendor=1',
      externalTransactionHash: 'ff00',
      paidTrafficCost: 512,
      events: [
        { kind: 'created', payload: `{"owner":"${frames.alice}","amount":"60.0000000000"}`, createdEventBlob: 'AAAA' },
        { kind: 'exercised', choice: 'Transfer', consuming: true, interfaceId: { entityName: 'Holding' } },
        { kind: 'archived', contractId: '00c3' },
      ],
    });
    expect(unassign).toMatchObject({ kind: 'reassignment', events: [{ kind: 'unassigned', submitter: frames.alice }] });
    expect(assign).toMatchObject({
      events: [{ kind: 'assigned', created: { contractId: '00c1' }, target: frames.there }],
    });
    expect(topology).toMatchObject({ kind: 'topology', events: [{ name: 'ParticipantAuthorizationAdded' }] });
    expect(checkpoint).toEqual({
      kind: 'offset_checkpoint',
      offset: 70,
      synchronizerTimes: [{ synchronizerId: frames.here, recordTime: frames.recordTime }],
    });
  });

  it('keeps an unknown kind raw, with its offset', () => {
    const frame = frames.update('Prophecy', {
      offset: 9,
      updateId: 'u',
      deep: [{ number: 1 }],
      details: { a: '1.50' },
    });
    const decodedUpdate = decodeUpdate(text(frame));
    expect(decodedUpdate).toMatchObject({ kind: 'unknown', name: 'Prophecy', offset: 9, updateId: 'u' });
    expect(decodedUpdate.kind === 'unknown' ? decodedUpdate.raw : undefined).toBe(text(frame['update'] ?? null));
  });

  it.each(updates)('accepts a missing field or reports its path and offset: %s', (_name, frame) => {
    for (const path of paths(frame)) {
      const decodeError = refusal(() => decodeUpdate(text(replaceAt(frame, path, undefined))));
      if (decodeError === undefined) continue;
      expect(decodeError.code).toBe('UPDATE_UNDECODABLE');
      expect(decodeError.facts['path'], path.join('.')).toBeTypeOf('string');
      const withoutOffset = path.length <= 3 || path.at(-1) === 'offset';
      expect(withoutOffset || typeof decodeError.facts['offset'] === 'number', decodeError.message).toBe(true);
    }
  });

  it('requires only the fields that indexing needs or that every release sends', () => {
    const requiredPaths = paths(frames.fullTransaction())
      .filter((path) => refusal(() => decodeUpdate(text(replaceAt(frames.fullTransaction(), path, undefined)))))
      .map((path) => path.at(-1));
    expect(new Set(requiredPaths)).toEqual(
      new Set([
        'update',
        'Transaction',
        'value',
        'offset',
        'updateId',
        'synchronizerId',
        'recordTime',
        'effectiveAt',
        'CreatedEvent',
        'ExercisedEvent',
        'ArchivedEvent',
        'contractId',
        'templateId',
        'choice',
        'interfaceId',
      ]),
    );
  });

  it('reports the path of a field with the wrong type, and does not print the value', () => {
    const secret = 'do-not-print-me';
    for (const [invalidFrame, path] of [
      [{ secret }, 'update.Transaction.value.updateId'],
      [[secret], 'update.Transaction.value.recordTime'],
      [secret, 'update.Transaction.value.events'],
      [secret, 'update.Transaction.value.offset'],
      [1.5, 'update.Transaction.value.offset'],
      [-1, 'update.Transaction.value.offset'],
    ] as const) {
      const decodeError = refusal(() =>
        decodeUpdate(text(replaceAt(frames.fullTransaction(), path.split('.'), invalidFrame as Json))),
      );
      expect(decodeError).toMatchObject({ code: 'UPDATE_UNDECODABLE', retry: 'park', exitCode: 65, facts: { path } });
      expect(decodeError?.message).not.toContain(secret);
    }
  });

  it('rejects offsets from 2^53, which JavaScript numbers cannot represent exactly', () => {
    for (const offset of ['9007199254740992', '9007199254740993', '9223372036854775807', '1e300']) {
      const frame = text(frames.fullTransaction()).replace(
        '"offset":41,"synchronizerId"',
        `"offset":${offset},"synchronizerId"`,
      );
      expect(refusal(() => decodeUpdate(frame))?.facts['path']).toBe('update.Transaction.value.offset');
    }
    const last = frames.transaction(Number.MAX_SAFE_INTEGER, []);
    expect(decodeUpdate(text(last)).offset).toBe(9_007_199_254_740_991);
  });

  it('rejects text that is not JSON or not an update', () => {
    for (const frame of ['', '{', 'null', '[]', '7', '"x"', '{"update":{}}', '{"update":null}']) {
      expect(refusal(() => decodeUpdate(frame))?.code).toBe('UPDATE_UNDECODABLE');
    }
  });
});

describe('decodeActiveContract()', () => {
  it('decodes active, incomplete and empty entries', () => {
    const decodedEntries = entries.map(([, frame]) => decodeActiveContract(text(frame)));
    expect(decodedEntries).toMatchObject([
      {
        kind: 'active',
        synchronizerId: frames.here,
        reassignmentCounter: 0,
        workflowId: 'import',
        continuationToken: 'dG9r',
      },
      { kind: 'incomplete_unassigned', unassigned: { target: frames.there } },
      { kind: 'incomplete_assigned', assigned: { created: { contractId: '00c1' } } },
      { kind: 'empty' },
    ]);
    expect(decodedEntries[2]?.kind === 'incomplete_assigned' && JSON.parse(decodedEntries[2].createdText)).toEqual(
      frames.created({ offset: 51 }),
    );
  });

  it.each(entries)('accepts a missing field or reports UPDATE_UNDECODABLE: %s', (_name, frame) => {
    for (const path of paths(frame)) {
      const decodeError = refusal(() => decodeActiveContract(text(replaceAt(frame, path, undefined))));
      expect([undefined, 'UPDATE_UNDECODABLE']).toContain(decodeError?.code);
    }
  });
});

describe('frame decoders under fuzzing', () => {
  const oddKeys = fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'value',
    'offset',
    'CreatedEvent',
  );
  const oddArbitrary: fc.Arbitrary<Json> = fc.oneof(
    fc.jsonValue() as fc.Arbitrary<Json>,
    fc.constantFrom<Json>(null, -0, 1e300, 9_007_199_254_740_992, '', '\u0000', '\ud800', [], {}),
    fc.dictionary(oddKeys, fc.jsonValue() as fc.Arbitrary<Json>),
  );
  const pristine = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));

  function expectNoCrash(decode: (frame: string) => unknown, frame: string): void {
    const decodeError = refusal(() => {
      expect(decode(frame)).toHaveProperty('kind');
    });
    expect([undefined, 'UPDATE_UNDECODABLE']).toContain(decodeError?.code);
    expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(pristine);
  }

  it.each([
    ['update', updates, decodeUpdate],
    ['entry', entries, decodeActiveContract],
  ] as const)('decode or reject a frame with a mutated %s, without any other error', (_name, samples, decode) => {
    const mutatedFrame = fc
      .constantFrom(...samples.map(([, frame]) => frame))
      .chain((frame) =>
        fc
          .tuple(fc.constantFrom(...paths(frame)), fc.option(oddArbitrary, { nil: undefined }))
          .map(([path, value]) => text(replaceAt(frame, path, value))),
      );
    expectProperty(
      fc.property(mutatedFrame, (frame) => {
        expectNoCrash(decode, frame);
      }),
      2_000,
    );
  });

  it('decode or reject truncated or patched text, without any other error', () => {
    const samples = updates.map(([, frame]) => text(frame));
    const patch = fc.constantFrom(
      '1.50',
      '12345678901234567890',
      '{',
      '}',
      '"',
      ',',
      '[',
      ']',
      '\\',
      '\\u0000',
      'null',
      '',
    );
    expectProperty(
      fc.property(fc.constantFrom(...samples), fc.nat(), fc.nat(30), patch, (frame, position, length, insertedText) => {
        const start = position % frame.length;
        expectNoCrash(decodeUpdate, frame.slice(0, start) + insertedText + frame.slice(start + length));
      }),
      2_000,
    );
  });
});

describe('fallbackDecodedTransactions', () => {
  const fullFrame = text(frames.fullTransaction());

  it('counts the transactions that the quick reader passes to the scanner', () => {
    const unknown = new UnknownNames();
    inMemory.decodeUpdate(fullFrame, unknown);
    // Strings are always decoded by the scanner.
    decode.decodeUpdate(fullFrame.replaceAll('":', '": '), unknown);
    // Frames other than transactions are always decoded by the scanner.
    inMemory.decodeUpdate(text(frames.offsetCheckpoint(70)), unknown);
    expect(unknown.fallbackDecodedTransactions).toBe(0);
    inMemory.decodeUpdate(fullFrame.replaceAll('":', '": '), unknown);
    expect(unknown.fallbackDecodedTransactions).toBe(1);
  });
});
