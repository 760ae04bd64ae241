/** Compares the contents of streams and how they end with the recordings of a participant. */
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { authorize } from '../../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import { activeAt, after, contracts, updates } from '../../../packages/ledger-sandbox/test/server/raw.ts';
import { fixture, fixtureLines } from '../../support/wire/fixtures.ts';
import { expiresIn, sharedSecret, token } from '../../support/tokens.ts';
import { busySandbox } from '../frame-sources.ts';
import { comparable } from './comparable.ts';
import { pong } from './exchange.ts';
import { formsIn } from './forms.ts';
import { secret, users } from './scene.ts';

interface OpenStream {
  readonly socket: WebSocket;
  readonly frames: string[];
  /** Resolves to close code and reason. */
  readonly closed: Promise<readonly [number, string]>;
  /** Resolves at the first frame. */
  readonly began: Promise<void>;
}

function openStream(sandbox: Sandbox, path: string, request: object, bearer?: string): OpenStream {
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const socket = new WebSocket(`${sandbox.url.replace('http', 'ws')}${path}`, ['daml.ws.auth'], { headers });
  const frames: string[] = [];
  socket.on('open', () => socket.send(JSON.stringify(request)));
  const whenStarted = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      frames.push(data.toString());
      resolve();
    });
  });
  const whenClosed = new Promise<readonly [number, string]>((resolve) => {
    socket.on('close', (code, reason) => resolve([code, reason.toString()]));
  });
  return { socket, frames, closed: whenClosed, began: whenStarted };
}

/** The last frame of the recorded stream whose token expired. */
function recordedEnd(): string {
  const revocations = JSON.parse(fixture('recordings/auth/stream-whose-token-ends.json')) as {
    readonly frame?: string;
  }[];
  return revocations.findLast(({ frame }) => frame !== undefined)?.frame ?? '';
}

const signer = sharedSecret(secret);
const authOptions = { auth: { secret, users, rightsCheckMs: 20 } };

/** Resolves when this time has passed. */
async function waitUntilPast(time: number): Promise<void> {
  while (Date.now() < time) await new Promise((resolve) => setTimeout(resolve, time - Date.now()));
}

describe('stream with an expired token', () => {
  it('reports the expiry when the next element is due, and closes with 1000', async () => {
    await using sandbox = await startSandbox(authOptions);
    generateHistory(sandbox.ledger, { seed: 1, updates: 3 });
    const end = expiresIn(1_500);
    const stream = openStream(sandbox, updates, after(0), await token(signer, { sub: 'reader', exp: end }));
    await stream.began;
    // After the first checkpoint, no element is due until there is an update.
    await waitUntilPast(end * 1000 + 50);
    await pong(stream.socket);
    expect(stream.socket.readyState).toBe(WebSocket.OPEN);
    const framesBefore = stream.frames.length;
    expect(stream.frames.join('\n')).not.toContain('ACCESS_TOKEN_EXPIRED');
    const refusedResponse = await fetch(`${sandbox.url}/v2/state/ledger-end`, {
      headers: { authorization: `Bearer ${await token(signer, { sub: 'reader', exp: end })}` },
    });
    expect(refusedResponse.status).toBe(401);
    generateHistory(sandbox.ledger, { seed: 2, updates: 1 });
    expect(await stream.closed).toEqual([1000, '']);
    expect(stream.frames).toHaveLength(framesBefore + 1);
    const untimed = (frame: string): unknown =>
      comparable({ frames: [frame.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, '<time>')] }, 1);
    expect(untimed(stream.frames.at(-1) ?? '')).toEqual(untimed(recordedEnd()));
  });
});

describe('stream after a change of user rights', () => {
  it('ends with STALE_STREAM_AUTHORIZATION before the next element', async () => {
    await using sandbox = await startSandbox(authOptions);
    generateHistory(sandbox.ledger, { seed: 1, updates: 3 });
    const stream = openStream(sandbox, updates, after(0), await token(signer, { sub: 'reader' }));
    await stream.began;
    const response = await fetch(`${sandbox.url}/v2/users/reader/rights`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${await token(signer, { sub: 'participant_admin' })}` },
      body: JSON.stringify({ userId: 'reader', rights: [{ kind: { CanReadAsAnyParty: { value: {} } } }] }),
    });
    expect(response.status).toBe(200);
    expect(await stream.closed).toEqual([1000, '']);
    expect(JSON.parse(stream.frames.at(-1) ?? '')).toMatchObject({
      code: 'STALE_STREAM_AUTHORIZATION',
      grpcCodeValue: 10,
    });
  });
});

describe('sandbox shutdown or restore', () => {
  it.each([
    ['an update stream', updates, (): object => after(0)],
    ['an active-contracts list', contracts, activeAt],
  ] as const)('closes %s with 1006 and without an error frame on shutdown', async (_caseName, path, request) => {
    const sandbox = await startSandbox({ faults: { slowFrames: { delayMs: 20 } } });
    generateHistory(sandbox.ledger, { seed: 1, updates: 60 });
    const stream = openStream(sandbox, path, request(sandbox.ledger.ledgerEnd()));
    await stream.began;
    await sandbox.close();
    expect(await stream.closed).toEqual([1006, '']);
    expect(stream.frames.length).toBeLessThan(20);
    expect(stream.frames.join('\n')).not.toContain('errorCategory');
  });

  it('closes idle streams with 1006 and sends no new updates on restore', async () => {
    await using sandbox = await startSandbox();
    generateHistory(sandbox.ledger, { seed: 1, updates: 60 });
    const end = sandbox.ledger.ledgerEnd();
    const stream = openStream(sandbox, updates, after(end - 1));
    await stream.began;
    await pong(stream.socket);
    const framesBefore = stream.frames.length;
    sandbox.ledger.restore(30);
    while (sandbox.ledger.ledgerEnd() <= end) generateHistory(sandbox.ledger, { seed: 3, updates: 5 });
    expect(await stream.closed).toEqual([1006, '']);
    expect(stream.frames).toHaveLength(framesBefore);
  });

  it.each([
    ['an update stream', updates, (): object => after(0)],
    ['an active-contracts list', contracts, activeAt],
  ] as const)('closes %s with 1006 on restore', async (_caseName, path, request) => {
    await using sandbox = await startSandbox({ faults: { slowFrames: { delayMs: 20 } } });
    generateHistory(sandbox.ledger, { seed: 1, updates: 60 });
    const stream = openStream(sandbox, path, request(sandbox.ledger.ledgerEnd()));
    await stream.began;
    sandbox.ledger.restore(30);
    expect((await stream.closed)[0]).toBe(1006);
  });
});

async function post(sandbox: Sandbox, path: string, body: object): Promise<string> {
  const response = await fetch(`${sandbox.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return await response.text();
}

/** Reassigns a contract to the other synchronizer, by commands as users submit them. */
async function reassign(sandbox: Sandbox): Promise<void> {
  const [{ id: source }, { id: target }] = sandbox.ledger.synchronizers;
  const [submitter] = ['Alice::1220aa'];
  const argument = { issuer: submitter, owner: submitter, currency: 'USD', amount: '1', observers: [] };
  const { contractId } = sandbox.ledger.create('#model-tests:Iou:Iou', argument, [submitter ?? '']);
  const path = '/v2/commands/submit-and-wait-for-reassignment';
  const eventFormat = { filtersByParty: {}, filtersForAnyParty: {} };
  const move = async (command: object, commandId: string): Promise<string> =>
    await post(sandbox, path, { reassignmentCommands: { commands: [{ command }], commandId, submitter }, eventFormat });
  const unassignResponse = await move({ UnassignCommand: { value: { contractId, source, target } } }, 'leave');
  const reassignmentId = /"reassignmentId":"([^"]+)"/u.exec(unassignResponse)?.[1];
  await move({ AssignCommand: { value: { reassignmentId, source, target } } }, 'arrive');
}

describe('sandbox streams', () => {
  const names = ['updates-ledger-effects.jsonl', 'updates-acs-delta.jsonl', 'active-contracts.jsonl'];
  const recordedFrames = ['core', 'two-synchronizers'].flatMap((recordingName) =>
    names.flatMap((name) => fixtureLines(`recordings/${recordingName}/${name}`)),
  );

  it('contain every recorded form of update, event and entry', async () => {
    await using sandbox = await busySandbox('3.5');
    const { ledger } = sandbox;
    authorize(ledger, ledger.participantId, true);
    await reassign(sandbox);
    const end = ledger.ledgerEnd();
    const frames: string[] = [];
    for (const [path, request] of [
      [updates, after(0, end)],
      [updates, deltaAfter(end)],
      [contracts, activeAt(end)],
    ] as const) {
      const stream = openStream(sandbox, path, request);
      expect(await stream.closed).toEqual([1000, '']);
      frames.push(...stream.frames);
    }
    const sentForms = formsIn(frames);
    expect([...formsIn(recordedFrames)].filter((frameForm) => !sentForms.has(frameForm))).toEqual([]);
  });
});

const anyParty = { filtersByParty: {}, filtersForAnyParty: {} };
const deltaAfter = (endInclusive: number): object => ({
  beginExclusive: 0,
  endInclusive,
  updateFormat: {
    includeTransactions: { eventFormat: anyParty, transactionShape: 'TRANSACTION_SHAPE_ACS_DELTA' },
    includeReassignments: anyParty,
  },
});
