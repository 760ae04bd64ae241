/** Failures of `reader-token`. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const readerTokenCodes = {
  READER_TOKEN_REFUSED: kind(
    'fatal',
    ExitCode.configuration,
    'reader-token: none can be made for this role; the message says why',
    'do what the message names',
  ),
  READER_TOKEN_NOT_FOUND: kind(
    'fatal',
    ExitCode.usage,
    'reader-token: there is none of this id',
    'see `ledger-indexer reader-token list`',
  ),
  READER_TOKEN_LOGIN_REFUSED: kind(
    'fatal',
    ExitCode.notPermitted,
    'reader-token: it is good, and Postgres refuses its login, so the query page cannot answer',
    'revoke the token (`ledger-indexer reader-token revoke ID`) and make another one (`ledger-indexer reader-token create --role ROLE`)',
  ),
  READER_TOKEN_LOGIN_KEPT: kind(
    'fatal',
    ExitCode.unexpected,
    'reader-token: it is revoked, and its login could not be dropped',
    'run the statements that the message names; the login can no longer log in',
  ),
} as const;
