/**
 * The parts of frames that occur millions of times, field by field, for the fast reader. All other content of a ledger
 * is read without this table, so a field that is missing here costs time, not data.
 */
import type { JsonObject } from './field.ts';

/** A text to be compared with the bytes of a frame, four bytes at a time and then the remaining ones. */
export interface EncodedText {
  readonly bytes: Buffer;
  /** The text as 32-bit words, little-endian. */
  readonly words: readonly number[];
}

export function encodeText(text: string): EncodedText {
  const bytes = Buffer.from(text);
  const int32Words = Array.from({ length: bytes.length >> 2 }, (_, index) => bytes.readInt32LE(index * 4));
  return { bytes, words: int32Words };
}

/** A `name`, or a list of `names`, recurs often; a `text` differs nearly every time. */
type ScalarKind = 'text' | 'name' | 'names' | 'integer' | 'flag' | 'payload';

/** `label` is the key with quotes and colon. `shape` is that of an `object`, or of each element of `objects`. */
export type Field = { readonly name: string; readonly label: EncodedText; readonly slot: number } & (
  | { readonly kind: ScalarKind; readonly shape: undefined }
  | { readonly kind: 'object' | 'objects'; readonly shape: Shape }
);

/** The values of an object in the order of its shape's fields; undefined for fields that the frame does not have. */
export type Values = readonly unknown[];

export class Shape {
  readonly fields: readonly Field[];
  /**
   * The field that was found at each position last time, because a ledger prints fields in the same order every time.
   */
  readonly order: Field[] = [];
  readonly #blank: readonly unknown[];
  /**
   * Name of the message in docs/reference/coverage.md; undefined if a frame with other fields is left to the scanner.
   */
  readonly message: string | undefined;
  /**
   * Creates the object, with a literal for each shape, because the engine creates literals far faster than key by key.
   * @throws SyntaxError for content that is left to the scanner
   */
  readonly make: (values: Values) => JsonObject;

  /** An empty list for the values of one object. */
  blank(): unknown[] {
    return this.#blank.slice();
  }

  constructor(
    message: string | undefined,
    fields: Readonly<Record<string, ScalarKind | Shape | readonly [Shape]>>,
    build: Shape['make'],
  ) {
    this.message = message;
    this.make = build;
    this.#blank = Object.keys(fields).map(() => undefined);
    this.fields = Object.entries(fields).map(([name, type], slot): Field => {
      const label = encodeText(`${JSON.stringify(name)}:`);
      if (type instanceof Shape) return { name, label, slot, kind: 'object', shape: type };
      if (typeof type === 'string') return { name, label, slot, kind: type, shape: undefined };
      return { name, label, slot, kind: 'objects', shape: type[0] };
    });
  }
}

export const viewStatus = new Shape('ViewStatus', { code: 'integer', message: 'text', details: 'payload' }, (v) => ({
  code: v[0],
  message: v[1],
  details: v[2],
}));

export const interfaceView = new Shape(
  'InterfaceView',
  { interfaceId: 'name', viewStatus, viewValue: 'payload', implementationPackageId: 'name' },
  (v) => ({ interfaceId: v[0], viewStatus: v[1], viewValue: v[2], implementationPackageId: v[3] }),
);

export const created = new Shape(
  'CreatedEvent',
  {
    offset: 'integer',
    nodeId: 'integer',
    contractId: 'text',
    templateId: 'name',
    contractKey: 'payload',
    contractKeyHash: 'text',
    createArgument: 'payload',
    createdEventBlob: 'text',
    interfaceViews: [interfaceView],
    witnessParties: 'names',
    signatories: 'names',
    observers: 'names',
    createdAt: 'text',
    packageName: 'name',
    representativePackageId: 'name',
    acsDelta: 'flag',
  },
  (v) => ({
    offset: v[0],
    nodeId: v[1],
    contractId: v[2],
    templateId: v[3],
    contractKey: v[4],
    contractKeyHash: v[5],
    createArgument: v[6],
    createdEventBlob: v[7],
    interfaceViews: v[8],
    witnessParties: v[9],
    signatories: v[10],
    observers: v[11],
    createdAt: v[12],
    packageName: v[13],
    representativePackageId: v[14],
    acsDelta: v[15],
  }),
);

export const archivedShape = new Shape(
  'ArchivedEvent',
  {
    offset: 'integer',
    nodeId: 'integer',
    contractId: 'text',
    templateId: 'name',
    witnessParties: 'names',
    packageName: 'name',
    implementedInterfaces: 'names',
  },
  (v) => ({
    offset: v[0],
    nodeId: v[1],
    contractId: v[2],
    templateId: v[3],
    witnessParties: v[4],
    packageName: v[5],
    implementedInterfaces: v[6],
  }),
);

export const exercised = new Shape(
  'ExercisedEvent',
  {
    offset: 'integer',
    nodeId: 'integer',
    contractId: 'text',
    templateId: 'name',
    interfaceId: 'name',
    choice: 'name',
    choiceArgument: 'payload',
    actingParties: 'names',
    consuming: 'flag',
    witnessParties: 'names',
    lastDescendantNodeId: 'integer',
    exerciseResult: 'payload',
    packageName: 'name',
    implementedInterfaces: 'names',
    acsDelta: 'flag',
  },
  (v) => ({
    offset: v[0],
    nodeId: v[1],
    contractId: v[2],
    templateId: v[3],
    interfaceId: v[4],
    choice: v[5],
    choiceArgument: v[6],
    actingParties: v[7],
    consuming: v[8],
    witnessParties: v[9],
    lastDescendantNodeId: v[10],
    exerciseResult: v[11],
    packageName: v[12],
    implementedInterfaces: v[13],
    acsDelta: v[14],
  }),
);

const event = new Shape(
  undefined,
  { ExercisedEvent: exercised, CreatedEvent: created, ArchivedEvent: archivedShape },
  ([exercise, create, archive]) => {
    if (create === undefined && archive === undefined) return { ExercisedEvent: exercise };
    if (exercise === undefined && archive === undefined) return { CreatedEvent: create };
    if (exercise === undefined && create === undefined) return { ArchivedEvent: archive };
    // The two readers must not decide differently which of the kinds it is, so the scanner decides.
    throw new SyntaxError('an event of two kinds');
  },
);

export const traceContext = new Shape('TraceContext', { traceparent: 'text', tracestate: 'text' }, (v) => ({
  traceparent: v[0],
  tracestate: v[1],
}));

const transaction = new Shape(
  'Transaction',
  {
    updateId: 'text',
    commandId: 'text',
    workflowId: 'text',
    effectiveAt: 'text',
    events: [event],
    offset: 'integer',
    synchronizerId: 'name',
    traceContext,
    recordTime: 'text',
    externalTransactionHash: 'text',
    transactionHash: 'text',
    paidTrafficCost: 'integer',
  },
  (v) => ({
    updateId: v[0],
    commandId: v[1],
    workflowId: v[2],
    effectiveAt: v[3],
    events: v[4],
    offset: v[5],
    synchronizerId: v[6],
    traceContext: v[7],
    recordTime: v[8],
    externalTransactionHash: v[9],
    transactionHash: v[10],
    paidTrafficCost: v[11],
  }),
);

const value = new Shape(undefined, { value: transaction }, (v) => ({ value: v[0] }));
const update = new Shape(undefined, { Transaction: value }, (v) => ({ Transaction: v[0] }));

const activeContract = new Shape(
  'JsActiveContract',
  { createdEvent: created, synchronizerId: 'name', reassignmentCounter: 'integer' },
  (v) => ({ createdEvent: v[0], synchronizerId: v[1], reassignmentCounter: v[2] }),
);
const contractEntry = new Shape(undefined, { JsActiveContract: activeContract }, (v) => ({ JsActiveContract: v[0] }));

/** A frame of `/v2/updates` with a transaction. */
export const updateFrame = new Shape(undefined, { update }, (v) => ({ update: v[0] }));

/** A frame of `/v2/state/active-contracts` with an active contract. */
export const activeContractFrame = new Shape(
  'ActiveContractEntry',
  { workflowId: 'text', contractEntry, streamContinuationToken: 'text' },
  (v) => ({ workflowId: v[0], contractEntry: v[1], streamContinuationToken: v[2] }),
);
