/** Errors of access: tokens and rights that are missing, or that expire or are revoked during a stream. */
import { token as tokenOf, endsIn, sharedSecret } from '../../support/tokens.ts';
import {
  activeAt,
  after,
  clientOf,
  contractsRefused,
  errorOf,
  streamed,
  updatesRefused,
  wire,
  type ErrorRow,
  type ExpectedFacts,
  type Raise,
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
const secured = { auth, limits: { checkpointIntervalMs: 50 } };
const as = (sub: string, milliseconds = 60_000) => ({
  sandbox: secured,
  token: () => tokenOf(signer, { sub, exp: endsIn(milliseconds) }),
});

const redacted = (grpcCode: number): ExpectedFacts => ({ ledgerCode: 'NA', category: -1, grpcCode });

const user: Pick<ErrorRow, 'code' | 'facts' | 'httpStatus'> = {
  code: 'LEDGER_UNAUTHENTICATED',
  facts: redacted(16),
  httpStatus: 401,
};
const denied: Pick<ErrorRow, 'code' | 'facts' | 'httpStatus'> = {
  code: 'LEDGER_PERMISSION_DENIED',
  facts: redacted(7),
  httpStatus: 403,
};

export const accessRows: readonly ErrorRow[] = [
  { ...user, says: 'no token', sandbox: secured, ...updatesRefused(after(0)) },
  { ...user, ...as('reader', -1_000), says: 'a token that expired yesterday', ...updatesRefused(after(0)) },
  { ...user, ...as('reader', 600_000), says: 'a token with an excessive lifetime', ...updatesRefused(after(0)) },
  { ...denied, ...as('nobody'), says: 'no right to read', ...updatesRefused(after(0)) },
  { ...denied, ...as('nobody'), says: 'no right to read contracts', ...contractsRefused(activeAt(5)) },
  {
    ...denied,
    ...as('stranger'),
    says: 'an unknown user at the handshake',
    remedy: /create the user/,
    ...updatesRefused(after(0)),
  },
  {
    ...as('reader', 400),
    says: 'a token that expires during the stream',
    code: 'LEDGER_TOKEN_EXPIRED',
    facts: wire('ACCESS_TOKEN_EXPIRED', 2, 10, { retryInfo: '1 second', traceId: undefined }),
    httpStatus: 409,
    ws: streamed('/v2/updates', after(0)),
    http: scriptedAnswer('ACCESS_TOKEN_EXPIRED'),
  },
  {
    ...as('reader'),
    says: 'rights that change during the stream',
    code: 'LEDGER_STALE_AUTHORIZATION',
    facts: wire('STALE_STREAM_AUTHORIZATION', 2, 10, { retryInfo: '1 second' }),
    httpStatus: 409,
    http: scriptedAnswer('STALE_STREAM_AUTHORIZATION'),
    ws: async (stage) => {
      const ended = streamed('/v2/updates', after(0))(stage);
      const admin = clientOf(stage.url, await tokenOf(signer, { sub: 'admin' }));
      // Waits until the stream has begun with the old rights.
      await new Promise((resolve) => setTimeout(resolve, 100));
      await admin.users.grant('reader', [{ kind: { CanReadAs: { value: { party: 'a' } } } }]);
      return await ended;
    },
  },
];

/** These two errors are scripted, because over HTTP they occur only at moments that a test cannot choose. */
function scriptedAnswer(name: 'ACCESS_TOKEN_EXPIRED' | 'STALE_STREAM_AUTHORIZATION'): Raise {
  return ({ sandbox, client }) => {
    sandbox.faults.answer = { as: name };
    return errorOf(client.state.ledgerEnd());
  };
}
