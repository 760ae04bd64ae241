/** The ledger's own id of an update, which tells one history from another. */
import { isObject } from '../ledger/field.ts';
import { updateFormat } from '../ledger/request-format.ts';
import type { PipelineParts } from './parts.ts';

/** The id of the update at an offset; undefined when there is none that the filter shows. */
export async function updateIdAt(
  { ledger, filter }: Pick<PipelineParts, 'ledger' | 'filter'>,
  offset: number,
): Promise<string | undefined> {
  const answer: unknown = await ledger.updates.byOffset(offset, updateFormat(filter));
  const update = isObject(answer) && isObject(answer['update']) ? Object.values(answer['update'])[0] : undefined;
  const value = isObject(update) ? update['value'] : undefined;
  const updateId = isObject(value) ? value['updateId'] : undefined;
  return typeof updateId === 'string' ? updateId : undefined;
}
