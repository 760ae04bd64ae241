/** Faults of tokens and rights. */
import type { Fault } from './fault.ts';

export const authorizationFaults: readonly Fault[] = [
  {
    id: 'A01',
    fault: 'The token expires while the stream runs',
    indexer:
      'Renews it at 80 % of its life between two batches. If too late, the stream is idle until the ledger has something for it, and is then reopened (see A12)',
    tests: {
      'test/e2e/token-file.slow.test.ts': [
        'reopens the stream with each renewed token, under load and when idle, without backoff',
      ],
      'test/e2e/seed.slow.test.ts': ['continues after five expired tokens if entries were stored with each token'],
    },
  },
  {
    id: 'A02',
    fault: 'Rights change while the stream runs',
    indexer: 'Reopens it at once, with the new rights',
    tests: {
      'test/e2e/ledger-errors.slow.test.ts': ['opens a new stream when its rights are extended'],
    },
  },
  {
    id: 'A03',
    fault: 'Rights are revoked',
    indexer: 'Parks; rows stay, the filter is not narrowed',
    tests: {
      'test/e2e/ledger-errors.slow.test.ts': ['parks when the right to read is revoked, and keeps its rows'],
      'test/history/followed.slow.test.ts': ['park the indexer, and stored rows stay unchanged'],
    },
  },
  {
    id: 'A04',
    fault: 'The configured filter differs from the stored one',
    indexer: 'Parks with the command that accepts it',
    tests: {
      'test/history/filter.slow.test.ts': ['parks the indexer without changes, and the error names filter accept'],
    },
  },
  {
    id: 'A05',
    fault: 'The token is refused',
    indexer: 'Gets two new ones, then parks',
    tests: {
      'test/e2e/bad-input.slow.test.ts': ['parks without writes after retries with a rejected token'],
      'test/e2e/oidc.slow.test.ts': ['parks after two token renewals if the participant requires another audience'],
    },
  },
  {
    id: 'A06',
    fault: 'The identity provider is down, slow, or returns a web page',
    indexer: 'Uses the old token until it expires, then retries',
    tests: {
      'test/e2e/oidc.slow.test.ts': ['resumes after a provider outage that is longer than the token lifetime'],
      'test/ledger/access/oauth.slow.test.ts': [
        'times out if the provider does not respond or stops in the middle of a response',
      ],
    },
  },
  {
    id: 'A07',
    fault: 'The token file is replaced, a changed link, missing, empty, or not a token',
    indexer: 'Reads it at every connect; uses the last good token until it expires or is refused',
    tests: {
      'test/faults/authorization.slow.test.ts': [
        'may be empty, missing, invalid or replaced while the last token is valid',
        'causes LEDGER_TOKEN_MALFORMED after the last token has expired or was rejected',
      ],
    },
  },
  {
    id: 'A08',
    fault: 'The wall clock is wrong',
    indexer: 'Measures token life with the monotonic clock',
    tests: {
      'test/ledger/access/oauth.slow.test.ts': [
        'uses the lifetime that the provider states, even if the local clock differs',
      ],
      'test/ledger/access/token.test.ts': [
        'is limited by its claims if the wall clock is wrong, and has a pause before renewal',
      ],
    },
  },
  {
    id: 'A09',
    fault: 'A token with characters that a handshake cannot carry',
    indexer: 'Parks, without printing it',
    tests: {
      'test/faults/authorization.slow.test.ts': ['parks the indexer, and is not logged'],
    },
  },
  {
    id: 'A10',
    fault: 'Background requests are refused, the stream is not',
    indexer: 'Gets one new token; the stream continues',
    tests: {
      'test/faults/authorization.slow.test.ts': ['cause at most one token request'],
    },
  },
  {
    id: 'A11',
    fault: 'The token would be sent in clear text to another machine',
    indexer: 'Exits with 78 and sends nothing',
    tests: {
      'test/e2e/bad-input.slow.test.ts': ['exits with 78 if the token would be sent in clear text'],
    },
  },
  {
    id: 'A12',
    fault: 'The token has expired; the stream stays open and idle',
    indexer: 'Not ready after ten seconds; moves the stream to the new token',
    tests: {
      'test/e2e/ledger-timeout.long.test.ts': [
        'is not ready after ten seconds with an expired token, until the token is renewed',
      ],
    },
  },
  {
    id: 'A13',
    fault: 'A refused token is replaced, refused rights are granted',
    indexer: 'Ends the wait within seconds, parked or not',
    tests: {
      'test/e2e/ledger-timeout.long.test.ts': [
        'resumes when its rejected token is replaced',
        'does not reconnect until missing rights are granted, then resumes',
      ],
    },
  },
  {
    id: 'A14',
    fault: 'A token lives too long, has expired, is not yet valid, has no audience',
    indexer: 'Names the reason that the token itself contains',
    tests: {
      'test/ledger/transport/refused-stream.test.ts': [
        'reports the flaw of a token that is rejected by a handshake, a frame or a close',
      ],
      'test/cli/check.slow.test.ts': [
        'fails for an invalid or expired token, and warns about a token without an audience',
      ],
    },
  },
];
