/**
 * Reports webhooks. Updates metrics, and logs each change. Log lines never contain an address, a secret or contents.
 */
import type { WebhookObserver, WebhookState } from '../../model/push/webhook.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

export class WebhookReport implements WebhookObserver {
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  /** Names of the webhooks whose last attempt failed. */
  readonly #failing = new Set<string>();
  /** Names of the webhooks for which a dead letter was logged since the last delivery. */
  readonly #dying = new Set<string>();

  constructor({ metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger }) {
    this.#metrics = metrics;
    this.#logger = logger;
  }

  webhooksSeen(webhooks: readonly WebhookState[]): void {
    const { webhookCursor, webhookDeadLetters, webhookDeliveries, webhookDisabled } = this.#metrics;
    for (const gauge of [webhookCursor, webhookDeadLetters, webhookDisabled]) gauge.reset();
    for (const { name: webhook, state, cursorOffset, deadLetters } of webhooks) {
      webhookDeadLetters.set({ webhook }, deadLetters);
      webhookDisabled.set({ webhook }, state === 'disabled' ? 1 : 0);
      // A disabled webhook is not behind.
      if (state === 'active') webhookCursor.set({ webhook }, cursorOffset ?? 0);
      for (const result of ['delivered', 'failed', 'dead']) webhookDeliveries.inc({ webhook, result }, 0);
    }
  }

  webhookDelivered(name: string): void {
    this.#metrics.webhookDeliveries.inc({ webhook: name, result: 'delivered' });
    this.#dying.delete(name);
    if (this.#failing.delete(name)) this.#logger.info({ webhook: name }, 'webhook delivery works again');
  }

  /** Logs the first failure, and the first event that becomes a dead letter. */
  webhookFailed(name: string, problem: string, delayMs: number | undefined): void {
    const isDead = delayMs === undefined;
    this.#metrics.webhookDeliveries.inc({ webhook: name, result: isDead ? 'dead' : 'failed' });
    const reportedNames = isDead ? this.#dying : this.#failing;
    if (reportedNames.has(name)) return;
    reportedNames.add(name);
    const facts = { webhook: name, problem, delayMs };
    if (isDead) {
      const remedy = `ledger-indexer webhook dead-letters ${name}; once the receiver takes them: webhook replay ${name}`;
      this.#logger.error({ ...facts, remedy }, 'webhook: event moved to dead letters');
    } else this.#logger.warn(facts, 'webhook delivery failed, trying again');
  }

  webhookDisabled(name: string): void {
    const remedy = `ledger-indexer webhook resume ${name}, or webhook remove ${name}`;
    this.#logger.error({ webhook: name, remedy }, 'webhook disabled: the receiver returned 410');
  }

  webhookStuck(name: string, problem: string): void {
    // A failure before any webhook was read affects all webhooks.
    this.#logger.error({ ...(name !== '' && { webhook: name }), problem }, 'webhook: local failure');
  }
}
