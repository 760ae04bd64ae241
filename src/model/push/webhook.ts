/** Webhooks: their definition, and reports of their deliveries, shared by several parts of the program. */

/** The events that are sent, and their receiver. */
export interface Webhook {
  readonly name: string;
  /** Generated once; part of every webhook-id. */
  readonly hookId: string;
  /** May contain a secret of the receiver: never logged. */
  readonly url: string;
  /** `whsec_` and base64: never logged. */
  readonly secret: string;
  readonly role: string;
  /** package name:Module:Entity; null: any. */
  readonly template: string | null;
  readonly party: string | null;
  /** Values of event_type; empty: all. */
  readonly eventTypes: readonly string[];
}

/** A dead letter: an event whose delivery was abandoned, or that waits behind such an event of its contract. */
export interface DeadLetter {
  readonly offset: number;
  readonly node: number;
  /** Empty for an event of no contract. */
  readonly contract: string;
  readonly attempts: number;
  readonly problem: string;
  /** It is sent again once no earlier letter of its contract blocks it. */
  readonly replay: boolean;
}

/** State in the database, for monitoring. */
export interface WebhookStanding {
  readonly name: string;
  readonly state: 'active' | 'disabled';
  /** Null: no events were read yet. */
  readonly cursorOffset: number | null;
  readonly deadLetters: number;
}

/** Receives reports of deliveries; no method may throw or block, and none receives contents, addresses or secrets. */
export interface WebhookObserver {
  /** Called on each poll. */
  webhooksSeen(webhooks: readonly WebhookStanding[]): void;
  webhookDelivered(name: string): void;
  /** One attempt failed. `delayMs` until the next one; undefined: the event became a dead letter. */
  webhookFailed(name: string, problem: string, delayMs: number | undefined): void;
  /** The receiver responded with 410: nothing is sent any more. */
  webhookDisabled(name: string): void;
  /** Its deliveries cannot continue for now, for a cause on this side. */
  webhookStuck(name: string, problem: string): void;
}
