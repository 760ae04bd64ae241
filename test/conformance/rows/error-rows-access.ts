/** Errors of access: tokens and rights that are missing, or that expire or are revoked during a stream. */
import { token as tokenOf, expiresIn, sharedSecret } from '../../support/tokens.ts';
import {
  activeAt,
  updatesAfter,
  clientOf,
  contractsRefused,
  errorOf,
  streamed,
  updatesRefused,
  wire,
  type ErrorRow,
  type ExpectedFacts,
  type ErrorSource,
} from './error-row.ts';

const secret = 'a shared secret for tests of the error table';
const signer = sharedSecret(secret);
const auth = {
  secret,
  rightsCheckMs: 20,
  users: [
    { id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] },
    { id: 'nobody', rights: [] },
    { id: 'admin', rights: [{ kind: 'ParticipantAdmin' as const }] },
  ],
};
const authOptions = { auth, limits: { checkpointIntervalMs: 50 } };
const tokenFor = (sub: string, milliseconds = 60_000) => ({
  sandbox: authOptions,
  token: () => tokenOf(signer, { sub, exp: expiresIn(milliseconds) }),
});

const redactedFacts = (grpcCode: number): ExpectedFacts => ({ ledgerCode: 'NA', category: -1, grpcCode });

const user: Pick<ErrorRow, 'code' | 'facts' | 'httpStatus'> = {
  code: 'LEDGER_UNAUTHENTICATED',
  facts: redactedFacts(16),
  httpStatus: 401,
};
const deniedRow: Pick<ErrorRow, 'code' | 'facts' | 'httpStatus'> = {
  code: 'LEDGER_PERMISSION_DENIED',
  facts: redactedFacts(7),
  httpStatus: 403,
};

export const accessRows: readonly ErrorRow[] = [
  { ...user, says: 'no token', sandbox: authOptions, ...updatesRefused(updatesAfter(0)) },
  {
    ...user,
    ...tokenFor('reader', -1_000),
    says: 'a token that expired yesterday',
    ...updatesRefused(updatesAfter(0)),
  },
  {
    ...user,
    ...tokenFor('reader', 600_000),
    says: 'a token with an excessive lifetime',
    ...updatesRefused(updatesAfter(0)),
  },
  { ...deniedRow, ...tokenFor('nobody'), says: 'no right to read', ...updatesRefused(updatesAfter(0)) },
  { ...deniedRow, ...tokenFor('nobody'), says: 'no right to read contracts', ...contractsRefused(activeAt(5)) },
  {
    ...deniedRow,
    ...tokenFor('stranger'),
    says: 'an unknown user at the handshake',
    remedy: /create the user/,
    ...updatesRefused(updatesAfter(0)),
  },
  {
    ...tokenFor('reader', 400),
    says: 'a token that expires during the stream',
    code: 'LEDGER_TOKEN_EXPIRED',
    facts: wire('ACCESS_TOKEN_EXPIRED', 2, 10, { retryInfo: '1 second', traceId: undefined }),
    httpStatus: 409,
    ws: streamed('/v2/updates', updatesAfter(0)),
    http: scriptedResponse('ACCESS_TOKEN_EXPIRED'),
  },
  {
    ...tokenFor('reader'),
    says: 'rights that change during the stream',
    code: 'LEDGER_STALE_AUTHORIZATION',
    facts: wire('STALE_STREAM_AUTHORIZATION', 2, 10, { retryInfo: '1 second' }),
    httpStatus: 409,
    http: scriptedResponse('STALE_STREAM_AUTHORIZATION'),
    ws: async (errorStage) => {
      const streamError = streamed('/v2/updates', updatesAfter(0))(errorStage);
      const admin = clientOf(errorStage.url, await tokenOf(signer, { sub: 'admin' }));
      // Waits until the stream has begun with the old rights.
      await new Promise((resolve) => setTimeout(resolve, 100));
      await admin.users.grant('reader', [{ kind: { CanReadAs: { value: { party: 'a' } } } }]);
      return await streamError;
    },
  },
];

/** These two errors are scripted, because over HTTP they occur only at moments that a test cannot choose. */
function scriptedResponse(name: 'ACCESS_TOKEN_EXPIRED' | 'STALE_STREAM_AUTHORIZATION'): ErrorSource {
  return ({ sandbox, client }) => {
    sandbox.faults.answer = { as: name };
    return errorOf(client.state.ledgerEnd());
  };
}
