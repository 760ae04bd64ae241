/**
 * Tracks whether the database was as current as the ledger when the connection was lost. In that case the process
 * remains ready during a short interruption.
 */
import type { Phase } from '../../model/stream.ts';

export class Currency {
  #wasLive = false;
  #isCurrent = false;

  /** Becomes false when clients can no longer rely on the database, and true again when the ledger end is reached. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** @param wasReady the verdict before the change @returns whether the ledger end was reached for the first time */
  phaseChanged(phase: Phase, wasReady: boolean): boolean {
    const isFirst = phase === 'live' && !this.#wasLive;
    if (phase === 'live') this.#wasLive = this.#isCurrent = true;
    else if (!wasReady) this.#isCurrent = false;
    return isFirst;
  }

  /**
   * While no stream is open, a ledger end that is not ahead of the checkpoint proves nothing. The ledger may be behind,
   * or it may be a different ledger.
   * @param offsetLag number of offsets that are not stored yet
   * @param wasReady the verdict before the poll
   */
  ledgerEndLearned(offsetLag: number | undefined, phase: Phase, wasReady: boolean): void {
    if (offsetLag === 0 && (phase === 'live' || phase === 'catching_up')) this.#isCurrent = this.#wasLive;
    else if (!wasReady) this.#isCurrent = false;
  }
}
