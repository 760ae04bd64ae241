/**
 * Handles an update that the ledger sent after later ones. No update may be missing, and no update of another ledger
 * may be stored.
 */
import type { StoredUpdate } from '../../model/update.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { WriterSession } from '../ports/sink.ts';
import { updateIdAt } from '../proof/update-id.ts';

/**
 * Stores the update if it is missing here and the ledger returns the same update at its offset. This is checked because
 * a proxy may send updates of another participant. Everything before the update must be committed. The session ends
 * afterwards.
 */
export async function storeLateUpdate(
  parts: PipelineParts,
  session: WriterSession,
  update: StoredUpdate,
): Promise<void> {
  const { offset, updateId } = update;
  const isOnLedger = async (): Promise<boolean> => updateId !== null && (await updateIdAt(parts, offset)) === updateId;
  if (await session.storeLate(update, isOnLedger)) parts.observers.stream.lateStored(offset);
}
