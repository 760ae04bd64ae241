/** Protocol of the sandbox: handshake, order of checks, refusals, pruning, checkpoints, faults. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { anyParty, valueAt, post, stream, updateFormat } from './sockets.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3, limits: { checkpointIntervalMs: 50 } });
});
afterEach(async () => {
  await sandbox.close();
});

const effects = updateFormat('LEDGER_EFFECTS');

async function refusal(request: unknown, path = '/v2/updates'): Promise<unknown[]> {
  const { frames, code } = await stream(sandbox.url, path, request);
  const body: unknown = JSON.parse(frames.at(-1) ?? 'null');
  return [frames.length, code, valueAt(body, 'code'), valueAt(body, 'cause')];
}

describe('the handshake', () => {
  it('selects daml.ws.auth, whatever other names are offered', async () => {
    generateHistory(sandbox.ledger, { seed: 1, updates: 3 });
    const request = { beginExclusive: 0, updateFormat: effects };
    const { protocol } = await stream(sandbox.url, '/v2/updates', request, (frames) => frames.length > 0, {
      protocols: ['jwt.token.x', 'daml.ws.auth'],
    });
    expect(protocol).toBe('daml.ws.auth');
  });

  it('selects ledger.ws.auth for a client that offers only that name', async () => {
    const options = { protocols: ['ledger.ws.auth'] };
    const { protocol } = await stream(sandbox.url, '/v2/state/active-contracts', 'x', undefined, options);
    expect(protocol).toBe('ledger.ws.auth');
  });

  it('selects the subprotocol even if the client offers none', async () => {
    const socket = new WebSocket(`${sandbox.url.replace('http', 'ws')}/v2/updates`);
    const error = await new Promise<Error>((resolve) => {
      socket.on('error', resolve);
    });
    expect(error.message).toMatch(/subprotocol but none was requested/);
  });

  it('accepts a socket without a token and refuses it after the request, with code NA and a normal close', async () => {
    await using protectedSandbox = await startSandbox({ token: 'right' });
    const request = { beginExclusive: 0, endInclusive: null, updateFormat: effects };
    const refusedStream = await stream(protectedSandbox.url, '/v2/updates', request, undefined, {
      headers: { authorization: 'Bearer x' },
    });
    expect(valueAt(JSON.parse(refusedStream.frames[0] ?? ''), 'grpcCodeValue')).toBe(16);
    expect(refusedStream.code).toBe(1000);
    const acs = { activeAtOffset: 0, eventFormat: anyParty };
    const headers = { authorization: 'Bearer right' };
    const right = await stream(protectedSandbox.url, '/v2/state/active-contracts', acs, undefined, { headers });
    expect(right).toMatchObject({ frames: [], code: 1000 });
    expect((await fetch(`${protectedSandbox.url}/v2/state/ledger-end`)).status).toBe(401);
  });
});

describe('refusals', () => {
  it('are sent as one JSON frame before a normal close', async () => {
    expect(await refusal('hello')).toEqual([
      1,
      1000,
      'LEDGER_API_INTERNAL_ERROR',
      expect.stringContaining('Cannot decode frame: Text(hello,true,None), due to: Error(hello,'),
    ]);
  });

  it('are checked in the order format, offsets, filters', async () => {
    const unknown = {
      filtersByParty: {},
      filtersForAnyParty: {
        cumulative: [{ identifierFilter: { TemplateFilter: { value: { templateId: '#nope:M:T' } } } }],
      },
    };
    const format = updateFormat('ACS_DELTA', unknown);
    expect((await refusal({ beginExclusive: 9, verbose: true, updateFormat: format }))[2]).toBe('INVALID_ARGUMENT');
    expect((await refusal({ beginExclusive: 9 }))[3]).toMatch(/Either filter\/verbose or update_format is required/);
    expect(await refusal({ beginExclusive: 9, updateFormat: format })).toEqual([
      1,
      1000,
      'OFFSET_AFTER_LEDGER_END',
      'Begin offset (9) is after ledger end (0)',
    ]);
    expect((await refusal({ beginExclusive: -1, updateFormat: format }))[2]).toBe('NEGATIVE_OFFSET');
    expect((await refusal({ beginExclusive: 0, endInclusive: 0, updateFormat: format }))[2]).toBe(
      'NON_POSITIVE_OFFSET',
    );
    expect((await refusal({ beginExclusive: 0, updateFormat: format }))[2]).toBe('PACKAGE_NAMES_NOT_FOUND');
    expect((await refusal({ beginExclusive: 0, updateFormat: updateFormat('ACS_DELTA', {}) }))[2]).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('report an end before the start, but accept an empty range', async () => {
    sandbox.ledger.skipOffsets(20);
    expect((await refusal({ beginExclusive: 10, endInclusive: 5, updateFormat: effects }))[2]).toBe(
      'OFFSET_OUT_OF_RANGE',
    );
    expect(
      await stream(sandbox.url, '/v2/updates', { beginExclusive: 5, endInclusive: 5, updateFormat: effects }),
    ).toMatchObject({ frames: [], code: 1000 });
  });

  it('name the pruned offset for updates and active contracts below it', async () => {
    generateHistory(sandbox.ledger, { seed: 1, updates: 50 });
    sandbox.ledger.pruneTo(30);
    const end = sandbox.ledger.ledgerEnd();
    expect((await refusal({ beginExclusive: 6, endInclusive: end, updateFormat: effects }))[3]).toBe(
      `Transactions request from 7 to ${end} precedes pruned offset 30`,
    );
    expect((await refusal({ activeAtOffset: 6, eventFormat: anyParty }, '/v2/state/active-contracts'))[3]).toBe(
      'Active contracts request at offset 6 precedes pruned offset 30',
    );
    const legal = await stream(sandbox.url, '/v2/updates', {
      beginExclusive: 30,
      endInclusive: end,
      updateFormat: effects,
    });
    expect(legal.code).toBe(1000);
    expect(legal.frames.length).toBeGreaterThan(5);
  });
});

describe('a followed stream', () => {
  it('delivers updates appended while it runs, then a checkpoint at the ledger end', async () => {
    setImmediate(() => generateHistory(sandbox.ledger, { seed: 1, updates: 5 }));
    const { frames } = await stream(
      sandbox.url,
      '/v2/updates',
      { beginExclusive: 0, updateFormat: effects },
      (seenFrames) => seenFrames.at(-1)?.includes('OffsetCheckpoint') ?? false,
    );
    expect(frames).toHaveLength(6);
    expect(valueAt(JSON.parse(frames[5] ?? ''), 'update', 'OffsetCheckpoint', 'value', 'offset')).toBe(
      sandbox.ledger.ledgerEnd(),
    );
  });

  it('has no checkpoint when a bounded range ends', async () => {
    generateHistory(sandbox.ledger, { seed: 1, updates: 40 });
    const request = { beginExclusive: 0, endInclusive: sandbox.ledger.ledgerEnd(), updateFormat: effects };
    const { frames, code } = await stream(sandbox.url, '/v2/updates', request);
    expect([frames.length, code]).toEqual([40, 1000]);
  });

  it('is closed after the configured time without a frame', async () => {
    await using shortTimeoutSandbox = await startSandbox({ idleTimeoutMs: 50 });
    const { code } = await stream(shortTimeoutSandbox.url, '/v2/updates', { beginExclusive: 0, updateFormat: effects });
    expect(code).toBe(1006);
  });
});

describe('faults', () => {
  const request = { beginExclusive: 0, updateFormat: effects };
  beforeEach(() => generateHistory(sandbox.ledger, { seed: 1, updates: 40 }));

  it('drop the connection after a number of frames that depends on the seed', async () => {
    sandbox.faults.cutEveryFrames = { min: 5, max: 9 };
    const { frames, code } = await stream(sandbox.url, '/v2/updates', request);
    expect(code).toBe(1006);
    expect(frames.length).toBeGreaterThanOrEqual(5);
    expect(frames.length).toBeLessThanOrEqual(9);
  });

  it('send an error frame once in the middle of a stream', async () => {
    sandbox.faults.errorFrameOnce = { body: { code: 'SERVICE_NOT_RUNNING' }, afterFrames: 7 };
    const brokenFrames = await stream(sandbox.url, '/v2/updates', request);
    expect([brokenFrames.frames.length, brokenFrames.code, brokenFrames.frames[7]]).toEqual([
      8,
      1000,
      '{"code":"SERVICE_NOT_RUNNING"}',
    ]);
    const completeStream = await stream(sandbox.url, '/v2/updates', request, (frames) => frames.length === 40);
    expect(completeStream.frames).toHaveLength(40);
  });

  it('close with 1011 once, and repeat checkpoints', async () => {
    sandbox.faults.closeWith1011Once = { afterFrames: 3 };
    sandbox.faults.duplicateCheckpoints = true;
    expect(await stream(sandbox.url, '/v2/updates', request)).toMatchObject({ code: 1011 });
    const { frames } = await stream(sandbox.url, '/v2/updates', request, (seenFrames) => seenFrames.length === 42);
    expect(frames[41]).toBe(frames[40]);
  });

  it('stall after some frames until the fault is removed', async () => {
    sandbox.faults.stall = { afterFrames: 4 };
    const { frames } = await stream(sandbox.url, '/v2/updates', request, (seenFrames) => {
      if (seenFrames.length === 4) sandbox.faults.stall = undefined;
      return seenFrames.length === 40;
    });
    expect(frames).toHaveLength(40);
  });
});

describe('HTTP', () => {
  it('responds to the state calls with compact JSON', async () => {
    generateHistory(sandbox.ledger, { seed: 1, updates: 10 });
    const text = async (path: string): Promise<string> => (await fetch(`${sandbox.url}${path}`)).text();
    expect(await text('/v2/state/ledger-end')).toBe(`{"offset":${sandbox.ledger.ledgerEnd()}}`);
    expect(await text('/v2/state/latest-pruned-offsets')).toBe(
      '{"participantPrunedUpToInclusive":0,"allDivulgedContractsPrunedUpToInclusive":0}',
    );
    expect(await text('/v2/parties/participant-id')).toBe(`{"participantId":"${sandbox.participantId}"}`);
    expect(await text('/v2/version')).toContain('"maxOffsetCheckpointEmissionDelay":{"seconds":75');
    expect(await text('/v2/state/connected-synchronizers')).toContain('"synchronizerAlias":"global"');
    expect(await text('/readyz')).toContain('SERVING');
    expect(await text('/v2/nope')).toContain('"status":404');
  });

  it('refuses a list of more than 200 elements with 413 and truncates to a smaller limit', async () => {
    generateHistory(sandbox.ledger, { seed: 1, updates: 230 });
    const request = { beginExclusive: 0, endInclusive: sandbox.ledger.ledgerEnd(), updateFormat: effects };
    expect(await post(sandbox.url, '/v2/updates', request)).toMatchObject({ status: 413 });
    const limitedResponse = await post(sandbox.url, '/v2/updates?limit=7', request);
    expect([limitedResponse.status, valueAt(limitedResponse.body, 'length')]).toEqual([200, 7]);
  });

  it('finds an update by offset and by id, and returns not found otherwise', async () => {
    generateHistory(sandbox.ledger, { seed: 1, updates: 10 });
    const offset = sandbox.ledger.ledgerEnd();
    const updateByOffset = await post(sandbox.url, '/v2/updates/update-by-offset', { offset, updateFormat: effects });
    const [kind = ''] = Object.keys(valueAt(updateByOffset.body, 'update') as object);
    const updateId = valueAt(updateByOffset.body, 'update', kind, 'value', 'updateId');
    expect(await post(sandbox.url, '/v2/updates/update-by-id', { updateId, updateFormat: effects })).toEqual(
      updateByOffset,
    );
    const notFoundResponse = await post(sandbox.url, '/v2/updates/update-by-offset', {
      offset: offset + 1,
      updateFormat: effects,
    });
    expect(notFoundResponse).toMatchObject({ status: 404, body: { code: 'UPDATE_NOT_FOUND' } });
  });
});
