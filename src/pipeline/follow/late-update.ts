/** An update that the ledger sent after later ones: none may be missing, and none of another ledger may come in by it. */
import type { StoredUpdate } from '../../model/update.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { SinkSession } from '../ports/sink.ts';
import { updateIdAt } from '../proof/update-id.ts';

/**
 * Stores it if it is missing, and the ledger, asked for that offset, has this very update there: what a proxy mixes in
 * from another participant is not ours. Everything before must be committed; the session is over afterwards.
 */
export async function keepLate(parts: PipelineParts, session: SinkSession, update: StoredUpdate): Promise<void> {
  const { offset, updateId } = update;
  const isOurs = async (): Promise<boolean> => updateId !== null && (await updateIdAt(parts, offset)) === updateId;
  if (await session.storeLate(update, isOurs)) parts.observers.stream.lateStored(offset);
}
