/** Tells of webhooks: metrics, and a line whenever something about one changes. Never an address, a secret or contents. */
import type { WebhookObserver, WebhookStanding } from '../../model/push/webhook.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

export class WebhookReport implements WebhookObserver {
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  /** Those whose last attempt failed. */
  readonly #failing = new Set<string>();
  /** What was told of dead letters since one was delivered. */
  readonly #dying = new Set<string>();

  constructor({ metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger }) {
    this.#metrics = metrics;
    this.#logger = logger;
  }

  webhooksSeen(webhooks: readonly WebhookStanding[]): void {
    const { webhookCursor, webhookDeadLetters, webhookDeliveries, webhookDisabled } = this.#metrics;
    for (const gauge of [webhookCursor, webhookDeadLetters, webhookDisabled]) gauge.reset();
    for (const { name: webhook, state, cursorOffset, deadLetters } of webhooks) {
      webhookDeadLetters.set({ webhook }, deadLetters);
      webhookDisabled.set({ webhook }, state === 'disabled' ? 1 : 0);
      // Who wants no more is not behind.
      if (state === 'active') webhookCursor.set({ webhook }, cursorOffset ?? 0);
      for (const result of ['delivered', 'failed', 'dead']) webhookDeliveries.inc({ webhook, result }, 0);
    }
  }

  webhookDelivered(name: string): void {
    this.#metrics.webhookDeliveries.inc({ webhook: name, result: 'delivered' });
    this.#dying.delete(name);
    if (this.#failing.delete(name)) this.#logger.info({ webhook: name }, 'webhook is delivered to again');
  }

  /** A line when it begins to fail, and one for the first event that is given up. */
  webhookFailed(name: string, problem: string, delayMs: number | undefined): void {
    const isDead = delayMs === undefined;
    this.#metrics.webhookDeliveries.inc({ webhook: name, result: isDead ? 'dead' : 'failed' });
    const told = isDead ? this.#dying : this.#failing;
    if (told.has(name)) return;
    told.add(name);
    const facts = { webhook: name, problem, delayMs };
    if (isDead) {
      const remedy = `ledger-indexer webhook dead-letters ${name}; once the receiver takes them: webhook replay ${name}`;
      this.#logger.error({ ...facts, remedy }, 'webhook: an event was given up');
    } else this.#logger.warn(facts, 'webhook cannot be delivered to, trying again');
  }

  webhookDisabled(name: string): void {
    const remedy = `ledger-indexer webhook resume ${name}, or webhook remove ${name}`;
    this.#logger.error({ webhook: name, remedy }, 'webhook: the receiver answered 410 and wants no more');
  }

  webhookStuck(name: string, problem: string): void {
    // What fails before any is read concerns all of them.
    this.#logger.error({ ...(name !== '' && { webhook: name }), problem }, 'webhook: a problem on this side');
  }
}
