/** The last failures, for display. If a failure is repeated, its count increases, and no other failure is removed. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import { scrub } from '../figures/scrub.ts';

/** One kind of failure. */
export interface RecentError {
  readonly code: string;
  readonly message: string;
  /** Remedy; null if the operator can only wait. */
  readonly remedy: string | null;
  /** Number of consecutive occurrences. */
  readonly count: number;
  /** Time of the last occurrence, ISO 8601. */
  readonly at: string;
}

const maxErrors = 8;
const maxMessageLength = 500;

export class RecentErrors {
  #errors: readonly RecentError[] = [];

  /** The last failures, the newest first. */
  get all(): readonly RecentError[] {
    return this.#errors;
  }

  add({ code, message, remedy }: IndexerError, time: Date): void {
    const before = this.#errors.find((error) => error.code === code);
    const newest: RecentError = {
      code,
      message: toDisplayText(message),
      remedy: toDisplayText(remedy),
      count: (before?.count ?? 0) + 1,
      at: time.toISOString(),
    };
    this.#errors = [newest, ...this.#errors.filter((error) => error !== before)].slice(0, maxErrors);
  }
}

/** The failure as one line for display. */
export function formatError({ code, message }: IndexerError): string {
  return `${code}: ${scrub(message)}`;
}

/** Messages and remedies contain no secret, but they are scrubbed anyway, as in the log. */
function toDisplayText(text: string): string {
  const scrubbed = scrub(text);
  return scrubbed.length > maxMessageLength ? `${scrubbed.slice(0, maxMessageLength)}…` : scrubbed;
}
