/** Whether the database was as current as the ledger when the connection was lost: then a short interruption hides nothing. */
import type { Phase } from '../../model/stream.ts';

export class Currency {
  #wasLive = false;
  #isCurrent = false;

  /** False from a time in which readers could not rely on the database until the ledger end is reached again. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** @param wasReady by the verdict before it @returns whether the ledger end was reached for the first time */
  phaseChanged(phase: Phase, wasReady: boolean): boolean {
    const isFirst = phase === 'live' && !this.#wasLive;
    if (phase === 'live') this.#wasLive = this.#isCurrent = true;
    else if (!wasReady) this.#isCurrent = false;
    return isFirst;
  }

  /**
   * While the stream is not followed, a ledger end that is not ahead is no sign: the ledger may be behind, or another one.
   * @param distance offsets that are not stored yet @param wasReady by the verdict before it
   */
  ledgerEndLearned(distance: number | undefined, phase: Phase, wasReady: boolean): void {
    if (distance === 0 && (phase === 'live' || phase === 'catching_up')) this.#isCurrent = this.#wasLive;
    else if (!wasReady) this.#isCurrent = false;
  }
}
