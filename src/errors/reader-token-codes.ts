/** Error codes of `reader-token`, and of tokens of the participant. */
import { ExitCode } from './exit-code.ts';
import { kind, kindWithThrownRemedy } from './failure-kind.ts';

export const readerTokenCodes = {
  READER_TOKEN_REFUSED: kindWithThrownRemedy(
    'fatal',
    ExitCode.configuration,
    'reader-token: no token can be created for this role (see the message)',
  ),
  READER_TOKEN_NOT_FOUND: kind(
    'fatal',
    ExitCode.usage,
    'reader-token: there is no token with this id',
    'run `ledger-indexer reader-token list` to see the tokens',
  ),
  READER_TOKEN_LOGIN_REFUSED: kindWithThrownRemedy(
    'fatal',
    ExitCode.notPermitted,
    'reader-token: the token is valid, but Postgres rejects its login, so the query page cannot respond',
  ),
  READER_TOKEN_LOGIN_KEPT: kind(
    'fatal',
    ExitCode.unexpected,
    'reader-token: the token is revoked, but its login could not be dropped',
    'run the statements in the message; the login can no longer log in',
  ),
  NODE_READER_REFUSED: kindWithThrownRemedy(
    'fatal',
    ExitCode.configuration,
    'tokens of the participant: their users cannot read with the role of INDEXER_NODE_TOKENS_ROLE (see the message)',
  ),
} as const;
