/** Retries quarantined updates and stores them at their offsets. */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import { decodeUpdate } from '../../ledger/frames/decode.ts';
import type { UnknownPolicy } from '../../model/unknown.ts';
import { refuseUnknownKind } from '../../pipeline/follow/unknown-kinds.ts';
import type { Database } from '../../store/connection/database.ts';
import { storeLate } from '../../store/write/late-update.ts';
import { listQuarantine, recordAttempt, quarantinedFrame } from '../../store/write/quarantine.ts';
import type { PrintLine } from '../command-line/command.ts';

const updateErrorCodes: ReadonlySet<string> = new Set([
  'UPDATE_UNDECODABLE',
  'UPDATE_KIND_UNKNOWN',
  'STORE_DATA_REFUSED',
  'DUPLICATE_KEY',
  'QUARANTINE_CONTRACT_MISSING',
]);

interface Retry {
  /** Offsets of the updates to retry; empty for all updates. */
  readonly offsets: readonly number[];
  readonly policy: UnknownPolicy;
  readonly print: PrintLine;
}

/** Retries the requested updates. @throws IndexerError QUARANTINE_RETRY_FAILED if an update could not be stored */
export async function retryAll(database: Database, request: Retry): Promise<void> {
  const requestedOffsets = request.offsets;
  const offsets =
    requestedOffsets.length > 0 ? requestedOffsets : (await listQuarantine(database)).map(({ offset }) => offset);
  if (offsets.length === 0) request.print('the quarantine is empty');
  let failed = 0;
  for (const offset of offsets) if (!(await retry(database, offset, request))) failed += 1;
  if (failed > 0) throw retryFailedError(failed);
}

async function retry(database: Database, offset: number, { policy, print }: Retry): Promise<boolean> {
  const frame = await quarantinedFrame(database, offset);
  try {
    const ledgerUpdate = decodeUpdate(frame.toString('utf8'));
    // The participant that sent the update may have had other offsets than the stream.
    const sender = new ParticipantOffsets({ from: -Infinity, shift: offset - ledgerUpdate.offset, overlaps: {} });
    const update = sender.update(ledgerUpdate);
    refuseUnknownKind(update, policy);
    await storeLate(database, update);
    print(`${String(offset)} stored`);
    return true;
  } catch (thrown) {
    const error = toIndexerError(thrown);
    // A failure that the update did not cause ends the command.
    if (!updateErrorCodes.has(error.code)) throw error;
    await recordAttempt(database, offset);
    print(`${String(offset)} still fails: ${error.code}: ${error.message}`);
    return false;
  }
}

function retryFailedError(failed: number): IndexerError {
  return new IndexerError(`${String(failed)} update(s) still cannot be stored`, {
    code: 'QUARANTINE_RETRY_FAILED',
  });
}
