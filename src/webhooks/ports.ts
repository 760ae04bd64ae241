/** Ports of deliveries to the database and the process. The composition root implements them. */
import type { ChangeCursor, ChangesPage, ChangesRequest } from '../model/push/changes.ts';
import type { DeadLetter, Webhook, WebhookObserver, WebhookState } from '../model/push/webhook.ts';
import type { NetworkReach } from './reach.ts';

/** State of webhooks in the database. Each method may throw an IndexerError with a STORE_ code. */
export interface WebhookStore {
  standing(): Promise<readonly WebhookState[]>;
  /** The webhooks to deliver to. */
  active(): Promise<readonly Webhook[]>;
  /**
   * The stored cursor; null if deliveries start at the beginning of history. Undefined if the webhook is not active any
   * more.
   */
  cursor(webhook: Webhook): Promise<ChangeCursor | null | undefined>;
  changes(request: ChangesRequest, rows: number): Promise<ChangesPage>;
  /** Moves the stored cursor. @returns false, without any change, if the cursor is no longer at `from` */
  move(webhook: Webhook, from: ChangeCursor | null, to: ChangeCursor): Promise<boolean>;
  /** Adds dead letters, or updates their state. */
  bury(webhook: Webhook, deadLetters: readonly DeadLetter[]): Promise<void>;
  /** Removes a dead letter that was delivered. */
  dig(webhook: Webhook, deadLetter: Pick<DeadLetter, 'offset' | 'node'>): Promise<void>;
  /** Ids of the contracts that have dead letters. */
  deadContracts(webhook: Webhook): Promise<ReadonlySet<string>>;
  /** Dead letters to be sent again that no earlier dead letter of their contract blocks, in the order of history. */
  replays(webhook: Webhook, maxLetters: number): Promise<readonly DeadLetter[]>;
  /** Disables a webhook whose receiver wants no more events. History is not held for it any longer. */
  disable(webhook: Webhook): Promise<void>;
  /** Ends a webhook that reached its end. History is not held for it any longer. */
  finish(webhook: Webhook): Promise<void>;
  /** Stores why the last attempt failed; null if it succeeded. */
  noteProblem(webhook: Webhook, problem: string | null): Promise<void>;
  /** Stores which history the webhook did not receive. */
  noteMissed(webhook: Webhook, missed: string): Promise<void>;
}

export interface DeliveryOptions {
  readonly store: WebhookStore;
  readonly observer: WebhookObserver;
  /** Whether this process holds the writer lock. It delivers only then. */
  readonly isWriter: () => boolean;
  readonly reach: NetworkReach;
  /** Maximum number of attempts at an event, before it becomes a dead letter. */
  readonly attempts: number;
  readonly userAgent: string;
  /**
   * Interval of reading the webhooks, requested changes, and commits of which this process was not notified;
   * milliseconds.
   */
  readonly lookMs: number;
}
