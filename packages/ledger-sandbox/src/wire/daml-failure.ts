/**
 * Failures that the code of a model raises: `DAML_FAILURE` with the id of the error, and in `context.exercise_trace`
 * the exercises it passed, the innermost first.
 */
import { LedgerFailure, failure } from './failure.ts';
import { asObject, asText } from './json.ts';

const assertion = 'UNHANDLED_EXCEPTION/DA.Exception.AssertionFailed:AssertionFailed';

/**
 * The failure of an assertion in a choice.
 * @param message the message of the model, e.g. `Insufficient balance`
 */
export function assertionFailed(message: string): LedgerFailure {
  const cause = `Interpretation error: Error: User failure: ${assertion} (error category 9): ${message}`;
  const context = { error_id: assertion, exercise_trace: '' };
  return failure({ code: 'DAML_FAILURE', category: 9, cause, context });
}

/**
 * Refuses actions that the given parties may not authorize: the required signatories and controllers must be among
 * them.
 */
export function authorize(
  requiredAuthorizers: readonly string[],
  authorizers: readonly string[],
  subject: string,
): void {
  if (requiredAuthorizers.every((party) => authorizers.includes(party))) return;
  const cause = `Interpretation error: Error: ${subject} requires authorizers ${requiredAuthorizers.join(',')}, but only ${authorizers.join(',')} were given`;
  throw failure({ code: 'DAML_AUTHORIZATION_ERROR', category: 8, cause });
}

/** The same failure with texts added to its context; other errors are unchanged. */
export function withContext(error: LedgerFailure, context: Readonly<Record<string, string>>): LedgerFailure {
  return new LedgerFailure(
    { ...error.body, context: { ...asObject(error.body['context']), ...context } },
    error.status,
  );
}

/** The thrown error, with one more line of its trace if it is a failure of the model. */
export function withTrace(error: unknown, line: string): unknown {
  if (!(error instanceof LedgerFailure) || error.body['code'] !== 'DAML_FAILURE') return error;
  const previousContext = asText(asObject(error.body['context'])?.['exercise_trace']);
  return withContext(error, { exercise_trace: `${previousContext}    ${line}\n` });
}

/** Text of one exercise in a trace: `b9e9e043:Asset:Asset:Withdraw on contract 0059f0a55b`. */
export function traceName(templateId: string, choice: string, contractId: string): string {
  const [packageId = '', ...entity] = templateId.split(':');
  return `${[packageId.slice(0, 8), ...entity, choice].join(':')} on contract ${contractId.slice(0, 10)}`;
}
