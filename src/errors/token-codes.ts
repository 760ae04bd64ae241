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
  TOKEN_LOGIN_REFUSED: kind(
    'fatal',
    ExitCode.notPermitted,
    'token: it is good, and Postgres refuses its login, so the query page cannot answer',
    'revoke the token (`ledger-indexer token revoke ID`) and make another one (`ledger-indexer token create --role ROLE`)',
  ),
  TOKEN_LOGIN_KEPT: kind(
    'fatal',
    ExitCode.unexpected,
    'token: it is revoked, and its login could not be dropped',
    'run the statements that the message names; the login can no longer log in',
  ),
} as const;
