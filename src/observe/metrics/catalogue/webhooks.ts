/** Metrics of deliveries of webhooks. */
import { counter, gauge, type LabelValues } from './description.ts';

const webhook: LabelValues = { words: 'names of the webhooks' };

export const webhooks = {
  webhookDeliveries: counter({
    name: 'webhook_deliveries_total',
    help: 'Delivery attempts, by result: delivered, failed (retried) or dead (not retried).',
    use: 'rate() of delivered is the throughput. Only failed grows: the receiver is down or refuses; see the log.',
    labels: { webhook, result: ['delivered', 'failed', 'dead'] },
  }),
  webhookCursor: gauge({
    name: 'webhook_cursor_offset',
    help: 'Offset up to which an active webhook has processed events.',
    use: 'checkpoint_offset minus it is the distance. Dead letters count as processed.',
    labels: { webhook },
  }),
  webhookDeadLetters: gauge({
    name: 'webhook_dead_letters',
    help: 'Events the webhook did not accept, and later ones of the same contracts.',
    use: 'Above 0: ledger-indexer webhook dead-letters NAME lists them, webhook replay NAME sends them again.',
    labels: { webhook },
  }),
  webhookDisabled: gauge({
    name: 'webhook_disabled',
    help: '1 if the receiver returned 410: the webhook gets no more events.',
    use: 'Resume or remove it with ledger-indexer webhook.',
    labels: { webhook },
  }),
};
