/** The demo's ledger with a clock that the caller advances: as fast as the indexer stores updates, or at a pace. */
import { startDemoLedger } from '../../../packages/ledger-sandbox/src/demo/demo-ledger.ts';
import { pause } from '../../support/wait-for.ts';

export interface GrowingLedger extends AsyncDisposable {
  readonly url: string;
  end(): number;
  /** Grows the ledger for this time, never far ahead of the checkpoint. */
  follow(checkpoint: () => Promise<number>, durationMs: number): Promise<void>;
  /** From now on, adds this number of updates per second; 0 ends the growth. */
  pace(updatesPerSecond: number): void;
}

const keptOffsets = 60_000;
const maxAhead = 20_000;
/** Updates per second of ledger time. */
const density = 10;
const tickMs = 10;
/** Ledger time per tick while the indexer is followed, milliseconds. */
const advanceMs = 20_000;

export async function growingLedger(): Promise<GrowingLedger> {
  const startAt = Date.UTC(2026, 0, 5, 8);
  let time = startAt;
  const ledger = await startDemoLedger({
    seed: 1,
    updatesPerSecond: density,
    startAt,
    maxUpdates: Number.MAX_SAFE_INTEGER,
    keeps: { offsets: keptOffsets, tail: keptOffsets },
    now: () => time,
  });
  let timer: NodeJS.Timeout | undefined;
  const tick = (advance: () => void, everyMs = tickMs): void => {
    clearInterval(timer);
    timer = setInterval(advance, everyMs);
  };
  return {
    url: ledger.url,
    end: () => ledger.ledgerEnd(),
    follow: async (checkpoint, durationMs) => {
      let stored = await checkpoint();
      tick(() => {
        if (ledger.ledgerEnd() - stored < maxAhead) time += advanceMs;
      });
      for (const endMs = performance.now() + durationMs; performance.now() < endMs;) {
        stored = await checkpoint();
        await pause(50);
      }
      clearInterval(timer);
    },
    pace: (perSecond) => {
      clearInterval(timer);
      if (perSecond === 0) return;
      tick(() => (time += (tickMs * perSecond) / density));
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await ledger.close();
    },
  };
}
