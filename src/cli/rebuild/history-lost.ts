/** Reports the history that a new schema would have, and the live history that it would lack. */
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { readFirstRange } from '../../store/history/coverage-ranges.ts';
import type { StreamFacts } from '../../store/history/maintenance.ts';
import type { OtherSchema } from '../../store/swap/stream-schemas.ts';
import { openClient } from '../database/open-client.ts';
import type { RebuildRequest } from './rebuild-request.ts';

/** Time limit of the request, milliseconds, so that a participant that does not respond does not block the plan. */
const requestTimeoutMs = 5_000;

/**
 * Indented lines: where history begins in both schemas, and the history that would be missing. The pruned offset is
 * requested from the participant; if it does not respond, the lines report this.
 */
export async function historyLines(
  liveDatabase: Database,
  { prunedToOffset }: StreamFacts,
  { config: { ledger }, start }: RebuildRequest,
  { replacement, stop }: { readonly replacement: OtherSchema; readonly stop: AbortSignal },
): Promise<readonly string[]> {
  const first = await readFirstRange(liveDatabase);
  const storedFrom = Math.max(first?.from ?? 0, prunedToOffset);
  const beginText = `  stored history begins at offset ${String(storedFrom)}; ${beginningNote(replacement, start)}`;
  if (replacement === 'previous' || ledger.url === undefined) return [beginText];
  try {
    const { client } = await openClient({ ledger, url: ledger.url, requestTimeoutMs, stop });
    const targetFrom = await firstOffset(client.state, start);
    if (targetFrom <= storedFrom) return [beginText];
    const lossText = `stored history of offsets ${String(storedFrom + 1)} to ${String(targetFrom)} will be missing`;
    return [beginText, `  the new one begins at offset ${String(targetFrom)}: ${lossText}`];
  } catch (thrown) {
    const { code } = toIndexerError(thrown);
    return [
      beginText,
      `  the pruned offset of the participant is unknown (${code}): history that it has pruned will be missing`,
    ];
  }
}

interface HistoryRequest {
  ledgerEnd(): Promise<number>;
  latestPrunedOffsets(): Promise<number>;
}

async function firstOffset(state: HistoryRequest, start: RebuildRequest['start']): Promise<number> {
  if (start === 'seed') return state.ledgerEnd();
  return Math.max(typeof start === 'number' ? start : 0, await state.latestPrunedOffsets());
}

function beginningNote(replacement: OtherSchema, start: RebuildRequest['start']): string {
  if (replacement === 'previous') return 'the previous schema keeps its history';
  if (start === 'whole') return 'the new one begins at the pruned offset of the participant, or with the first update';
  if (start === 'seed') return 'the new one begins with the active contracts';
  return `the new one begins at ${typeof start === 'number' ? `offset ${String(start)}` : start}`;
}
