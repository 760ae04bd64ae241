/** What deliveries need of the database and of the process; the composition root puts it in. */
import type { ChangeCursor, ChangesPage, ChangesWanted } from '../model/push/changes.ts';
import type { DeadLetter, Webhook, WebhookObserver, WebhookStanding } from '../model/push/webhook.ts';
import type { Reach } from './reach.ts';

/** @throws IndexerError STORE_ errors, each of them */
export interface WebhookStore {
  standing(): Promise<readonly WebhookStanding[]>;
  /** Those that are delivered to. */
  active(): Promise<readonly Webhook[]>;
  /** Where it is; null: where history begins. Undefined: it is not active any more. */
  cursor(webhook: Webhook): Promise<ChangeCursor | null | undefined>;
  changes(wanted: ChangesWanted, rows: number): Promise<ChangesPage>;
  /** False, and nothing is moved, where it is not at `from` any more. */
  move(webhook: Webhook, from: ChangeCursor | null, to: ChangeCursor): Promise<boolean>;
  /** Adds dead letters, or what has become of them now. */
  bury(webhook: Webhook, letters: readonly DeadLetter[]): Promise<void>;
  /** A letter was delivered. */
  dig(webhook: Webhook, letter: Pick<DeadLetter, 'offset' | 'node'>): Promise<void>;
  /** Contracts that have dead letters. */
  deadContracts(webhook: Webhook): Promise<ReadonlySet<string>>;
  /** Letters to be sent again that no letter of their contract is in the way of, in the order of history. */
  replays(webhook: Webhook, most: number): Promise<readonly DeadLetter[]>;
  /** The receiver wants no more; history is not held for it any longer. */
  disable(webhook: Webhook): Promise<void>;
  /** Why the last attempt failed; null: it did not. */
  noteProblem(webhook: Webhook, problem: string | null): Promise<void>;
  /** History that it was not told. */
  noteMissed(webhook: Webhook, missed: string): Promise<void>;
}

export interface DeliveryOptions {
  readonly store: WebhookStore;
  readonly observer: WebhookObserver;
  /** Whether this process has the right to write: only then it delivers. */
  readonly isWriter: () => boolean;
  readonly reach: Reach;
  /** Attempts at an event before it is a dead letter. */
  readonly attempts: number;
  readonly userAgent: string;
  /** Between two looks at which webhooks there are, what was asked of them, and commits this process was not told of; milliseconds. */
  readonly lookMs: number;
}
