/** Compares the update trees of `explain_update` with known trees and with a model of successors. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { randomFrom } from '../random-history.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

const { alice } = frames;

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

/** An exercise with its consequences, or a created contract. */
interface Node {
  readonly contractId: string;
  readonly template?: string;
  readonly consuming?: boolean;
  readonly below?: readonly Node[];
  readonly payload?: frames.JsonRecord;
}

interface PlacedNode {
  readonly node: Node;
  readonly nodeId: number;
  readonly depth: number;
  readonly parent: number | null;
  last: number;
}

/** The nodes in pre-order, with their positions in the tree. */
function placedNodes(roots: readonly Node[]): readonly PlacedNode[] {
  const nodeList: PlacedNode[] = [];
  const visitNode = (node: Node, depth: number, parent: number | null): number => {
    const entry: PlacedNode = { node, nodeId: nodeList.length, depth, parent, last: nodeList.length };
    nodeList.push(entry);
    for (const child of node.below ?? []) entry.last = visitNode(child, depth + 1, entry.nodeId);
    return entry.last;
  };
  for (const root of roots) visitNode(root, 0, null);
  return nodeList;
}

const fqnOf = (name = 'Iou'): string => `${'ab'.repeat(32)}:Main.Iou:${name}`;

function frameOf(offset: number, roots: readonly Node[]): frames.JsonRecord {
  const events = placedNodes(roots).map(({ node, nodeId, last }): frames.JsonRecord => {
    const commonFields = { offset, nodeId, contractId: node.contractId, templateId: fqnOf(node.template) };
    if (node.below === undefined)
      return {
        CreatedEvent: frames.created({ ...commonFields, createArgument: node.payload ?? {}, interfaceViews: [] }),
      };
    const consuming = node.consuming === true;
    return {
      ExercisedEvent: frames.exercised({ ...commonFields, consuming, lastDescendantNodeId: last, acsDelta: consuming }),
    };
  });
  return frames.transaction(offset, events, { updateId: `1220${offset.toString(16).padStart(8, '0')}` });
}

let newestOffset = 0;
async function write(roots: readonly Node[]): Promise<number> {
  newestOffset += 1;
  await database.write(frameOf(newestOffset, roots));
  return newestOffset;
}

interface Row {
  readonly node_id: number;
  readonly parent_node_id: number | null;
  readonly depth: number;
  readonly event_type: string;
  readonly contract_id: string;
  readonly other_contract_id: string | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly changed: unknown;
}

const explain = (offset: number): Promise<readonly Row[]> =>
  database.query<Row>('select * from explore.explain_update($1::bigint)', [offset]);

/** Pairs of contracts and successors by the documented rule, computed with a simpler algorithm. */
function pairsOf(roots: readonly Node[]): Map<number, number> {
  const nodeList = placedNodes(roots);
  const pairs = new Map<number, number>();
  const settledOffsets = new Set<number>();
  const settle = (from: number, to: number): void => {
    for (const name of new Set(nodeList.map(({ node }) => node.template))) {
      const pendingNodes = nodeList
        .slice(from, to + 1)
        .filter(({ node, nodeId }) => node.template === name && !settledOffsets.has(nodeId));
      const consumedNodes = pendingNodes.filter(({ node }) => node.consuming);
      const createdNodes = pendingNodes.filter(({ node }) => node.below === undefined);
      const [consumedNode, otherNode] = [consumedNodes[0], createdNodes[0]];
      if (consumedNode === undefined || otherNode === undefined) continue;
      for (const { nodeId } of [...consumedNodes, ...createdNodes]) settledOffsets.add(nodeId);
      if (consumedNodes.length > 1 || createdNodes.length > 1) continue;
      pairs.set(consumedNode.nodeId, otherNode.nodeId).set(otherNode.nodeId, consumedNode.nodeId);
    }
  };
  for (const { node, nodeId, last } of nodeList.toSorted((a, b) => b.depth - a.depth))
    if (node.below !== undefined) settle(nodeId, last);
  settle(0, nodeList.length);
  return pairs;
}

describe('explain_update', () => {
  it('returns the successor of a consumed contract, and the changed fields', async () => {
    const payloadBefore = { owner: alice, amount: '60.0', lock: null, meta: { a: '1', 'b.c/d': 'x' } };
    const payloadAfter = { owner: alice, amount: '45.5', meta: { a: '1', 'b.c/d': 'y' } };
    await write([{ contractId: '00a1', payload: payloadBefore }]);
    const offset = await write([
      { contractId: '00a1', consuming: true, below: [{ contractId: '00a2', payload: payloadAfter }] },
    ]);
    const rows = await explain(offset);
    expect(rows.map((row) => [row.depth, row.event_type, row.contract_id, row.other_contract_id])).toEqual([
      [0, 'archived', '00a1', '00a2'],
      [1, 'created', '00a2', '00a1'],
    ]);
    expect(rows[0]).toMatchObject({
      before: payloadBefore,
      after: payloadAfter,
      changed: [
        { field: ['amount'], before: '60.0', after: '45.5' },
        { field: ['meta', 'b.c/d'], before: 'x', after: 'y' },
      ],
    });
    expect(rows[1]).toMatchObject({ before: null, after: payloadAfter, changed: null });
  });

  it('accepts an update id, and returns no rows for an unknown update id', async () => {
    const [idPlan] = await database.query(`select count(*)::int as n from explore.explain_update('122000000002')`);
    expect(idPlan).toEqual({ n: 2 });
    expect(await database.query(`select * from explore.explain_update('122000000099')`)).toEqual([]);
  });

  it('returns the event tree of random updates, and pairs contracts as documented', async () => {
    const random = randomFrom(20_261_124);
    let serial = 0;
    let pairedCount = 0;
    const tree = (depth: number): readonly Node[] =>
      Array.from({ length: Math.floor(random() * 4) }, (): Node => {
        serial += 1;
        const commonFields = {
          contractId: `00e${String(serial).padStart(7, '0')}`,
          template: random() < 0.6 ? 'T1' : 'T2',
        };
        if (random() < 0.4) return commonFields;
        return { ...commonFields, consuming: random() < 0.6, below: depth > 6 ? [] : tree(depth + 1) };
      });
    for (let index = 0; index < 150; index += 1) {
      const roots = tree(0);
      if (roots.length === 0) continue;
      const rows = await explain(await write(roots));
      const pairs = pairsOf(roots);
      const nodeList = placedNodes(roots);
      pairedCount += pairs.size;
      expect(rows.map((row) => [row.node_id, row.parent_node_id, row.depth, row.other_contract_id])).toEqual(
        nodeList.map(({ nodeId, parent, depth }) => {
          const otherPair = pairs.get(nodeId);
          return [nodeId, parent, depth, otherPair === undefined ? null : nodeList[otherPair]?.node.contractId];
        }),
      );
    }
    expect(pairedCount).toBeGreaterThan(100);
  });
});
