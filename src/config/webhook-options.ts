/** Options of deliveries to webhooks. */
import { choice, indexer, integer, withDefault } from './option.ts';

export const webhookOptions = {
  webhookNetworks: withDefault(
    indexer(
      'INDEXER_WEBHOOK_NETWORKS',
      'Where webhooks may be delivered: `public`, by https to public addresses; `private`, to private networks too; `loopback`, to this machine too, by http as well; or `none`.',
    ),
    choice(['none', 'public', 'private', 'loopback']),
    'public',
  ),
  webhookAttempts: withDefault(
    indexer(
      'INDEXER_WEBHOOK_ATTEMPTS',
      'How often an event that a webhook refuses is sent before it is a dead letter.',
    ),
    integer(1, 100),
    '14',
  ),
} as const;
