/** A stream that is alive by all its pings and brings nothing, although the ledger has moved on: for how long it may. */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Following } from './follow.ts';

export class SilenceLimit {
  readonly #following: Pick<Following, 'checkpoint' | 'lastFrameAt'>;
  readonly #limitMs: number;
  /** The checkpoint that the ledger end is past, and since when that is known. */
  #owed: { readonly checkpoint: number; readonly sinceMs: number } | undefined;

  constructor(following: Pick<Following, 'checkpoint' | 'lastFrameAt'>, limitMs: number) {
    this.#following = following;
    this.#limitMs = limitMs;
  }

  /** Told of the ledger end now and then. @throws IndexerError LEDGER_SILENT when frames stay away for too long */
  refuse(ledgerEnd: number): void {
    const { checkpoint } = this.#following;
    const nowMs = performance.now();
    // What happens on the ledger after hours without anything has not been owed for hours.
    if (ledgerEnd <= checkpoint) this.#owed = undefined;
    else if (this.#owed?.checkpoint !== checkpoint) this.#owed = { checkpoint, sinceMs: nowMs };
    if (this.#owed === undefined) return;
    const silentMs = nowMs - Math.max(this.#owed.sinceMs, this.#following.lastFrameAt());
    if (silentMs < this.#limitMs) return;
    throw new IndexerError(
      `no frame for ${String(Math.round(silentMs / 1000))} s although the ledger end ${String(ledgerEnd)} is past the checkpoint`,
      {
        code: 'LEDGER_SILENT',
        remedy: 'the stream is opened again; if it repeats, look at proxies between here and the participant',
      },
    );
  }
}
