/** `/update` of an indexer returns names, ids and numbers of an update, without contents and parties. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../support/frames.ts';
import { freshContractId, old, secret, startOutlineWorld, type OutlineWorld } from './outline-world.ts';

let world: OutlineWorld;
beforeAll(async () => {
  world = await startOutlineWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

describe('GET /update', () => {
  const fetchUpdate = async (query: string): Promise<readonly [number, string]> => {
    const response = await fetch(`${world.indexer.httpUrl}/update${query}`);
    return [response.status, await response.text()];
  };

  it('returns the tree of an update without contents and parties', async () => {
    const end = world.sandbox.ledger.ledgerEnd();
    const [status, text] = await fetchUpdate(`?offset=${String(end - 1)}`);
    expect(status).toBe(200);
    for (const hiddenText of [secret, frames.alice, frames.bob]) expect(text).not.toContain(hiddenText);
    expect(JSON.parse(text)).toMatchObject({
      offset: end - 1,
      previousOffset: end - 2,
      nextOffset: end,
      events: 2,
      paidTrafficCost: 512,
      omitted: 0,
      nodes: [
        { depth: 0, event: 'archived', choice: 'Transfer', contractId: old, otherContractId: freshContractId },
        { depth: 1, event: 'created', template: 'iou:Main.Iou:Iou', contractId: freshContractId, otherContractId: old },
      ],
    });
  });

  it('returns the number of omitted events, and rejects unknown offsets and invalid arguments', async () => {
    const [, wideOutline] = await fetchUpdate(`?offset=${String(world.sandbox.ledger.ledgerEnd())}`);
    expect(JSON.parse(wideOutline)).toMatchObject({ events: 100, omitted: 40 });
    expect((await fetchUpdate('?offset=987654'))[0]).toBe(404);
    for (const query of ['', '?offset=x', '?offset=1&offset=2', '?offset=1&more=2', '?offset=99999999999999999'])
      expect((await fetchUpdate(query))[0], query).toBe(400);
  });
});
