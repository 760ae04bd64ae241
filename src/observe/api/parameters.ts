/** Checks the parameters of a request to `/api` against the description of its route. */
import { nearestNames } from '../../errors/nearest-names.ts';
import { partyId, partyIdExpected } from '../../config/party-id.ts';
import type { ApiArguments, ApiParameter, ApiParameterKind, ApiRoute, ApiValue } from '../../model/push/read-api.ts';
import { problem, type Problem } from './problems.ts';

/** Parameters of every route. */
export const waitParameters: readonly ApiParameter[] = [
  {
    name: 'at_least_offset',
    kind: 'offset',
    description: 'Waits until this offset is stored, so that the answer has what the client wrote.',
  },
  {
    name: 'timeout',
    kind: 'integer',
    range: [0, 60],
    fallback: 10,
    description: 'Maximum time to wait for at_least_offset, seconds.',
  },
];

/** Maximum characters of a value; the kinds `filter` and `cursor` have limits of their own. */
const longestValue = 1_000;

const longest: Readonly<Partial<Record<ApiParameterKind, number>>> = { filter: 2_000, cursor: 8_000 };

interface KindCheck {
  /** Undefined if the text is not a value. */
  readonly read: (text: string, parameter: ApiParameter) => ApiValue | undefined;
  readonly expected: (parameter: ApiParameter) => string;
}

function matching(pattern: RegExp, expected: string): KindCheck {
  return { read: (text) => (pattern.test(text) ? text : undefined), expected: () => expected };
}

const anyText = matching(/./s, 'a text');

const kinds: Readonly<Record<ApiParameterKind, KindCheck>> = {
  text: anyText,
  filter: anyText,
  field: anyText,
  cursor: anyText,
  party: matching(partyId, partyIdExpected),
  name: matching(/^#?[^\s:'"]+(?::[^\s:'"]+){0,2}$/, 'a name such as splice-amulet:Splice.Amulet:Amulet'),
  offset: { read: readOffset, expected: () => 'an offset, such as 42' },
  position: {
    read: (text) => {
      const offset = readOffset(text);
      if (offset !== undefined) return { offset };
      return isTime(text) ? { time: text } : undefined;
    },
    expected: () => 'an offset, or a time with its zone, such as 2026-01-31T00:00:00Z',
  },
  integer: {
    read: (text, { range: [min, max] = [0, Number.MAX_SAFE_INTEGER] }) => {
      const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return number >= min && number <= max ? number : undefined;
    },
    expected: ({ range: [min, max] = [0, Number.MAX_SAFE_INTEGER] }) =>
      `an integer between ${String(min)} and ${String(max)}`,
  },
  boolean: {
    read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
    expected: () => 'true or false',
  },
  choice: {
    read: (text, { values = [] }) => (values.includes(text) ? text : undefined),
    expected: ({ values = [] }) => `one of ${values.join(', ')}`,
  },
};

function readOffset(text: string): number | undefined {
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

/** Whether the text is a time with a zone. JavaScript would read February 30 as March 2. */
function isTime(text: string): boolean {
  const match = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)$/.exec(text);
  const date = new Date(`${match?.[1] ?? ''}T00:00:00Z`);
  if (match === null || Number.isNaN(date.getTime()) || Number.isNaN(Date.parse(text))) return false;
  return text >= '0001' && date.toISOString().startsWith(match[1] ?? '');
}

/** All parameters of a route, with those of every route. */
export function parametersOf({ parameters }: ApiRoute): readonly ApiParameter[] {
  return [...parameters, ...waitParameters];
}

/** @param inPath values of the parameters in the path, decoded */
export function checkParameters(
  route: ApiRoute,
  inPath: ReadonlyMap<string, string>,
  query: URLSearchParams,
): ApiArguments | Problem {
  const parameters = parametersOf(route);
  const names = parameters.filter((parameter) => parameter.inPath !== true).map(({ name }) => name);
  for (const name of query.keys()) {
    if (!names.includes(name)) return unknownParameter(name, names);
    if (query.getAll(name).length > 1) return problem('PARAMETER_INVALID', `${name} is given more than once`);
  }
  const args: Record<string, ApiValue> = {};
  for (const parameter of parameters) {
    const { name } = parameter;
    const text = (parameter.inPath === true ? inPath.get(name) : query.get(name)) ?? undefined;
    const excluded = parameter.excludes?.find((other) => query.has(other));
    if (text !== undefined && excluded !== undefined) {
      return problem('PARAMETER_INVALID', `${name} and ${excluded} cannot be combined`);
    }
    const value = text === undefined ? (parameter.fallback ?? missing(parameter)) : valueOf(parameter, text);
    if (typeof value === 'object' && 'status' in value) return value;
    if (value !== undefined) args[name] = value;
  }
  return args;
}

function unknownParameter(name: string, names: readonly string[]): Problem {
  const nearest = nearestNames(name.slice(0, 100), names);
  const detail = `unknown parameter "${name.slice(0, 40)}"; known: ${names.join(', ')}`;
  return problem('PARAMETER_INVALID', detail, { nearest });
}

function missing({ name, required: isRequired, ...parameter }: ApiParameter): Problem | undefined {
  if (isRequired !== true) return undefined;
  const { expected } = kinds[parameter.kind];
  return problem('PARAMETER_INVALID', `${name} is missing: expected ${expected({ name, ...parameter })}`);
}

function valueOf(parameter: ApiParameter, text: string): ApiValue | Problem {
  const { name, kind } = parameter;
  const most = longest[kind] ?? longestValue;
  if (text === '' || text.length > most || text.includes('\0')) {
    return problem('PARAMETER_INVALID', `${name} must have 1 to ${String(most)} characters, and no character U+0000`);
  }
  const { read, expected } = kinds[kind];
  return read(text, parameter) ?? problem('PARAMETER_INVALID', `${name}: expected ${expected(parameter)}`);
}
