/** The deprecated flat and tree forms of updates. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { authorize, unassign } from '../../src/ledger/reassignments.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { anyParty, at, post, stream, updateFormat } from '../server/sockets.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3 });
  generateHistory(sandbox.ledger, { seed: 1, updates: 40 });
});
afterEach(async () => {
  await sandbox.close();
});

const legacy = (): object => ({ beginExclusive: 0, endInclusive: sandbox.ledger.ledgerEnd(), filter: anyParty });

/** `[kind, value]` of a frame. */
function updateOf(frame: string): [string, unknown] {
  const update = at(JSON.parse(frame), 'update') as Record<string, unknown>;
  const [kind = ''] = Object.keys(update);
  return [kind, at(update, kind, 'value')];
}

describe('trees', () => {
  it('contain every event of a transaction by node id, wrapped in a value object', async () => {
    const { frames, code } = await stream(sandbox.url, '/v2/updates/trees', legacy());
    expect(code).toBe(1000);
    const trees = frames.map(updateOf).filter(([kind]) => kind === 'TransactionTree');
    expect(trees.length).toBeGreaterThan(10);
    const [, tree] = trees.at(-1) ?? [];
    expect(Object.keys(tree as object)).toEqual([
      'updateId',
      'commandId',
      'workflowId',
      'effectiveAt',
      'offset',
      'eventsById',
      'synchronizerId',
      'traceContext',
      'recordTime',
    ]);
    const request = { offset: at(tree, 'offset'), updateFormat: updateFormat('LEDGER_EFFECTS') };
    const { body } = await post(sandbox.url, '/v2/updates/update-by-offset', request);
    const events = at(body, 'update', 'Transaction', 'value', 'events') as Record<string, { nodeId: number }>[];
    const expected = events.map((event) => {
      const [kind = ''] = Object.keys(event);
      return [String(event[kind]?.nodeId), { [kind.replace('Event', 'TreeEvent')]: { value: event[kind] } }];
    });
    expect(at(tree, 'eventsById')).toEqual(Object.fromEntries(expected));
  });

  it('contain transactions and reassignments, but no topology', async () => {
    const { ledger } = sandbox;
    const [active] = ledger.activeAt(ledger.ledgerEnd());
    unassign(ledger, active?.activation.created.contractId ?? '');
    authorize(ledger, ledger.localParties()[0] ?? '', true);
    const { frames } = await stream(sandbox.url, '/v2/updates/trees', legacy());
    const listed = await post(sandbox.url, '/v2/updates/trees', legacy());
    expect(listed.body).toEqual(frames.map((frame) => JSON.parse(frame) as unknown));
    const kinds = new Set(frames.map((frame) => updateOf(frame)[0]));
    expect([...kinds].toSorted()).toEqual(['Reassignment', 'TransactionTree']);
  });

  it('contain everything that a party sees, whatever template its legacy filter has', async () => {
    const [party = ''] = sandbox.ledger.localParties();
    const templateId = '#model-tests:Iou:Iou';
    const cumulative = [{ identifierFilter: { TemplateFilter: { value: { templateId } } } }];
    const narrow = { ...legacy(), filter: { filtersByParty: { [party]: { cumulative } } } };
    const wide = { ...legacy(), filter: { filtersByParty: { [party]: {} } } };
    const seen = await stream(sandbox.url, '/v2/updates/trees', narrow);
    expect(seen.frames).toEqual((await stream(sandbox.url, '/v2/updates/trees', wide)).frames);
    expect(seen.frames.length).toBeGreaterThan(0);
    expect((await stream(sandbox.url, '/v2/updates/flats', narrow)).frames.length).toBeLessThan(seen.frames.length);
  });

  it('are found by offset and by id for the parties of the query', async () => {
    const { frames } = await stream(sandbox.url, '/v2/updates/trees', legacy());
    const [, tree] = frames.map(updateOf).findLast(([kind]) => kind === 'TransactionTree') ?? [];
    const query = sandbox.ledger.localParties().map((party) => `parties=${encodeURIComponent(party)}`);
    const look = async (path: string): Promise<unknown> =>
      (await fetch(`${sandbox.url}/v2/updates/transaction-tree-by-${path}?${query.join('&')}`)).json();
    const byId = await look(`id/${String(at(tree, 'updateId'))}`);
    expect(await look(`offset/${String(at(tree, 'offset'))}`)).toEqual(byId);
    expect(at(byId, 'transaction', 'updateId')).toBe(at(tree, 'updateId'));
    expect(Object.keys(at(byId, 'transaction', 'eventsById') as object)).toEqual(
      Object.keys(at(tree, 'eventsById') as object),
    );
  });
});

describe('flats', () => {
  it('are the same updates under an older name, until 3.6', async () => {
    const flats = await stream(sandbox.url, '/v2/updates/flats', legacy());
    expect(flats.frames).toEqual((await stream(sandbox.url, '/v2/updates', legacy())).frames);
    await using newer = await startSandbox({ release: '3.7' });
    expect((await post(newer.url, '/v2/updates/flats', legacy())).status).toBe(404);
    await expect(stream(newer.url, '/v2/updates/trees', legacy())).rejects.toThrow('404');
  });
});
