/**
 * Active contracts as the model ledger sends them: frames with or without tokens, and the same entries as a list over
 * HTTP.
 */
import { standingAt, type History, type Standing } from '../history/history.ts';
import { ledgerErrors } from './ledger-errors.ts';

export interface ListRequest {
  readonly activeAtOffset?: number;
  readonly streamContinuationToken?: string;
  readonly includeIncompleteReassignments?: boolean;
}

/**
 * The participant release for a seed. For one seed in three, it omits reassignments in flight unless they are
 * requested.
 */
export function versionOf(seed: number): string {
  return seed % 3 === 0 ? '3.7.4' : '3.5.10';
}

/** The entries at an offset, as a participant of this release lists them. */
export function entriesAt(history: History, version: string, request: ListRequest): readonly Standing[] {
  const { activeAtOffset = 0, includeIncompleteReassignments } = request;
  const all = standingAt(history, activeAtOffset);
  if (!version.startsWith('3.7') || includeIncompleteReassignments === true) return all;
  return all.filter(({ entry }) => !entry.startsWith('{"JsIncomplete'));
}

/** The frame of an entry. Its token contains the number of entries up to and including it. */
export function entryFrame({ workflowId, entry }: Standing, index: number, tokens: boolean): string {
  const token = tokens ? Buffer.from(String(index + 1)).toString('base64') : '';
  return `{"workflowId":${JSON.stringify(workflowId)},"contractEntry":${entry},"streamContinuationToken":"${token}"}`;
}

/** The number of entries up to the one with this token. */
export function indexOf(token: string | undefined): number {
  return token === undefined || token === '' ? 0 : Number(Buffer.from(token, 'base64').toString());
}

interface Ledger {
  readonly history: History;
  readonly version: string;
  readonly pruned: number;
  readonly tokens: boolean;
  readonly listLimit: number;
}

/** Status and body of a response with a list. */
export function listAnswer(
  { history, version, pruned, tokens, listLimit }: Ledger,
  request: ListRequest,
  limit: number,
): readonly [number, string] {
  const { activeAtOffset = 0, streamContinuationToken } = request;
  if (activeAtOffset < pruned) return [400, JSON.stringify(ledgerErrors.pruned(pruned))];
  const entries = entriesAt(history, version, request).map((standing, index) => entryFrame(standing, index, tokens));
  const taken = entries.slice(indexOf(streamContinuationToken)).slice(0, Math.min(limit, listLimit + 1));
  return taken.length > listLimit ? [413, JSON.stringify(ledgerErrors.listTooLong)] : [200, `[${taken.join(',')}]`];
}
