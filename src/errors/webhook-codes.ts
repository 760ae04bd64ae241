/** Failures of `webhook`. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const webhookCodes = {
  WEBHOOK_REFUSED: kind(
    'fatal',
    ExitCode.configuration,
    'webhook: it cannot be added as it was named; the message says why',
    'do what the message names',
  ),
  WEBHOOK_NOT_FOUND: kind(
    'fatal',
    ExitCode.usage,
    'webhook: there is none of this name',
    'see `ledger-indexer webhook list`',
  ),
} as const;
