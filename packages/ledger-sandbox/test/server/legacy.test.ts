/** Requests in the legacy form (`filter`, `verbose`), and refusals of mixed, missing and malformed forms. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { fixture } from '../../../../test/support/wire/fixtures.ts';
import { anyParty, valueAt, post, stream } from './sockets.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3 });
  generateHistory(sandbox.ledger, { seed: 1, updates: 20 });
});
afterEach(async () => {
  await sandbox.close();
});

const delta = { eventFormat: anyParty, transactionShape: 'TRANSACTION_SHAPE_ACS_DELTA' };

describe('the legacy form', () => {
  it('means ACS delta transactions and reassignments, without topology', async () => {
    const range = { beginExclusive: 0, endInclusive: sandbox.ledger.ledgerEnd() };
    const legacy = await stream(sandbox.url, '/v2/updates', { ...range, filter: anyParty, verbose: true });
    const updateFormat = { includeTransactions: delta, includeReassignments: anyParty };
    const updateFrames = await stream(sandbox.url, '/v2/updates', { ...range, updateFormat });
    expect(legacy.frames).toEqual(updateFrames.frames);
    expect(legacy.frames.length).toBeGreaterThan(5);
  });

  it('requests the same active contracts as an event format', async () => {
    const activeAtOffset = sandbox.ledger.ledgerEnd();
    const path = '/v2/state/active-contracts';
    const legacy = await post(sandbox.url, path, { activeAtOffset, filter: anyParty, verbose: false });
    expect(legacy).toEqual(await post(sandbox.url, path, { activeAtOffset, eventFormat: anyParty }));
    expect(valueAt(legacy.body, 'length')).toBeGreaterThan(2);
  });

  it('is refused with the recorded error if the request also has the new form, or has neither form', async () => {
    const sample = (name: string): unknown => JSON.parse(fixture(`samples/refusals/${name}`));
    const conflictingRequest = { beginExclusive: 0, verbose: true, updateFormat: { includeTransactions: delta } };
    expect((await post(sandbox.url, '/v2/updates', conflictingRequest)).body).toEqual(sample('both-formats.json'));
    const formatlessResponse = await post(sandbox.url, '/v2/updates', { beginExclusive: 0 });
    expect(formatlessResponse.body).toEqual(sample('neither-format.json'));
  });

  it('is refused for active contracts with messages that name event_format', async () => {
    const path = '/v2/state/active-contracts';
    const cause = async (body: object): Promise<unknown> =>
      (await post(sandbox.url, path, { activeAtOffset: 0, ...body })).body['cause'];
    expect(await cause({ eventFormat: anyParty, filter: anyParty })).toMatch(/Both event_format and filter are set\./);
    expect(await cause({ eventFormat: anyParty, verbose: true })).toMatch(/Both event_format and verbose are set\./);
    expect(await cause({ verbose: true })).toMatch(/Either filter\/verbose or event_format is required\./);
    expect(await cause({ filter: {} })).toMatch(/filtersByParty and filtersForAnyParty cannot be empty simultaneously/);
  });
});

describe('a format', () => {
  it('requires a known transaction shape', async () => {
    const requestTransaction = (transactionShape?: string): ReturnType<typeof post> =>
      post(sandbox.url, '/v2/updates', {
        beginExclusive: 0,
        updateFormat: { includeTransactions: { eventFormat: anyParty, transactionShape } },
      });
    expect((await requestTransaction()).body).toMatchObject({
      code: 'MISSING_FIELD',
      context: { field_name: 'transaction_shape' },
    });
    expect((await requestTransaction('TRANSACTION_SHAPE_UNSPECIFIED')).body['code']).toBe('MISSING_FIELD');
  });

  it('that cannot be decoded is refused with 400 text/plain on HTTP and with an error frame on a socket', async () => {
    const conflictingFormat = { includeTransactions: { eventFormat: anyParty, transactionShape: 'ROUND' } };
    const request = JSON.stringify({ beginExclusive: 0, updateFormat: conflictingFormat });
    const response = await fetch(`${sandbox.url}/v2/updates`, { method: 'POST', body: request });
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/plain; charset=UTF-8']);
    expect(await response.text()).toBe('Invalid value for: body');
    const { frames, code } = await stream(sandbox.url, '/v2/updates', request);
    expect([frames.length, code, valueAt(JSON.parse(frames[0] ?? ''), 'code')]).toEqual([
      1,
      1000,
      'LEDGER_API_INTERNAL_ERROR',
    ]);
  });
});
