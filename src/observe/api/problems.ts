/** Problem details (RFC 9457) of `/api`: one title and status for each code. */
import { pageUrl } from '../../page-url.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';

const problemKinds = {
  PARAMETER_INVALID: [400, 'A parameter is unknown, missing or invalid'],
  FILTER_INVALID: [400, 'The filter or the order cannot be used'],
  CURSOR_INVALID: [400, 'The cursor cannot be used'],
  NAME_AMBIGUOUS: [400, 'Several templates have this name'],
  QUERY_REFUSED: [400, 'The request cannot be answered as it is'],
  UNAUTHENTICATED: [401, 'A token is needed'],
  FORBIDDEN: [403, 'The caller may not read'],
  ROUTE_UNKNOWN: [404, 'There is no such path'],
  NAME_UNKNOWN: [404, 'The name or id is unknown'],
  FIELD_UNKNOWN: [404, 'The field is unknown'],
  OFFSET_UNKNOWN: [404, 'The state at this position is unknown'],
  METHOD_NOT_ALLOWED: [405, 'Only GET and HEAD are supported'],
  ANSWER_TOO_LARGE: [413, 'The answer is too large'],
  BODY_NOT_ALLOWED: [413, 'Requests must have no body'],
  BUSY: [429, 'Too many requests of this caller are running'],
  TOO_SLOW: [503, 'The answer takes too long'],
  UNAVAILABLE: [503, 'The answer cannot be read now'],
  OFFSET_NOT_REACHED: [504, 'The offset was not reached in time'],
} as const;

export type ProblemCode = keyof typeof problemKinds;

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ProblemCode;
  /** Known names that are similar to an unknown one. */
  readonly nearest?: readonly string[];
  readonly [field: string]: unknown;
}

/** @param more fields in addition to those of RFC 9457 */
export function problem(code: ProblemCode, detail: string, more: Readonly<Record<string, unknown>> = {}): Problem {
  const [status, title] = problemKinds[code];
  return { type: `${pageUrl('docs/reference/api.md')}#problems`, title, status, detail, code, ...more };
}

/** The statuses of problems, with the codes of each. */
export function problemStatuses(): ReadonlyMap<number, readonly ProblemCode[]> {
  const codes = new Map<number, ProblemCode[]>();
  for (const [code, [status]] of Object.entries(problemKinds)) {
    codes.set(status, [...(codes.get(status) ?? []), code as ProblemCode]);
  }
  return codes;
}

/** The problem of a read that failed. Messages of unexpected failures stay in the process. */
export function problemOf(thrown: unknown): Problem {
  const { code, message, remedy, facts } = toIndexerError(thrown);
  if (code === 'STORE_STATEMENT_TIMEOUT') {
    return problem(
      'TOO_SLOW',
      'the time limit of a statement was reached: name a template or a party, or a shorter range',
    );
  }
  if (code === 'STORE_NOT_PERMITTED') return problem('FORBIDDEN', 'the role of the caller may not read this');
  const problemCode = Object.hasOwn(problemKinds, code) ? (code as ProblemCode) : 'UNAVAILABLE';
  if (problemCode === 'UNAVAILABLE')
    return problem('UNAVAILABLE', 'the database cannot be read now: try again', { cause: code });
  const { nearest, position } = facts;
  return problem(problemCode, `${message}; ${remedy}`, {
    ...(nearest === undefined ? {} : { nearest: String(nearest).split(', ').filter(Boolean) }),
    ...(position === undefined ? {} : { position }),
  });
}
