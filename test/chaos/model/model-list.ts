/**
 * Active contracts as the model ledger sends them: frames with or without tokens, and the same entries as a list over
 * HTTP.
 */
import { activeContractsAt, type History, type ActiveContract } from '../history/history.ts';
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
export function entriesAt(history: History, version: string, request: ListRequest): readonly ActiveContract[] {
  const { activeAtOffset = 0, includeIncompleteReassignments } = request;
  const activeContracts = activeContractsAt(history, activeAtOffset);
  if (!version.startsWith('3.7') || includeIncompleteReassignments === true) return activeContracts;
  return activeContracts.filter(({ entry }) => !entry.startsWith('{"JsIncomplete'));
}

/** The frame of an entry. Its token contains the number of entries up to and including it. */
export function entryFrame({ workflowId, entry }: ActiveContract, index: number, tokens: boolean): string {
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
export function listResponse(
  { history, version, pruned: prunedOffset, tokens, listLimit }: Ledger,
  request: ListRequest,
  limit: number,
): readonly [number, string] {
  const { activeAtOffset = 0, streamContinuationToken } = request;
  if (activeAtOffset < prunedOffset) return [400, JSON.stringify(ledgerErrors.pruned(prunedOffset))];
  const entries = entriesAt(history, version, request).map((activeContract, index) =>
    entryFrame(activeContract, index, tokens),
  );
  const takenEntries = entries.slice(indexOf(streamContinuationToken)).slice(0, Math.min(limit, listLimit + 1));
  return takenEntries.length > listLimit
    ? [413, JSON.stringify(ledgerErrors.listTooLong)]
    : [200, `[${takenEntries.join(',')}]`];
}
