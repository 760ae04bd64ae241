/**
 * Keeps the ledger end, the time at which it was last received (or why it was not received), and the time of the last
 * frame.
 */
import { sideOf } from '../../errors/catalogue.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { scrub } from '../figures/scrub.ts';
import type { HealthFacts } from './health.ts';
import { formatError } from './recent-errors.ts';

type SourceFacts = Pick<HealthFacts, 'ledgerEnd' | 'learnedAtMs' | 'frameAtMs' | 'unlearnedReason' | 'unlearnedRemedy'>;

export class SourceHealth {
  /** Monotonic milliseconds. */
  readonly #now: () => number;
  participantId: string | undefined;
  #ledgerEnd: number | undefined;
  #learnedAtMs: number | undefined;
  #frameAtMs: number | undefined;
  #unlearnedReason: IndexerError | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get ledgerEnd(): number | undefined {
    return this.#ledgerEnd;
  }

  /** Milliseconds since the ledger end was received; undefined if it never was. */
  get ageMs(): number | undefined {
    return this.#learnedAtMs === undefined ? undefined : this.#now() - this.#learnedAtMs;
  }

  endLearned(ledgerEnd: number): void {
    this.#ledgerEnd = ledgerEnd;
    this.#learnedAtMs = this.#now();
    this.#unlearnedReason = undefined;
  }

  /**
   * Raises the ledger end to a stored offset, because that offset exists on the ledger. The next poll, some seconds
   * later, replaces it.
   */
  stored(checkpoint: number): void {
    if (this.#ledgerEnd !== undefined && checkpoint > this.#ledgerEnd) this.#ledgerEnd = checkpoint;
  }

  frameReceived(): void {
    this.#frameAtMs = this.#now();
  }

  failed(error: IndexerError): void {
    if (sideOf(error.code) === 'ledger') this.#unlearnedReason = error;
  }

  facts(): SourceFacts {
    return {
      ledgerEnd: this.#ledgerEnd,
      learnedAtMs: this.#learnedAtMs,
      frameAtMs: this.#frameAtMs,
      unlearnedReason: this.#unlearnedReason && formatError(this.#unlearnedReason),
      unlearnedRemedy: this.#unlearnedReason && scrub(this.#unlearnedReason.remedy),
    };
  }
}
