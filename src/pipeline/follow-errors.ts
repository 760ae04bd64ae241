/** Failures of the follow stream, with the place they are about. */
import { IndexerError } from '../errors.ts';

const unreadFrames: ReadonlySet<string> = new Set([
  'LEDGER_FRAME_TOO_LARGE',
  'LEDGER_UNDECODABLE',
  'UPDATE_UNDECODABLE',
]);

/** Of a frame that was not even read only its place is known. */
export function namingPlace(error: IndexerError, checkpoint: number): IndexerError {
  if (!unreadFrames.has(error.code) || error.facts['offset'] !== undefined) return error;
  const { code, retry, exitCode, remedy, facts } = error;
  return new IndexerError(`the update after offset ${String(checkpoint)}: ${error.message}`, {
    code,
    retry,
    exitCode,
    ...(remedy === undefined ? {} : { remedy }),
    facts: { ...facts, checkpoint },
    cause: error,
  });
}

/** The ledger went back. */
export function outOfOrder(offset: number, seen: number): IndexerError {
  return new IndexerError(`the ledger sent offset ${String(offset)} after offset ${String(seen)}`, {
    code: 'LEDGER_OUT_OF_ORDER',
    retry: 'retry',
    remedy: 'if it repeats, look for a proxy that merges connections to different participants',
    facts: { offset, seen },
  });
}
