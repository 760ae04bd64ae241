/** Reports history that a command would remove and that cannot be read again, because the participant has pruned it. */
import type { Config } from '../../config/config.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import type { Database } from '../../store/connection/database.ts';
import { readFirstRange } from '../../store/history/coverage-ranges.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { readParticipant } from '../../store/write/participants.ts';
import { openClient } from '../database/open-client.ts';

/** Time limit of the request, milliseconds, so that a participant that does not respond does not block the plan. */
const requestTimeoutMs = 5_000;

interface RequestedParties {
  readonly config: Config;
  readonly stop: AbortSignal;
  /** History up to this offset stays; undefined if all history is removed. */
  readonly keptTo?: number;
}

/**
 * Lines for the plan of a command that removes history. Empty if the participant still has all of it, or if there is no
 * history. The pruned offset is requested from the participant; if it does not respond, one line reports this.
 */
export async function lackLines(
  database: Database,
  { config, stop, keptTo }: RequestedParties,
): Promise<readonly string[]> {
  const stream = await readStream(database);
  const { ledger } = config;
  if (stream === undefined || stream.checkpoint === null || ledger.url === undefined) return [];
  const storedFrom = Math.max((await readFirstRange(database))?.from ?? 0, stream.prunedToOffset);
  const from = Math.max(keptTo ?? 0, storedFrom);
  try {
    const { client } = await openClient({ ledger, url: ledger.url, requestTimeoutMs, stop });
    const pruned = await client.state.latestPrunedOffsets();
    const switchedParticipant = await readParticipant(database);
    const upTo =
      switchedParticipant === undefined ? pruned : new ParticipantOffsets(switchedParticipant).toStreamOffset(pruned);
    const last = Math.min(upTo, stream.checkpoint);
    if (last <= from) return [];
    const lossText = `the participant is pruned up to ${String(upTo)}: stored history of offsets ${String(from + 1)} to ${String(last)} cannot be read again`;
    if (keptTo === undefined) return [lossText];
    return [lossText, continuationNote(keptTo, upTo, stream.checkpoint)];
  } catch (thrown) {
    const { code } = toIndexerError(thrown);
    return [
      `the pruned offset of the participant is unknown (${code}): history that it has pruned cannot be read again`,
    ];
  }
}

/** A line about continuing: the indexer can only continue from an offset that the participant still has. */
function continuationNote(resetOffset: number, prunedTo: number, checkpoint: number): string {
  const parkNote = `from ${String(resetOffset)} the indexer cannot continue (LEDGER_PRUNED)`;
  return prunedTo > checkpoint ? parkNote : `${parkNote}: choose ${String(prunedTo)} or a later offset`;
}
