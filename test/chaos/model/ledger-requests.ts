/** Requests to the model ledger, and the items of a history with which it responds. */
import type { IncomingMessage } from 'node:http';
import type { Item } from '../history/history.ts';

export interface StreamRequest {
  readonly beginExclusive?: number;
  readonly endInclusive?: number;
  readonly activeAtOffset?: number;
  readonly streamContinuationToken?: string;
  readonly includeIncompleteReassignments?: boolean;
}

/** A stream may begin with an OffsetCheckpoint at `beginExclusive`, but not with an update. */
export function isAfter(item: Item, beginExclusive: number): boolean {
  return item.offset > beginExclusive || (item.kind === 'checkpoint' && item.offset === beginExclusive);
}

/** The updates in an offset range. OffsetCheckpoints are only sent on streams without an end. */
export function framesBetween(items: readonly Item[], request: StreamRequest): readonly string[] {
  const { beginExclusive = 0, endInclusive = 0 } = request;
  return items
    .filter(({ kind, offset }) => kind !== 'checkpoint' && offset > beginExclusive && offset <= endInclusive)
    .map(({ frame }) => frame);
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
