/**
 * Reads the participant's error object (`JsCantonError`). Its schema promises only `code`, `cause`, `context` and
 * `errorCategory`, and in errors that are not Canton's own even the code may be missing. An error that cannot be read
 * must still be an error. So fields that are absent or of another type are undefined or empty here.
 */
import { isObject, type JsonObject } from '../frames/field.ts';

export interface ErrorResource {
  /** `CID`, `PACKAGE_NAME`, `USER` …; releases before 3.6 write `ErrorResource(CID)` for the same type. */
  readonly type: string;
  readonly id: string;
}

/** All ten fields. The participant or a proxy wrote the texts, of any length, so they must not be logged unchanged. */
export interface LedgerErrorBody {
  /** `NA` when redacted; for a status that is not the participant's own, its description. */
  readonly code: string | undefined;
  readonly cause: string | undefined;
  readonly correlationId: string | undefined;
  readonly traceId: string | undefined;
  /** Only values that are texts. Some keys (`commands`, `exercise_trace`) quote contract data. */
  readonly context: Readonly<Record<string, string>>;
  readonly resources: readonly ErrorResource[];
  /** 1 to 14; -1 when redacted or not the participant's own. */
  readonly errorCategory: number | undefined;
  readonly grpcCodeValue: number | undefined;
  /** A duration as text, e.g. `1 second`; a hint. */
  readonly retryInfo: string | undefined;
  /** Whether the failed command certainly has no effect. Read from the context if the field is null. */
  readonly definiteAnswer: boolean | undefined;
}

/** The key of each kind of data frame, its only one. */
const dataKeys = ['update', 'contractEntry', 'completionResponse'];

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function integer(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  if (!isObject(value)) return {};
  const texts = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(texts);
}

function resourceOf(value: unknown): readonly ErrorResource[] {
  if (!Array.isArray(value)) return [];
  const [type, id] = value as readonly unknown[];
  if (typeof type !== 'string' || typeof id !== 'string') return [];
  return [{ type: /^ErrorResource\((.*)\)$/u.exec(type)?.[1] ?? type, id }];
}

function definiteAnswerOf(body: JsonObject, contextText: string | undefined): boolean | undefined {
  if (typeof body['definiteAnswer'] === 'boolean') return body['definiteAnswer'];
  return contextText === 'true' ? true : contextText === 'false' ? false : undefined;
}

/** The error in a parsed body or frame; undefined if it is not an error object (data, a 404, a text). */
export function decodeLedgerError(body: unknown): LedgerErrorBody | undefined {
  if (!isObject(body) || dataKeys.some((key) => key in body)) return undefined;
  if (typeof body['code'] !== 'string' && integer(body['errorCategory']) === undefined) return undefined;
  const context = textsOf(body['context']);
  const resources: readonly unknown[] = Array.isArray(body['resources']) ? body['resources'] : [];
  return {
    code: text(body['code']),
    cause: text(body['cause']),
    correlationId: text(body['correlationId']),
    traceId: text(body['traceId']) ?? text(context['tid']),
    context,
    resources: resources.flatMap(resourceOf),
    errorCategory: integer(body['errorCategory']),
    grpcCodeValue: integer(body['grpcCodeValue']),
    retryInfo: text(body['retryInfo']),
    definiteAnswer: definiteAnswerOf(body, context['definite_answer']),
  };
}

/**
 * Whether a parsed frame is the ledger's error object, which is sent instead of a data frame: a code or a category, and
 * no data.
 */
export function isErrorFrame(parsed: unknown): boolean {
  return decodeLedgerError(parsed) !== undefined;
}

/** Whether a body is the participant's response to a path that none of its endpoints has. */
export function isUnknownEndpoint(body: unknown): boolean {
  return isObject(body) && Array.isArray(body['errors']) && body['status'] === 404;
}
