/** Authorization of handshakes, requests and streams. A stream ends if its token expires or its rights change. */
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { isSufficient } from '../../src/identity/rights.ts';
import type { Right } from '../../src/identity/rights.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { stopClock } from '../../../../test/support/chance/clock.ts';
import { expiresIn, token } from '../../../../test/support/tokens.ts';
import { call, refusedBody, secret, sharedSigner, startSecured } from './callers.ts';
import type { ApiResponse } from './callers.ts';
import { anyParty, valueAt, stream, updateFormat } from '../server/sockets.ts';
import type { Received } from '../server/sockets.ts';

const openSandboxes: Sandbox[] = [];
afterEach(async () => {
  for (const sandbox of openSandboxes.splice(0)) await sandbox.close();
});

async function start(auth?: SandboxOptions['auth']): Promise<Sandbox> {
  const sandbox = await startSecured(auth);
  openSandboxes.push(sandbox);
  return sandbox;
}

function last(capture: Received): unknown {
  return JSON.parse(capture.frames.at(-1) ?? 'null');
}

const incomingRequest = { beginExclusive: 0, updateFormat: updateFormat('LEDGER_EFFECTS') };
const transactions = {
  includeTransactions: { eventFormat: anyParty, transactionShape: 'TRANSACTION_SHAPE_ACS_DELTA' },
};

describe('the authorization of a handshake', () => {
  const acs = { activeAtOffset: 0, eventFormat: anyParty };
  const path = '/v2/state/active-contracts';
  const handshake = async (sandbox: Sandbox, protocols: string[]): Promise<Received> =>
    stream(sandbox.url, path, acs, undefined, { protocols });

  it('accepts a token in the first subprotocol, but not in the second', async () => {
    const sandbox = await start();
    const entry = `jwt.token.${await token(sharedSigner)}`;
    expect(await handshake(sandbox, [entry, 'daml.ws.auth'])).toMatchObject({ frames: [], code: 1000 });
    const lostResponse = await handshake(sandbox, ['daml.ws.auth', entry]);
    expect([last(lostResponse), lostResponse.code]).toEqual([
      expect.objectContaining({ ...refusedBody, grpcCodeValue: 16 }),
      1000,
    ]);
  });

  it('accepts an invalid token, which is then refused in a frame', async () => {
    const sandbox = await start();
    for (const bearer of ['nonsense', await token(sharedSigner, { exp: expiresIn(-1000) })]) {
      const headers = { authorization: `Bearer ${bearer}` };
      const capture = await stream(sandbox.url, path, acs, undefined, { headers });
      expect([valueAt(last(capture), 'grpcCodeValue'), capture.code]).toEqual([16, 1000]);
    }
  });

  it('fails with 403 for an unknown or a deactivated user, as every HTTP request does', async () => {
    const users = [{ id: 'gone', rights: [], isDeactivated: true }];
    const sandbox = await start({ users });
    for (const sub of ['nobody', 'gone']) {
      const bearer = await token(sharedSigner, { sub });
      const headers = { authorization: `Bearer ${bearer}` };
      await expect(stream(sandbox.url, path, acs, undefined, { headers })).rejects.toThrow('403');
      const body = { ...refusedBody, grpcCodeValue: 7, context: { ledger_api_error: 'invalid token' } };
      expect(await call(sandbox.url, bearer, 'GET /v2/state/ledger-end')).toMatchObject({ status: 403, body });
    }
  });

  it('does not extend the lifetime of a token, so that a request after its expiry is unauthenticated', async () => {
    const clock = stopClock();
    const sandbox = await start();
    const headers = { authorization: `Bearer ${await token(sharedSigner, { exp: expiresIn(500) })}` };
    const socket = new WebSocket(`${sandbox.url.replace('http', 'ws')}${path}`, ['daml.ws.auth'], { headers });
    await once(socket, 'open');
    const message = once(socket, 'message');
    clock.advance(600);
    socket.send(JSON.stringify(acs));
    const [frame] = (await message) as [Buffer];
    expect(JSON.parse(frame.toString())).toMatchObject({ ...refusedBody, grpcCodeValue: 16 });
    await once(socket, 'close');
  });

  it('accepts an unknown user if the sandbox is configured to do so', async () => {
    const sandbox = await start({ unknownUserAtHandshake: 'accepted' });
    const headers = { authorization: `Bearer ${await token(sharedSigner, { sub: 'nobody' })}` };
    const capture = await stream(sandbox.url, path, acs, undefined, { headers });
    expect([valueAt(last(capture), 'grpcCodeValue'), capture.code]).toEqual([16, 1000]);
  });
});

const party = 'Alice::1220aa';
const partyFormat = { filtersByParty: { [party]: {} } };
const submission = {
  commands: [{ CreateCommand: { templateId: '#nope:M:T', createArguments: {} } }],
  commandId: 'c',
  actAs: [party],
};
const page = { activeAtOffset: 0 };
/** A request to each kind of endpoint. It is refused with 403 if a right is missing. */
const requests = {
  public: ['GET /v2/state/ledger-end', undefined],
  admin: ['GET /v2/users', undefined],
  readParty: ['POST /v2/state/active-contracts', { ...page, eventFormat: partyFormat }],
  readAny: ['POST /v2/state/active-contracts', { ...page, eventFormat: anyParty }],
  submit: ['POST /v2/commands/submit-and-wait', submission],
} as const;
type IdentityRequest = keyof typeof requests;
const table: readonly (readonly [string, readonly Right[], readonly IdentityRequest[]])[] = [
  ['no right', [], ['public']],
  ['ParticipantAdmin', [{ kind: 'ParticipantAdmin' }], ['public', 'admin']],
  ['IdentityProviderAdmin', [{ kind: 'IdentityProviderAdmin' }], ['public']],
  ['CanReadAs', [{ kind: 'CanReadAs', party }], ['public', 'readParty']],
  ['CanReadAs of another', [{ kind: 'CanReadAs', party: 'Bob::1220bb' }], ['public']],
  ['CanActAs', [{ kind: 'CanActAs', party }], ['public', 'readParty', 'submit']],
  ['CanReadAsAnyParty', [{ kind: 'CanReadAsAnyParty' }], ['public', 'readParty', 'readAny']],
  ['CanExecuteAs', [{ kind: 'CanExecuteAs', party }], ['public']],
  ['CanExecuteAsAnyParty', [{ kind: 'CanExecuteAsAnyParty' }], ['public']],
  ['CanActAsAnyParty', [{ kind: 'CanActAsAnyParty' }], ['public', 'readParty', 'readAny', 'submit']],
];

describe('rights', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    const users = table.map(([, rights], index) => ({ id: `user${index}`, rights }));
    sandbox = await startSandbox({ release: '3.6', auth: { secret, users } });
  });
  afterAll(async () => {
    await sandbox.close();
  });

  it.each(table.map(([name, , isAllowed], index) => [name, index, isAllowed] as const))(
    'of a user with %s allow only the requests that need them',
    async (_name, index, isAllowed) => {
      const bearer = await token(sharedSigner, { sub: `user${index}` });
      const allowedRequests: string[] = [];
      for (const [requestName, [endpoint, body]] of Object.entries(requests)) {
        const response = await call(sandbox.url, bearer, endpoint, body);
        if (response.status === 403) expect(response.body).toMatchObject({ ...refusedBody, grpcCodeValue: 7 });
        else allowedRequests.push(requestName);
      }
      expect(allowedRequests).toEqual(
        Object.keys(requests).filter((requestName) => isAllowed.includes(requestName as IdentityRequest)),
      );
    },
  );

  it('to execute as a party are included in CanExecuteAs and CanActAs', () => {
    const hasRight = (ownedRight: Right): boolean =>
      isSufficient((right) => JSON.stringify(right) === JSON.stringify(ownedRight), { executeAs: party }, '');
    expect(hasRight({ kind: 'CanExecuteAs', party })).toBe(true);
    expect(hasRight({ kind: 'CanExecuteAsAnyParty' })).toBe(true);
    expect(hasRight({ kind: 'CanActAs', party })).toBe(true);
    expect(hasRight({ kind: 'CanActAsAnyParty' })).toBe(true);
    expect(hasRight({ kind: 'CanExecuteAs', party: 'Bob::1220bb' })).toBe(false);
    expect(hasRight({ kind: 'CanReadAsAnyParty' })).toBe(false);
    expect(hasRight({ kind: 'ParticipantAdmin' })).toBe(false);
  });

  it('are also required on streams, for reading and for the topology of all parties', async () => {
    const headers = { authorization: `Bearer ${await token(sharedSigner, { sub: 'user3' })}` };
    const requestUpdates = async (format: unknown): Promise<unknown> => {
      const request = { beginExclusive: 0, endInclusive: null, updateFormat: format };
      const capture = await stream(sandbox.url, '/v2/updates', request, (frames) => frames.length > 0, { headers });
      return valueAt(last(capture), 'grpcCodeValue');
    };
    expect(await requestUpdates(transactions)).toBe(7);
    expect(await requestUpdates(updateFormat('ACS_DELTA', partyFormat))).toBe(7);
  });
});

describe('the authorization of a running stream', () => {
  /** Appends updates until the stream has ended, so that there is always a next element. */
  async function runDuringUpdates(sandbox: Sandbox, run: () => Promise<Received>): Promise<Received> {
    let seed = 0;
    const timer = setInterval(() => generateHistory(sandbox.ledger, { seed: (seed += 1), updates: 1 }), 10);
    try {
      return await run();
    } finally {
      clearInterval(timer);
    }
  }

  const follow = async (sandbox: Sandbox, bearer: string, isEnough?: (frames: readonly string[]) => boolean) =>
    stream(sandbox.url, '/v2/updates', incomingRequest, isEnough, { headers: { authorization: `Bearer ${bearer}` } });

  it('ends the stream with ACCESS_TOKEN_EXPIRED instead of the first element after the expiry of its token', async () => {
    const clock = stopClock();
    const sandbox = await start();
    const bearer = await token(sharedSigner, { exp: expiresIn(700) });
    const capture = await runDuringUpdates(sandbox, () =>
      follow(sandbox, bearer, (frames) => {
        if (frames.length === 3) clock.advance(600);
        if (frames.length === 6) clock.advance(100);
        return false;
      }),
    );
    expect(capture.frames.length).toBeGreaterThan(6);
    expect(capture.code).toBe(1000);
    expect(last(capture)).toEqual({
      code: 'ACCESS_TOKEN_EXPIRED',
      cause: expect.stringMatching(/^Claims were valid until \S+Z, current time is \S+Z$/u) as string,
      correlationId: null,
      traceId: null,
      context: { participant: "'participant1'", category: '2', definite_answer: 'false' },
      resources: [],
      errorCategory: 2,
      grpcCodeValue: 10,
      retryInfo: '1 second',
      definiteAnswer: null,
    });
  });

  it('keeps the stream open for the configured grace period after its token has expired', async () => {
    const clock = stopClock();
    const sandbox = await start({ expiryGraceMs: 700 });
    const bearer = await token(sharedSigner, { exp: expiresIn(500) });
    const capture = await runDuringUpdates(sandbox, () =>
      follow(sandbox, bearer, (frames) => {
        if (frames.length === 3) clock.advance(1_100);
        // Elements that were sent before the clock was changed may still arrive.
        if (frames.length === 200) clock.advance(100);
        return false;
      }),
    );
    expect(valueAt(last(capture), 'code')).toBe('ACCESS_TOKEN_EXPIRED');
    expect(capture.frames.length).toBeGreaterThan(200);
  });

  it('keeps the stream open after its token has expired while there is no element to send', async () => {
    const clock = stopClock();
    const sandbox = await start();
    const bearer = await token(sharedSigner, { exp: expiresIn(50) });
    generateHistory(sandbox.ledger, { seed: 1, updates: 1 });
    let requestCount = 0;
    const capture = await follow(sandbox, bearer, (frames) => {
      if (frames.length > 1) return false;
      // No OffsetCheckpoint is sent in this short time. It would be an element to send.
      clock.advance(60);
      // Waits for many turns of the event loop, in which the sandbox could end the stream.
      void (async () => {
        const otherToken = await token(sharedSigner);
        while (requestCount < 20) {
          await call(sandbox.url, otherToken, 'GET /v2/state/ledger-end');
          requestCount += 1;
        }
        generateHistory(sandbox.ledger, { seed: 2, updates: 1 });
      })();
      return false;
    });
    expect([requestCount, capture.frames.length, valueAt(last(capture), 'code')]).toEqual([
      20,
      2,
      'ACCESS_TOKEN_EXPIRED',
    ]);
  });

  const grant = { userId: 'alice', rights: [{ kind: { CanReadAs: { value: { party } } } }] };

  it('ends the stream with STALE_STREAM_AUTHORIZATION when the rights of its user change, but not earlier', async () => {
    const sandbox = await start({ rightsCheckMs: 30 });
    const bearer = await token(sharedSigner);
    const quietFrames = await runDuringUpdates(sandbox, () => follow(sandbox, bearer, (frames) => frames.length > 20));
    expect(quietFrames.frames.join()).not.toContain('STALE');
    const admin = await token(sharedSigner, { sub: 'participant_admin' });
    let grantResponse: Promise<ApiResponse> | undefined;
    const capture = await runDuringUpdates(sandbox, () =>
      follow(sandbox, bearer, (frames) => {
        if (frames.length === 5) grantResponse = call(sandbox.url, admin, 'POST /v2/users/alice/rights', grant);
        return frames.length > 500;
      }),
    );
    expect(await grantResponse).toMatchObject({ status: 200, body: { newlyGrantedRights: grant.rights } });
    expect([valueAt(last(capture), 'code'), valueAt(last(capture), 'cause'), capture.code]).toEqual([
      'STALE_STREAM_AUTHORIZATION',
      'Stale stream authorization. Retry quickly.',
      1000,
    ]);
  });

  it('ends the stream if its user is changed or deleted, even if there is no element to send', async () => {
    const sandbox = await start({ rightsCheckMs: 30 });
    generateHistory(sandbox.ledger, { seed: 1, updates: 1 });
    const bearer = await token(sharedSigner);
    const admin = await token(sharedSigner, { sub: 'participant_admin' });
    for (const [endpoint, body] of [
      ['POST /v2/users/alice/rights', grant],
      ['DELETE /v2/users/alice', undefined],
    ] as const) {
      const capture = await follow(sandbox, bearer, (frames) => {
        if (frames.length === 1) void call(sandbox.url, admin, endpoint, body);
        return false;
      });
      expect(valueAt(last(capture), 'code')).toBe('STALE_STREAM_AUTHORIZATION');
    }
  });
});
