/** The deprecated flat and tree forms of updates. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { authorize, unassign } from '../../src/ledger/reassignments.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { anyParty, valueAt, post, stream, updateFormat } from '../server/sockets.ts';

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
  const update = valueAt(JSON.parse(frame), 'update') as Record<string, unknown>;
  const [kind = ''] = Object.keys(update);
  return [kind, valueAt(update, kind, 'value')];
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
    const request = { offset: valueAt(tree, 'offset'), updateFormat: updateFormat('LEDGER_EFFECTS') };
    const { body } = await post(sandbox.url, '/v2/updates/update-by-offset', request);
    const events = valueAt(body, 'update', 'Transaction', 'value', 'events') as Record<string, { nodeId: number }>[];
    const expected = events.map((event) => {
      const [kind = ''] = Object.keys(event);
      return [String(event[kind]?.nodeId), { [kind.replace('Event', 'TreeEvent')]: { value: event[kind] } }];
    });
    expect(valueAt(tree, 'eventsById')).toEqual(Object.fromEntries(expected));
  });

  it('contain transactions and reassignments, but no topology', async () => {
    const { ledger } = sandbox;
    const [activation] = ledger.activeAt(ledger.ledgerEnd());
    unassign(ledger, activation?.activation.created.contractId ?? '');
    authorize(ledger, ledger.localParties()[0] ?? '', true);
    const { frames } = await stream(sandbox.url, '/v2/updates/trees', legacy());
    const treeList = await post(sandbox.url, '/v2/updates/trees', legacy());
    expect(treeList.body).toEqual(frames.map((frame) => JSON.parse(frame) as unknown));
    const kinds = new Set(frames.map((frame) => updateOf(frame)[0]));
    expect([...kinds].toSorted()).toEqual(['Reassignment', 'TransactionTree']);
  });

  it('contain everything that a party sees, whatever template its legacy filter has', async () => {
    const [party = ''] = sandbox.ledger.localParties();
    const templateId = '#model-tests:Iou:Iou';
    const cumulative = [{ identifierFilter: { TemplateFilter: { value: { templateId } } } }];
    const narrowRequest = { ...legacy(), filter: { filtersByParty: { [party]: { cumulative } } } };
    const wideRequest = { ...legacy(), filter: { filtersByParty: { [party]: {} } } };
    const capture = await stream(sandbox.url, '/v2/updates/trees', narrowRequest);
    expect(capture.frames).toEqual((await stream(sandbox.url, '/v2/updates/trees', wideRequest)).frames);
    expect(capture.frames.length).toBeGreaterThan(0);
    expect((await stream(sandbox.url, '/v2/updates/flats', narrowRequest)).frames.length).toBeLessThan(
      capture.frames.length,
    );
  });

  it('are found by offset and by id for the parties of the query', async () => {
    const { frames } = await stream(sandbox.url, '/v2/updates/trees', legacy());
    const [, tree] = frames.map(updateOf).findLast(([kind]) => kind === 'TransactionTree') ?? [];
    const query = sandbox.ledger.localParties().map((party) => `parties=${encodeURIComponent(party)}`);
    const lookUpTree = async (path: string): Promise<unknown> =>
      (await fetch(`${sandbox.url}/v2/updates/transaction-tree-by-${path}?${query.join('&')}`)).json();
    const treeById = await lookUpTree(`id/${String(valueAt(tree, 'updateId'))}`);
    expect(await lookUpTree(`offset/${String(valueAt(tree, 'offset'))}`)).toEqual(treeById);
    expect(valueAt(treeById, 'transaction', 'updateId')).toBe(valueAt(tree, 'updateId'));
    expect(Object.keys(valueAt(treeById, 'transaction', 'eventsById') as object)).toEqual(
      Object.keys(valueAt(tree, 'eventsById') as object),
    );
  });
});

describe('flats', () => {
  it('are the same updates under an older name, until 3.6', async () => {
    const flatFrames = await stream(sandbox.url, '/v2/updates/flats', legacy());
    expect(flatFrames.frames).toEqual((await stream(sandbox.url, '/v2/updates', legacy())).frames);
    await using newerSandbox = await startSandbox({ release: '3.7' });
    expect((await post(newerSandbox.url, '/v2/updates/flats', legacy())).status).toBe(404);
    await expect(stream(newerSandbox.url, '/v2/updates/trees', legacy())).rejects.toThrow('404');
  });
});
