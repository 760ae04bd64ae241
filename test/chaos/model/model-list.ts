/** Active contracts as the model ledger sends them: frames with or without tokens, and the same list over HTTP. */
import { standingAt, type History, type Standing } from '../history/history.ts';
import { ledgerErrors } from './ledger-errors.ts';

export interface ListRequest {
  readonly activeAtOffset?: number;
  readonly streamContinuationToken?: string;
}

/** The frame of an entry, whose token says how many have come with it. */
export function entryFrame({ workflowId, entry }: Standing, index: number, tokens: boolean): string {
  const token = tokens ? Buffer.from(String(index + 1)).toString('base64') : '';
  return `{"workflowId":${JSON.stringify(workflowId)},"contractEntry":${entry},"streamContinuationToken":"${token}"}`;
}

/** How many entries have come with the token. */
export function indexOf(token: string | undefined): number {
  return token === undefined || token === '' ? 0 : Number(Buffer.from(token, 'base64').toString());
}

interface Ledger {
  readonly history: History;
  readonly pruned: number;
  readonly tokens: boolean;
  readonly listLimit: number;
}

/** Status and body of a list over HTTP. */
export function listAnswer(
  { history, pruned, tokens, listLimit }: Ledger,
  { activeAtOffset = 0, streamContinuationToken }: ListRequest,
  limit: number,
): readonly [number, string] {
  if (activeAtOffset < pruned) return [400, JSON.stringify(ledgerErrors.pruned(pruned))];
  const entries = standingAt(history, activeAtOffset).map((standing, index) => entryFrame(standing, index, tokens));
  const taken = entries.slice(indexOf(streamContinuationToken)).slice(0, Math.min(limit, listLimit + 1));
  return taken.length > listLimit ? [413, JSON.stringify(ledgerErrors.listTooLong)] : [200, `[${taken.join(',')}]`];
}
