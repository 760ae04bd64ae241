/** Parses faults and ledger actions from JSON. Unknown entries and wrong types are refused, with the expected form. */
import { Undecodable } from '../wire/failure.ts';
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

const where = { path: 'text', times: 'count' } as const;
const moment = { ...where, afterFrames: 'count', atOffset: 'count' } as const;
const answers = [...failureNames, ...strayNames];

const faultShapes: Readonly<Record<FaultName, Shape>> = {
  cutEveryFrames: { needs: { min: 'count', max: 'count' } },
  cut: { takes: moment },
  cutMidFrame: { takes: { ...moment, bytes: 'count' } },
  reset: { takes: { ...moment, bytes: 'count' } },
  close: { needs: { code: 'count' }, takes: moment },
  closeWith1011Once: { needs: { afterFrames: 'count' } },
  streamFailure: { needs: { failure: failureNames }, takes: moment },
  errorFrameOnce: { needs: { body: 'object' }, takes: { afterFrames: 'count' } },
  stall: { needs: { afterFrames: 'count' }, takes: { path: 'text' } },
  ignorePings: { takes: { path: 'text' } },
  halfOpen: { takes: { afterFrames: 'count', path: 'text' } },
  ignoreClose: { takes: { path: 'text' } },
  slowFrames: { needs: { delayMs: 'count' }, takes: { path: 'text' } },
  duplicateCheckpoints: { flag: true },
  duplicateUpdates: { takes: moment },
  swapUpdates: { takes: moment },
  loseUpdates: { takes: moment },
  unknownKind: { takes: moment },
  dropKeys: { needs: { keys: 'texts' }, takes: moment },
  addKeys: { needs: { keys: 'object' }, takes: moment },
  reverseParties: { takes: moment },
  newerViews: { needs: { packageId: 'text' }, takes: moment },
  prune: { takes: { ...moment, to: 'count' } },
  invalidJson: { takes: moment },
  invalidUtf8: { takes: moment },
  binaryFrames: { takes: moment },
  splitFrames: { takes: moment },
  oversizedFrames: { needs: { bytes: 'count' }, takes: moment },
  compress: { flag: true },
  neverAnswer: { flag: true, takes: { path: 'text' } },
  answer: { needs: { as: answers }, takes: where },
  refuseInFlight: { takes: { times: 'count' } },
  slowAnswers: { needs: { delayMs: 'count' }, takes: where },
  cutAnswers: { takes: where },
  refuseUpgrade: { needs: { as: answers }, takes: where },
  hangUpgrade: { takes: where },
  refuseConnections: { flag: true },
};

const isCount = (value: Json): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function fits(value: Json, kind: Kind): boolean {
  if (typeof kind !== 'string') return typeof value === 'string' && kind.includes(value);
  if (kind === 'count') return isCount(value);
  if (kind === 'flag') return value === true;
  if (kind === 'text') return typeof value === 'string';
  if (kind === 'object') return asObject(value) !== undefined;
  return Array.isArray(value) && value.every((element) => typeof element === 'string');
}

const expected = (kind: Kind): string => (typeof kind === 'string' ? kind : `one of ${kind.join(', ')}`);

/** Throws unless the value is an entry of this shape. @param what e.g. `fault stall`, `act prune` */
export function check(value: Json, { flag, needs = {}, takes = {} }: Shape, what: string): void {
  if (flag === true && value === true) return;
  const object = asObject(value);
  const known: Fields = { ...needs, ...takes };
  const fields = Object.keys(known);
  if (object === undefined || fields.length === 0) {
    throw new Undecodable('body', `${what}: expected ${flag === true ? 'true' : `an object of ${fields.join(', ')}`}`);
  }
  for (const [name, kind] of Object.entries({ ...needs, ...object })) {
    const expectedKind = Object.hasOwn(known, name) ? known[name] : undefined;
    if (expectedKind === undefined)
      throw new Undecodable('body', `${what}: unknown field ${name}; known: ${fields.join(', ')}`);
    if (!(name in object)) throw new Undecodable('body', `${what}: missing field ${name}, ${expected(kind as Kind)}`);
    if (!fits(object[name] ?? null, expectedKind)) {
      throw new Undecodable('body', `${what}: field ${name} is not ${expected(expectedKind)}`);
    }
  }
}

/** Refuses keys that are not among the known ones. */
export function checkNames(body: JsonObject, known: Readonly<Record<string, unknown>>, what: string): void {
  const unknownName = Object.keys(body).find((name) => !Object.hasOwn(known, name));
  if (unknownName === undefined) return;
  throw new Undecodable('body', `unknown ${what} ${unknownName}; known: ${Object.keys(known).join(', ')}`);
}

/** Parses faults; `null` or false removes one. Throws Undecodable. */
export function faultsOf(body: JsonObject): Faults {
  checkNames(body, faultShapes, 'fault');
  const faults: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    const lifted = value === null || value === false;
    if (!lifted) check(value, faultShapes[name as FaultName], `fault ${name}`);
    faults[name] = lifted ? undefined : value;
  }
  return faults;
}
