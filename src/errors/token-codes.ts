/** Failures of `token`. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const tokenCodes = {
  TOKEN_REFUSED: kind(
    'fatal',
    ExitCode.configuration,
    'token: none can be made for this role; the message says why',
    'do what the message names',
  ),
  TOKEN_UNKNOWN: kind('fatal', ExitCode.usage, 'token: there is none of this id', 'see `ledger-indexer token list`'),
} as const;
