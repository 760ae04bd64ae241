/** Are webhooks told? */
import { counter, gauge, type LabelValues } from './description.ts';

const webhook: LabelValues = { words: 'names of the webhooks' };

export const webhooks = {
  webhookDeliveries: counter({
    name: 'webhook_deliveries_total',
    help: 'Attempts to deliver an event to a webhook, by what came of them: delivered, failed and tried again, or dead: given up.',
    use: 'rate() of delivered is the throughput; failed rising alone: the receiver is down or refuses, the log says which.',
    labels: { webhook, result: ['delivered', 'failed', 'dead'] },
  }),
  webhookCursor: gauge({
    name: 'webhook_cursor_offset',
    help: 'Offset up to which a webhook was told, or its event given up; of active ones.',
    use: 'checkpoint_offset minus it is how far it is behind; its dead letters are counted apart.',
    labels: { webhook },
  }),
  webhookDeadLetters: gauge({
    name: 'webhook_dead_letters',
    help: 'Events that a webhook did not take, and later ones of the same contracts that wait behind them.',
    use: 'Above 0: ledger-indexer webhook dead-letters NAME says why; webhook replay NAME sends them again.',
    labels: { webhook },
  }),
  webhookDisabled: gauge({
    name: 'webhook_disabled',
    help: '1 for a webhook whose receiver answered 410: nothing is sent to it any more.',
    use: 'Resume or remove it with ledger-indexer webhook.',
    labels: { webhook },
  }),
};
