/** Error codes of `webhook`. */
import { ExitCode } from './exit-code.ts';
import { kind, kindWithThrownRemedy } from './failure-kind.ts';

export const webhookCodes = {
  WEBHOOK_REFUSED: kindWithThrownRemedy(
    'fatal',
    ExitCode.configuration,
    'webhook: the webhook cannot be added or changed as requested (see the message)',
  ),
  WEBHOOK_TEST_FAILED: kindWithThrownRemedy(
    'fatal',
    ExitCode.unreachable,
    'webhook test: the receiver did not accept the test event (see the message)',
  ),
  WEBHOOK_NOT_FOUND: kind(
    'fatal',
    ExitCode.usage,
    'webhook: there is no webhook with this name',
    'run `ledger-indexer webhook list` to see the webhooks',
  ),
} as const;
