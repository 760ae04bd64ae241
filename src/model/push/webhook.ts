/** Webhooks: their definition, and reports of their deliveries. Shared by several parts of the program. */

import type { ChangeSelection, Until } from './changes.ts';

/** The events that are sent, and their receiver. */
export interface Webhook {
  readonly name: string;
  /** Generated once; part of the webhook-id of every event. */
  readonly hookId: string;
  /** May contain a secret of the receiver, so it is never logged. */
  readonly url: string;
  /** One or, while a secret is replaced, two; `whsec_` and base64. Never logged. */
  readonly secrets: readonly string[];
  readonly role: string;
  /** package name:Module:Entity; null for any template. */
  readonly template: string | null;
  readonly party: string | null;
  /** Values of event_type; empty for all types. */
  readonly eventTypes: readonly string[];
  /** The projection whose rows are sent instead of events; null for events. */
  readonly projection?: string | null;
  /** Null or undefined if all events are sent. */
  readonly selection?: ChangeSelection | null;
  /** Null or undefined if deliveries do not end. */
  readonly until?: Until | null;
}

/** A dead letter: an event whose delivery was abandoned, or that waits behind such an event of the same contract. */
export interface DeadLetter {
  readonly offset: number;
  readonly node: number;
  /** Empty for an event that has no contract. */
  readonly contract: string;
  readonly attempts: number;
  readonly problem: string;
  /** Whether to send it again, once no earlier dead letter of its contract blocks it. */
  readonly replay: boolean;
}

/** State of a webhook in the database, for monitoring. */
export interface WebhookState {
  readonly name: string;
  readonly state: 'active' | 'disabled' | 'finished';
  /** Null if no events were read yet. */
  readonly cursorOffset: number | null;
  readonly deadLetters: number;
}

/**
 * Receives reports of deliveries. No method may throw or block, and no method receives contents, addresses or secrets.
 */
export interface WebhookObserver {
  /** Called on each poll. */
  webhooksSeen(webhooks: readonly WebhookState[]): void;
  webhookDelivered(name: string): void;
  /** One attempt failed. @param delayMs time until the next attempt; undefined if the event became a dead letter */
  webhookFailed(name: string, problem: string, delayMs: number | undefined): void;
  /** The receiver responded with status 410, so no more events are sent. */
  webhookDisabled(name: string): void;
  /** The deliveries of a webhook cannot continue for now, because of a failure on this side. */
  webhookStuck(name: string, problem: string): void;
}
