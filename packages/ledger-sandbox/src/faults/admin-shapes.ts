/** Parses faults and ledger actions from JSON. Unknown entries and wrong types are refused, with the expected form. */
import { UndecodableRequest } from '../wire/failure.ts';
import type { FaultName, Faults } from './faults.ts';
import { asObject } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { failureNames, strayNames } from './named-failures.ts';

/** The type of a field, or its possible texts. */
type Kind = 'count' | 'flag' | 'text' | 'texts' | 'object' | readonly string[];
type Fields = Readonly<Record<string, Kind>>;

/** Shape of an entry: its required and optional fields, or, for a flag, just true. */
export interface Shape {
  readonly flag?: true;
  readonly needs?: Fields;
  readonly takes?: Fields;
}

const scopeShape = { path: 'text', times: 'count' } as const;
const momentShape = { ...scopeShape, afterFrames: 'count', atOffset: 'count' } as const;
const failureChoices = [...failureNames, ...strayNames];

const faultShapes: Readonly<Record<FaultName, Shape>> = {
  cutEveryFrames: { needs: { min: 'count', max: 'count' } },
  cut: { takes: momentShape },
  cutMidFrame: { takes: { ...momentShape, bytes: 'count' } },
  reset: { takes: { ...momentShape, bytes: 'count' } },
  close: { needs: { code: 'count' }, takes: momentShape },
  closeWith1011Once: { needs: { afterFrames: 'count' } },
  streamFailure: { needs: { failure: failureNames }, takes: momentShape },
  errorFrameOnce: { needs: { body: 'object' }, takes: { afterFrames: 'count' } },
  stall: { needs: { afterFrames: 'count' }, takes: { path: 'text' } },
  ignorePings: { takes: { path: 'text' } },
  halfOpen: { takes: { afterFrames: 'count', path: 'text' } },
  ignoreClose: { takes: { path: 'text' } },
  slowFrames: { needs: { delayMs: 'count' }, takes: { path: 'text' } },
  duplicateCheckpoints: { flag: true },
  duplicateUpdates: { takes: momentShape },
  swapUpdates: { takes: momentShape },
  loseUpdates: { takes: momentShape },
  unknownKind: { takes: momentShape },
  dropKeys: { needs: { keys: 'texts' }, takes: momentShape },
  addKeys: { needs: { keys: 'object' }, takes: momentShape },
  reverseParties: { takes: momentShape },
  newerViews: { needs: { packageId: 'text' }, takes: momentShape },
  prune: { takes: { ...momentShape, to: 'count' } },
  invalidJson: { takes: momentShape },
  invalidUtf8: { takes: momentShape },
  binaryFrames: { takes: momentShape },
  splitFrames: { takes: momentShape },
  oversizedFrames: { needs: { bytes: 'count' }, takes: momentShape },
  compress: { flag: true },
  neverAnswer: { flag: true, takes: { path: 'text' } },
  answer: { needs: { as: failureChoices }, takes: scopeShape },
  refuseInFlight: { takes: { times: 'count' } },
  slowAnswers: { needs: { delayMs: 'count' }, takes: scopeShape },
  cutAnswers: { takes: scopeShape },
  refuseUpgrade: { needs: { as: failureChoices }, takes: scopeShape },
  hangUpgrade: { takes: scopeShape },
  refuseConnections: { flag: true },
};

const isCount = (value: Json): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function fitsKind(value: Json, kind: Kind): boolean {
  if (typeof kind !== 'string') return typeof value === 'string' && kind.includes(value);
  if (kind === 'count') return isCount(value);
  if (kind === 'flag') return value === true;
  if (kind === 'text') return typeof value === 'string';
  if (kind === 'object') return asObject(value) !== undefined;
  return Array.isArray(value) && value.every((element) => typeof element === 'string');
}

const expected = (kind: Kind): string => (typeof kind === 'string' ? kind : `one of ${kind.join(', ')}`);

/** Throws unless the value is an entry of this shape. @param subject e.g. `fault stall`, `act prune` */
export function check(value: Json, { flag, needs = {}, takes: optionalFields = {} }: Shape, subject: string): void {
  if (flag === true && value === true) return;
  const object = asObject(value);
  const knownFields: Fields = { ...needs, ...optionalFields };
  const fields = Object.keys(knownFields);
  if (object === undefined || fields.length === 0) {
    throw new UndecodableRequest(
      'body',
      `${subject}: expected ${flag === true ? 'true' : `an object of ${fields.join(', ')}`}`,
    );
  }
  for (const [name, kind] of Object.entries({ ...needs, ...object })) {
    const expectedKind = Object.hasOwn(knownFields, name) ? knownFields[name] : undefined;
    if (expectedKind === undefined)
      throw new UndecodableRequest('body', `${subject}: unknown field ${name}; known: ${fields.join(', ')}`);
    if (!(name in object))
      throw new UndecodableRequest('body', `${subject}: missing field ${name}, ${expected(kind as Kind)}`);
    if (!fitsKind(object[name] ?? null, expectedKind)) {
      throw new UndecodableRequest('body', `${subject}: field ${name} is not ${expected(expectedKind)}`);
    }
  }
}

/** Refuses keys that are not among the known ones. */
export function checkNames(body: JsonObject, knownFields: Readonly<Record<string, unknown>>, subject: string): void {
  const unknownName = Object.keys(body).find((name) => !Object.hasOwn(knownFields, name));
  if (unknownName === undefined) return;
  throw new UndecodableRequest(
    'body',
    `unknown ${subject} ${unknownName}; known: ${Object.keys(knownFields).join(', ')}`,
  );
}

/** Parses faults; `null` or false removes one. Throws Undecodable. */
export function faultsOf(body: JsonObject): Faults {
  checkNames(body, faultShapes, 'fault');
  const faults: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    const isDisabled = value === null || value === false;
    if (!isDisabled) check(value, faultShapes[name as FaultName], `fault ${name}`);
    faults[name] = isDisabled ? undefined : value;
  }
  return faults;
}
