/** The id of the ledger's update at an offset, which distinguishes one history from another. */
import { toIndexerError } from '../../errors/indexer-error.ts';
import { isObject } from '../../ledger/frames/field.ts';
import { updateFormat, updatesRequest } from '../../ledger/api/request-format.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { retryMissingRoute } from '../retry/missing-route.ts';

/** The id of the update at an offset; undefined if the filter matches no update there. */
export async function updateIdAt(
  { ledger, filter }: Pick<PipelineParts, 'ledger' | 'filter'>,
  offset: number,
): Promise<string | undefined> {
  const response: unknown = await ledger.updates.byOffset(offset, updateFormat(filter));
  const update = isObject(response) && isObject(response['update']) ? Object.values(response['update'])[0] : undefined;
  const value = isObject(update) ? update['value'] : undefined;
  const updateId = isObject(value) ? value['updateId'] : undefined;
  return typeof updateId === 'string' ? updateId : undefined;
}

/**
 * Retry classes of errors from a participant or gateway that returns no list over HTTP. The stream reports any other
 * refusal.
 */
const unansweredRetries: ReadonlySet<string> = new Set(['park', 'fatal']);
/** Maximum number of updates in a list of the ledger. */
const maxListedUpdates = 200;

/**
 * Ascending offsets of updates after `from` and up to `upTo` that match the filter; none if the ledger returns no list.
 */
export async function listMatchingOffsets(
  parts: Pick<PipelineParts, 'ledger' | 'filter' | 'observers' | 'stop'>,
  from: number,
  upTo: number,
): Promise<readonly number[]> {
  if (from >= upTo) return [];
  try {
    return await retryMissingRoute(parts, () => listOffsets(parts, from, upTo));
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (unansweredRetries.has(error.retry)) return [];
    throw error;
  }
}

async function listOffsets(
  { ledger, filter }: Pick<PipelineParts, 'ledger' | 'filter'>,
  from: number,
  upTo: number,
): Promise<readonly number[]> {
  const offsets: number[] = [];
  for await (const text of ledger.updates.list(updatesRequest(from, filter, upTo), { limit: maxListedUpdates })) {
    offsets.push(...parseOffsets(text));
  }
  return offsets;
}

/** The update is not decoded: one that was quarantined because it cannot be stored still has an offset. */
function parseOffsets(text: string): readonly number[] {
  const listEntry: unknown = JSON.parse(text);
  const update =
    isObject(listEntry) && isObject(listEntry['update']) ? Object.values(listEntry['update'])[0] : undefined;
  const offset = isObject(update) && isObject(update['value']) ? update['value']['offset'] : undefined;
  return typeof offset === 'number' ? [offset] : [];
}
