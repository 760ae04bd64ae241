/**
 * Tokens of the participant in one process: their verification, the questions to the participant, and the reads of
 * their users.
 */
import type { NodeTokenConfig } from '../config/node-token-config.ts';
import type { Config } from '../config/config.ts';
import type { PollIntervals } from '../config/pace.ts';
import { IndexerError, toIndexerError } from '../errors/indexer-error.ts';
import type { NodeTokenFlaw, VerifyNodeToken } from '../ledger/access/node-token.ts';
import { createTokenSource } from '../ledger/access/token.ts';
import { createLedgerClient } from '../ledger/api/client.ts';
import { readNodeUser } from '../ledger/api/node-rights.ts';
import type { LedgerAccess } from '../ledger/open-access.ts';
import { NodeTokens, type AskNode } from '../observe/http/node-tokens.ts';
import type { TokenRefusal } from '../observe/http/reader-tokens.ts';
import type { NodeAccess } from '../observe/http/token-callers.ts';
import type { Logger } from '../observe/log/logger.ts';
import type { Database } from '../store/connection/database.ts';
import { removeEndedSessions } from '../store/reads/node-sessions.ts';
import { nodeReaderProblem } from '../store/console/node-reader-check.ts';
import { lastRead } from './reader-tokens.ts';

/** Time limit of one question to the participant, milliseconds. Two of them take less than the rest of a checked time. */
const questionMs = 5_000;
/** A user has at most some thousand rights. */
const maxAnswerBytes = 4 * 1024 * 1024;

export interface NodeTokenInput {
  readonly config: Pick<Config, 'ledger'>;
  readonly access: Pick<LedgerAccess, 'tls' | 'providerCa'>;
  readonly ledgerUrl: string;
  readonly pace: PollIntervals;
  readonly logger: Pick<Logger, 'warn'>;
  /** For rights of transactions, and for the check of the role. */
  readonly lookups: Database;
}

export interface OpenNodeTokens {
  readonly access: NodeAccess;
  readonly close: () => void;
}

/** Prepares tokens of the participant. Nothing is requested before the first token. */
export function openNodeTokens(nodeConfig: NodeTokenConfig, input: NodeTokenInput): OpenNodeTokens {
  const stop = new AbortController();
  const { lookups, pace } = input;
  const verify = verifier(nodeConfig, input, stop.signal);
  const problemOfRole = lastRead(() => nodeReaderProblem(lookups, nodeConfig.role), pace.tokensMs);
  const warnOnce = firstOfSeries(input.logger);
  const ask: AskNode = async (token) => {
    try {
      const verified = await (await verify())(token);
      if ('flaw' in verified) return flawRefusals[verified.flaw];
      await assertRole(nodeConfig.role, problemOfRole);
      const { id, rights } = await readNodeUser(clientOf(input, token, stop.signal));
      warnOnce(undefined);
      return { user: id, rights, expiresAt: verified.expiresAt };
    } catch (thrown) {
      return refusalOf(toIndexerError(thrown), warnOnce);
    }
  };
  const cleaning = setInterval(() => void removeEndedSessions(lookups).catch(() => undefined), pace.expiredTokensMs);
  cleaning.unref();
  return {
    access: { tokens: new NodeTokens(ask, pace.nodeRightsMs), role: nodeConfig.role },
    close: () => {
      clearInterval(cleaning);
      stop.abort();
    },
  };
}

/** Loads the module only when a client sends a token: it costs CPU time. */
function verifier(
  nodeConfig: NodeTokenConfig,
  { config: { ledger }, access: { providerCa: ca }, pace }: NodeTokenInput,
  signal: AbortSignal,
): () => Promise<VerifyNodeToken> {
  let loaded: Promise<VerifyNodeToken> | undefined;
  const load = async (): Promise<VerifyNodeToken> => {
    const { nodeTokenVerifier } = await import('../ledger/access/node-token.ts');
    const { insecure } = ledger;
    return nodeTokenVerifier({ ...nodeConfig, ca, insecure, signal, keysAgainMs: pace.nodeRightsMs / 2 });
  };
  return () => (loaded ??= load());
}

function clientOf(
  { config: { ledger }, access: { tls }, ledgerUrl: url }: NodeTokenInput,
  token: string,
  signal: AbortSignal,
) {
  const { insecure } = ledger;
  const tokenSource = createTokenSource({ token });
  return createLedgerClient({ url, tls, insecure, tokenSource, requestTimeoutMs: questionMs, maxAnswerBytes, signal });
}

async function assertRole(role: string, readProblem: () => Promise<string | null>): Promise<void> {
  const problem = await readProblem();
  if (problem === null) return;
  throw new IndexerError(`role "${role}" ${problem}, so users of the participant cannot read with it`, {
    code: 'NODE_READER_REFUSED',
    remedy: `run \`ledger-indexer grant-reader ROLE --node-tokens\` for a role of its own, and name it in INDEXER_NODE_TOKENS_ROLE`,
  });
}

const flawRefusals: Readonly<Record<NodeTokenFlaw, TokenRefusal>> = {
  expired: { status: 401, error: 'this token has expired: request a new one from its issuer' },
  time: { status: 401, error: 'this token is not valid yet, or has no expiry (exp)' },
  issuer: { status: 401, error: 'the issuer (iss) of this token is not INDEXER_NODE_TOKENS_ISSUER' },
  audience: { status: 401, error: 'the audience (aud) of this token is not INDEXER_NODE_TOKENS_AUDIENCE' },
  signature: { status: 401, error: 'this token is not signed with a current key of its issuer' },
  unavailable: {
    status: 503,
    error: 'the keys of the issuer (INDEXER_NODE_TOKENS_JWKS_URL) cannot be read now: try again',
  },
};

function refusalOf(error: IndexerError, warnOnce: (error: IndexerError) => void): TokenRefusal {
  if (error.code === 'LEDGER_UNAUTHENTICATED' || error.code === 'LEDGER_TOKEN_EXPIRED') {
    return { status: 401, error: 'the participant refuses this token' };
  }
  if (error.code === 'LEDGER_PERMISSION_DENIED') {
    return { status: 403, error: 'the participant does not let this user read its own rights' };
  }
  warnOnce(error);
  return { status: 503, error: 'the rights of this token cannot be read from the participant now: try again' };
}

/** Logs the first of consecutive failures; undefined ends a series. */
function firstOfSeries(logger: Pick<Logger, 'warn'>): (error: IndexerError | undefined) => void {
  let isFailing = false;
  return (error) => {
    if (error !== undefined && !isFailing) {
      logger.warn({ err: error }, 'rights of users of the participant cannot be read: clients with its tokens get 503');
    }
    isFailing = error !== undefined;
  };
}
