/** What history a storage that is made anew would have, and what it would lack of the one that is live. */
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { readFirstRange } from '../../store/history/coverage-ranges.ts';
import type { StreamFacts } from '../../store/history/maintenance.ts';
import type { Beside } from '../../store/swap/places.ts';
import { openClient } from '../database/open-client.ts';
import type { Wish } from './wish.ts';

/** A participant that does not answer holds up no plan. */
const requestTimeoutMs = 5_000;

/**
 * In indented lines: where history begins here and there, and what is lost. The participant is asked; where it does not answer,
 * the lines say so.
 */
export async function historyLines(
  live: Database,
  { prunedToOffset }: StreamFacts,
  { config: { ledger }, start }: Wish,
  { beside, stop }: { readonly beside: Beside; readonly stop: AbortSignal },
): Promise<readonly string[]> {
  const first = await readFirstRange(live);
  const here = Math.max(first?.from ?? 0, prunedToOffset);
  const begins = `  history here begins at offset ${String(here)}; ${beginning(beside, start)}`;
  if (beside === 'previous' || ledger.url === undefined) return [begins];
  try {
    const { client } = await openClient({ ledger, url: ledger.url, requestTimeoutMs, stop });
    const there = await firstOffset(client.state, start);
    if (there <= here) return [begins];
    const lost = `what is here of offsets ${String(here + 1)} to ${String(there)} will be missing`;
    return [begins, `  the new one begins at offset ${String(there)}: ${lost}`];
  } catch (thrown) {
    const { code } = toIndexerError(thrown);
    return [
      begins,
      `  the participant was not asked how far it is pruned (${code}): what it has pruned will be missing`,
    ];
  }
}

interface Asked {
  ledgerEnd(): Promise<number>;
  latestPrunedOffsets(): Promise<number>;
}

async function firstOffset(state: Asked, start: Wish['start']): Promise<number> {
  if (start === 'seed') return state.ledgerEnd();
  return Math.max(typeof start === 'number' ? start : 0, await state.latestPrunedOffsets());
}

function beginning(beside: Beside, start: Wish['start']): string {
  if (beside === 'previous') return 'the former storage keeps what it has';
  if (start === 'whole') return 'the new one begins where the participant was pruned, or with the first update';
  if (start === 'seed') return 'the new one begins with what is active now';
  return `the new one begins at ${typeof start === 'number' ? `offset ${String(start)}` : start}`;
}
