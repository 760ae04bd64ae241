/**
 * Checks recorded responses and frames against the descriptions that a participant of release 3.5.10 publishes. Known
 * differences of other releases, or of the real server, are listed here.
 */
import type { Release } from '../../packages/ledger-sandbox/src/wire/release.ts';
import type { RecordedResponse, RecordedFrame } from './recorder.ts';
import { readWireSchemas } from './wire-schemas.ts';

/** Operations that the descriptions do not contain. */
const undescribedOperations = [
  'GET /docs/openapi',
  'GET /docs/asyncapi',
  'POST /v2/updates/update-by-hash',
  'POST /v2/commands/completion-by-hash',
];

/** Known differences from the descriptions of 3.5, which do not count as problems. */
const deviations: readonly { readonly releases: readonly Release[]; readonly is: RegExp }[] = [
  // Release 3.6 adds the hash of a transaction, and the record times of the ledger end.
  { releases: ['3.6', '3.7'], is: /"additionalProperty":"(?:transactionHash|synchronizerTimes)"/u },
];

const refusalKeys =
  'code cause correlationId traceId context resources errorCategory grpcCodeValue retryInfo definiteAnswer'.split(' ');

export interface ResponseCheck {
  answerProblems(recorded: RecordedResponse, release: Release): readonly string[];
  frameProblems(frame: RecordedFrame, release: Release): readonly string[];
  /** The path template of a call, such as `GET /v2/users/{user-id}`; the path itself if no template matches. */
  operationOf(method: string, path: string): string;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The participant writes compact JSON, with `null` for absent fields. */
function isCompact(text: string, value: unknown): boolean {
  return text === JSON.stringify(value);
}

/** Only this recorded rejection has just the first four keys. */
const disabledKeys = refusalKeys.slice(0, 4);

function isDisabled(body: unknown): boolean {
  return isObject(body) && body['code'] === 'DEPRECATED_API_DISABLED';
}

function refusalProblems(body: unknown): readonly string[] {
  if (!isObject(body)) return ['expected an error object, found another value'];
  const keys = Object.keys(body);
  const expected = (isDisabled(body) ? disabledKeys : refusalKeys).join();
  return keys.join() === expected ? [] : [`expected the keys ${expected}, found ${keys.join()}`];
}

/** Finds the template that matches a path. Templates with fewer parameters come first. */
function matcher(operations: Iterable<string>): ResponseCheck['operationOf'] {
  const sortedOperations = [...operations].sort((a, b) => a.split('{').length - b.split('{').length);
  const patterns = sortedOperations.map((operation) => {
    const source = operation.replaceAll(/[.]/gu, '\\.').replaceAll(/\{[^}]+\}/gu, '[^/]+');
    return { operation, pattern: new RegExp(`^${source}$`, 'u') };
  });
  return (method, path) => {
    const callName = `${method} ${path.split('?')[0] ?? ''}`;
    return patterns.find(({ pattern }) => pattern.test(callName))?.operation ?? callName;
  };
}

/** @param templates operations that are known although the descriptions do not contain them */
export function responseCheck(templates: readonly string[]): ResponseCheck {
  const schemas = readWireSchemas();
  const operationOf = matcher(new Set([...schemas.operations, ...templates]));

  const jsonProblems = (schema: string, text: string, release: Release): readonly string[] => {
    const body = parseJson(text);
    if (body === undefined || !isCompact(text, body)) return ['expected compact JSON, found another text'];
    const isKnownProblem = (problem: string): boolean =>
      deviations.some((deviation) => deviation.releases.includes(release) && deviation.is.test(problem));
    return schemas.problems(schema, body).filter((problem) => !isKnownProblem(problem));
  };
  const refusalProblemsOf = (text: string, release: Release): readonly string[] => [
    ...refusalProblems(parseJson(text)),
    ...(isDisabled(parseJson(text)) ? [] : jsonProblems('JsCantonError', text, release)),
  ];
  const successProblems = (operation: string, recorded: RecordedResponse, release: Release): readonly string[] => {
    if (!schemas.operations.has(operation) && !undescribedOperations.includes(operation)) {
      return [`${operation} is not in the descriptions`];
    }
    const schema = schemas.responseOf(operation);
    if (schema === undefined) return [];
    const type = recorded.contentType === 'application/json' ? [] : [`expected JSON, found ${recorded.contentType}`];
    return [...type, ...jsonProblems(schema, recorded.body, release)];
  };
  return {
    operationOf,
    answerProblems(recorded, release) {
      const { method, path, status, contentType, body } = recorded;
      const operation = operationOf(method, path);
      if (status === 200) return successProblems(operation, recorded, release);
      if (contentType.startsWith('text/plain')) {
        return [400, 413, 503].includes(status) ? [] : [`${status} as text/plain`];
      }
      const content = parseJson(body);
      // Only the rejection of an unknown path is not an error object.
      if (status === 404 && isObject(content) && 'errors' in content) return [];
      return refusalProblemsOf(body, release);
    },
    frameProblems({ path, text }, release) {
      const operation = operationOf('WS', path);
      const content = parseJson(text);
      if (isObject(content) && 'code' in content) return refusalProblemsOf(text, release);
      const schema = schemas.responseOf(operation);
      return schema === undefined ? [] : jsonProblems(schema, text, release);
    },
  };
}
