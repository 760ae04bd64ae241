/** Options of webhook deliveries. */
import { choice, indexer, integer, withDefault } from './option.ts';

export const webhookOptions = {
  webhookNetworks: withDefault(
    indexer(
      'INDEXER_WEBHOOK_NETWORKS',
      'Addresses to which webhooks may be delivered: `public` (public addresses, https), `private` (also private networks), `loopback` (also this machine, also http), or `none`.',
    ),
    choice(['none', 'public', 'private', 'loopback']),
    'public',
  ),
  webhookAttempts: withDefault(
    indexer(
      'INDEXER_WEBHOOK_ATTEMPTS',
      'Number of delivery attempts before an event that a webhook rejects becomes a dead letter.',
    ),
    integer(1, 100),
    '14',
  ),
} as const;
