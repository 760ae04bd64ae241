/** What the participant has pruned of the history that a command would remove here: it cannot be read again. */
import type { Config } from '../../config/config.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import type { Database } from '../../store/connection/database.ts';
import { readFirstRange } from '../../store/history/coverage-ranges.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { readParticipant } from '../../store/write/participants.ts';
import { openClient } from '../database/open-client.ts';

/** A participant that does not answer holds up no plan. */
const requestTimeoutMs = 5_000;

interface Asked {
  readonly config: Config;
  readonly stop: AbortSignal;
  /** History up to here stays; undefined: none does. */
  readonly keptTo?: number;
}

/**
 * Lines for the plan of a command that removes history; none where the participant still has all of it, or where there is
 * none. The participant is asked; where it does not answer, a line says so.
 */
export async function lackLines(database: Database, { config, stop, keptTo }: Asked): Promise<readonly string[]> {
  const stream = await readStream(database);
  const { ledger } = config;
  if (stream === undefined || stream.checkpoint === null || ledger.url === undefined) return [];
  const here = Math.max((await readFirstRange(database))?.from ?? 0, stream.prunedToOffset);
  const from = Math.max(keptTo ?? 0, here);
  try {
    const { client } = await openClient({ ledger, url: ledger.url, requestTimeoutMs, stop });
    const pruned = await client.state.latestPrunedOffsets();
    const moved = await readParticipant(database);
    const upTo = moved === undefined ? pruned : new ParticipantOffsets(moved).ours(pruned);
    const last = Math.min(upTo, stream.checkpoint);
    if (last <= from) return [];
    const lost = `the participant is pruned up to ${String(upTo)}: what is here of offsets ${String(from + 1)} to ${String(last)} cannot be read again`;
    if (keptTo === undefined) return [lost];
    return [lost, afterwards(keptTo, upTo, stream.checkpoint)];
  } catch (thrown) {
    const { code } = toIndexerError(thrown);
    return [`the participant was not asked how far it is pruned (${code}): what it has pruned cannot be read again`];
  }
}

/** An indexer follows only from an offset that the participant still has. */
function afterwards(keptTo: number, prunedTo: number, checkpoint: number): string {
  const parks = `from ${String(keptTo)} the indexer cannot go on (LEDGER_PRUNED)`;
  return prunedTo > checkpoint ? parks : `${parks}: take ${String(prunedTo)} or a later offset`;
}
