/** Ports of deliveries to the database and the process; the composition root implements them. */
import type { ChangeCursor, ChangesPage, ChangesRequest } from '../model/push/changes.ts';
import type { DeadLetter, Webhook, WebhookObserver, WebhookStanding } from '../model/push/webhook.ts';
import type { Reach } from './reach.ts';

/** @throws IndexerError STORE_ errors, each of them */
export interface WebhookStore {
  standing(): Promise<readonly WebhookStanding[]>;
  /** Webhooks that are delivered to. */
  active(): Promise<readonly Webhook[]>;
  /** The cursor; null: where history begins. Undefined: the webhook is not active any more. */
  cursor(webhook: Webhook): Promise<ChangeCursor | null | undefined>;
  changes(request: ChangesRequest, rows: number): Promise<ChangesPage>;
  /** False, without any change, if the cursor is not at `from` any more. */
  move(webhook: Webhook, from: ChangeCursor | null, to: ChangeCursor): Promise<boolean>;
  /** Adds dead letters, or updates their state. */
  bury(webhook: Webhook, letters: readonly DeadLetter[]): Promise<void>;
  /** A letter was delivered. */
  dig(webhook: Webhook, letter: Pick<DeadLetter, 'offset' | 'node'>): Promise<void>;
  /** Contracts that have dead letters. */
  deadContracts(webhook: Webhook): Promise<ReadonlySet<string>>;
  /** Letters to be sent again that no earlier letter of their contract blocks, in the order of history. */
  replays(webhook: Webhook, most: number): Promise<readonly DeadLetter[]>;
  /** The receiver wants no more events; history is not held for it any longer. */
  disable(webhook: Webhook): Promise<void>;
  /** Why the last attempt failed; null: it did not. */
  noteProblem(webhook: Webhook, problem: string | null): Promise<void>;
  /** History that it did not receive. */
  noteMissed(webhook: Webhook, missed: string): Promise<void>;
}

export interface DeliveryOptions {
  readonly store: WebhookStore;
  readonly observer: WebhookObserver;
  /** Whether this process holds the writer lock: only then it delivers. */
  readonly isWriter: () => boolean;
  readonly reach: Reach;
  /** Attempts at an event before it becomes a dead letter. */
  readonly attempts: number;
  readonly userAgent: string;
  /**
   * Interval of reading the webhooks, requested changes, and commits that this process was not notified of;
   * milliseconds.
   */
  readonly lookMs: number;
}
