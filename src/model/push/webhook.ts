/** Webhooks in the words that the parts of the program share: what one is, and what is told of its deliveries. */

/** What is sent to whom. */
export interface Webhook {
  readonly name: string;
  /** Made once; part of every webhook-id. */
  readonly hookId: string;
  /** May hold a secret of the receiver: never logged. */
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

/** A dead letter: an event that was given up, or waits behind one of its contract that was. */
export interface DeadLetter {
  readonly offset: number;
  readonly node: number;
  /** Empty for an event of no contract. */
  readonly contract: string;
  readonly attempts: number;
  readonly problem: string;
  /** It is sent again once no letter of its contract before it is in the way. */
  readonly replay: boolean;
}

/** As it stands in the database, for who watches. */
export interface WebhookStanding {
  readonly name: string;
  readonly state: 'active' | 'disabled';
  /** Null: nothing was looked at yet. */
  readonly cursorOffset: number | null;
  readonly deadLetters: number;
}

/** Told of deliveries; no method may throw or block, and none is told of contents, addresses or secrets. */
export interface WebhookObserver {
  /** As often as it is looked at. */
  webhooksSeen(webhooks: readonly WebhookStanding[]): void;
  webhookDelivered(name: string): void;
  /** One attempt failed. `delayMs` until the next one; undefined: the event was given up. */
  webhookFailed(name: string, problem: string, delayMs: number | undefined): void;
  /** The receiver answered 410: nothing is sent any more. */
  webhookDisabled(name: string): void;
  /** Deliveries of it cannot go on for now, for a cause on this side. */
  webhookStuck(name: string, problem: string): void;
}
