/**
 * Quarantines an update that cannot be stored, if the operator allows it. The complete update is stored in the
 * transaction that moves the checkpoint past it. Only an error in the data itself leads to quarantine. A full disk or a
 * lost connection never does.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { WriterSession } from '../ports/sink.ts';

const dataErrorCodes: ReadonlySet<string> = new Set([
  'UPDATE_UNDECODABLE',
  'UPDATE_KIND_UNKNOWN',
  'STORE_DATA_REFUSED',
  'DUPLICATE_KEY',
]);

/** An update that failed, and its frame. */
export interface UpdateFailure {
  readonly error: IndexerError;
  /** Undefined if the frame was not kept, because quarantine is off. */
  readonly frame: Buffer | undefined;
}

/**
 * Quarantines the update if that is allowed and its offset is known, and ends the stream. Later frames are received
 * again from the new checkpoint. Everything before the update must be committed.
 * @param from the checkpoint
 * @throws IndexerError UPDATE_QUARANTINED (retry, at once); otherwise the given error
 */
export async function quarantineUpdate(
  parts: PipelineParts,
  session: WriterSession,
  from: number,
  { error, frame }: UpdateFailure,
): Promise<never> {
  const offset = error.facts['offset'];
  if (!parts.quarantine || frame === undefined || !dataErrorCodes.has(error.code)) throw error;
  if (typeof offset !== 'number' || offset <= from) throw error;
  if ((await parts.mayQuarantine?.(offset)) === false) throw error;
  await session.quarantine({ offset, code: error.code, problem: error.message, frame }, from);
  parts.observers.stream.quarantined(offset, error);
  throw new IndexerError(`quarantined: ${error.message}`, {
    code: 'UPDATE_QUARANTINED',
    remedy: 'see `ledger-indexer quarantine list`; once the reason is gone, `ledger-indexer quarantine retry`',
    facts: { offset },
    cause: error,
  });
}
