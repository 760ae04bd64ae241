/**
 * How old the newest of what is stored is, at most: the age of its record time, or the time since everything was known
 * to be stored, if that is shorter. A record time alone grows old on a quiet ledger, where nothing is missing.
 */
export class Lag {
  /** When the ledger end was learned, monotonic. */
  #polledAtMs: number | undefined;
  /** The newest time at which all that was in the ledger is stored now, monotonic. */
  #currentAtMs: number | undefined;
  /** Newest record time stored, milliseconds since 1970. */
  #recordTimeMs: number | undefined;

  /** Times rise on each synchronizer only: what comes later may have been recorded earlier. */
  recorded(recordTimeMs: number): void {
    this.#recordTimeMs = Math.max(recordTimeMs, this.#recordTimeMs ?? recordTimeMs);
  }

  /** @param isStored whether the checkpoint is there already */
  ledgerEndLearned(nowMs: number, isStored: boolean): void {
    this.#polledAtMs = nowMs;
    if (isStored) this.#currentAtMs = nowMs;
  }

  /** The checkpoint is where the ledger end was when it was learned. */
  ledgerEndReached(): void {
    this.#currentAtMs = this.#polledAtMs;
  }

  /** Null when nothing is known yet. */
  seconds(nowMs: number, wallNowMs: number): number | null {
    const ages = [
      ...(this.#recordTimeMs === undefined ? [] : [wallNowMs - this.#recordTimeMs]),
      ...(this.#currentAtMs === undefined ? [] : [nowMs - this.#currentAtMs]),
    ];
    return ages.length === 0 ? null : Math.max(0, Math.min(...ages)) / 1000;
  }
}
