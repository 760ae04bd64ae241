/** Parses a command submission (`JsCommands`) with the checks of the participant, and describes it for refusals. */
import { require } from '../identity/caller.ts';
import type { Caller } from '../identity/caller.ts';
import { parseCommand } from './commands.ts';
import type { Submission } from './commands.ts';
import { deduplicationText, longestPeriod, parseDeduplication } from './deduplication.ts';
import {
  LedgerFailure,
  failure,
  invalidArgument,
  invalidField,
  missingField,
  permissionDenied,
} from '../wire/failure.ts';
import { asList, asObject, asText, asTexts } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import type { Ledger } from './ledger.ts';
import { fingerprint } from '../wire/random.ts';
import { Rejection } from './submission-run.ts';
import { formatTimestamp } from '../wire/values.ts';

/** The user of requests without a user, on a participant without authorization. */
const defaultUser = 'participant_admin';

/** The submitting user, and the ids of the submission. */
export interface SubmissionRequest {
  readonly userId: string;
  readonly commandId: string;
  readonly submissionId: string;
}

/** A submission as a client sends it: with a user, ids and a time. */
export type ClientSubmission = Submission & SubmissionRequest & { readonly at: number };

/** A LedgerString (up to 255 characters of a limited set); empty if absent. */
function ledgerString(body: JsonObject, key: string, field: string): string {
  const value = asText(body[key]);
  if (value === '' || /^[A-Za-z0-9#:\-_/ ]{1,255}$/.test(value)) return value;
  throw invalidField(field, `"${value.slice(0, 80)}" is not a ledger string of up to 255 characters`);
}

/** The user of a request: that of the token if the request names none. Throws PERMISSION_DENIED for another user. */
export function userOf(body: JsonObject, caller: Caller): string {
  const requestedUserId = asText(body['userId']);
  if (caller.userId === '') return requestedUserId === '' ? defaultUser : requestedUserId;
  if (requestedUserId !== '' && requestedUserId !== caller.userId) throw permissionDenied();
  return caller.userId;
}

/** A generated submission id, which is the same for the same submission at the same offset. */
function madeUpId(ledger: Ledger, userId: string, commandId: string): string {
  const hex = fingerprint(`submission ${userId} ${commandId} ${ledger.ledgerEnd()}`);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/** Parses user, command id and submission id of a request. Throws MISSING_FIELD, INVALID_FIELD or PERMISSION_DENIED. */
export function parseSubmissionIds(ledger: Ledger, body: JsonObject, caller: Caller): SubmissionRequest {
  const userId = userOf(body, caller);
  const commandId = ledgerString(body, 'commandId', 'command_id');
  if (commandId === '') throw missingField('command_id');
  const submissionId = ledgerString(body, 'submissionId', 'submission_id');
  return { userId, commandId, submissionId: submissionId === '' ? madeUpId(ledger, userId, commandId) : submissionId };
}

/** Refuses the id of a synchronizer that this participant is not connected to. */
export function requireSynchronizer(ledger: Ledger, id: string): void {
  if (!/^[^:]+::[^:]+/.test(id)) throw invalidField('synchronizer_id', `"${id.slice(0, 80)}" is not a synchronizer id`);
  if (ledger.synchronizers.some((synchronizer) => synchronizer.id === id)) return;
  const cause = `The participant is not connected to the prescribed synchronizer ${id}`;
  throw failure({ code: 'INVALID_PRESCRIBED_SYNCHRONIZER_ID', category: 9, cause });
}

/**
 * Parses the acting and reading parties, the commands and their synchronizer: the common part of submissions and
 * preparations.
 */
export function parseContent(
  ledger: Ledger,
  body: JsonObject,
): Pick<Submission, 'commands' | 'actAs' | 'readAs' | 'synchronizerId'> {
  const actAs = [...new Set(asTexts(body['actAs']))];
  if (actAs.length === 0) throw missingField('act_as/actAs');
  const commands = asList(body['commands']).map(parseCommand);
  if (commands.length === 0) throw missingField('commands');
  const synchronizerId = asText(body['synchronizerId']);
  if (synchronizerId !== '') requireSynchronizer(ledger, synchronizerId);
  const readAs = asTexts(body['readAs']);
  return { commands, actAs, readAs, ...(synchronizerId === '' ? {} : { synchronizerId }) };
}

/** Parses an ISO-8601 time to microseconds since 1970; undefined if absent. Throws INVALID_FIELD. */
export function parseTime(value: Json | undefined, field: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  const fraction = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?Z$/.exec(asText(value));
  const millis = Date.parse(asText(value).replace(/\.\d+/, ''));
  if (fraction === null || Number.isNaN(millis)) throw invalidField(field, 'not an ISO-8601 time in UTC');
  return millis * 1000 + Number((fraction[1] ?? '').padEnd(6, '0').slice(0, 6));
}

function checkLedgerTime(body: JsonObject): void {
  const absolute = parseTime(body['minLedgerTimeAbs'], 'min_ledger_time_abs');
  if (absolute !== undefined && asObject(body['minLedgerTimeRel']) !== undefined) {
    throw invalidArgument('min_ledger_time_abs cannot be specified at the same time as min_ledger_time_rel');
  }
}

/** Parses `JsCommands` and checks the caller's rights. Throws the participant's refusal. */
export function parseSubmission(ledger: Ledger, body: JsonObject, caller: Caller): ClientSubmission {
  const content = parseContent(ledger, body);
  const submissionIds = parseSubmissionIds(ledger, body, caller);
  require(caller, [
    ...content.actAs.map((actAs) => ({ actAs })),
    ...(content.readAs ?? []).map((readAs) => ({ readAs })),
  ]);
  checkLedgerTime(body);
  const deduplication = parseDeduplication(body['deduplicationPeriod'], ledger.prunedTo());
  const workflowId = ledgerString(body, 'workflowId', 'workflow_id');
  return { ...content, ...submissionIds, workflowId, deduplication, at: ledger.clock() };
}

/** The submission in the form in which the context of a refusal describes it. */
function commandsText(submission: ClientSubmission): string {
  const quoteText = (text: string): string => (text === '' ? '' : `'${text}'`);
  const list = (texts: readonly string[]): string => `[${texts.map(quoteText).join(', ')}]`;
  const { actAs, readAs = [], commandId, userId, workflowId = '', submissionId, at } = submission;
  const period = deduplicationText(submission.deduplication ?? longestPeriod);
  return [
    `{readAs: ${list(readAs)}, deduplicationPeriod: ${period}, submittedAt: '${formatTimestamp(at)}'`,
    `submissionId: '${submissionId}', actAs: ${list(actAs)}, commandId: '${commandId}'`,
    `userId: '${userId}', workflowId: ${quoteText(workflowId)}}`,
  ].join(', ');
}

/** Runs a function for a submission. If it throws a refusal, adds the submission's id and description to it. */
export function withTraceNames<T>(submission: ClientSubmission, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof LedgerFailure) || error.body['code'] === 'NA') throw error;
    const context = { ...asObject(error.body['context']), commands: commandsText(submission) };
    const body = { ...error.body, correlationId: submission.submissionId, context };
    throw error instanceof Rejection ? new Rejection(body, error.status) : new LedgerFailure(body, error.status);
  }
}
