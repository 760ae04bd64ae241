/** Checks the table of keys and relations with the rows of the demo. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGraphqlWorld, type GraphqlWorld } from './graphql-world.ts';
import { HeldRelations, isValidEdge, qualifiedName, quoteColumns } from './held-relations.ts';

let world: GraphqlWorld;
beforeAll(async () => {
  world = await startGraphqlWorld();
}, 120_000);
afterAll(() => world[Symbol.asyncDispose]());

describe('key and relation table with demo data', () => {
  it('contains only keys that are unique and never null', async () => {
    const keyViolations: string[] = [];
    let keys = 0;
    for (const node of world.graph.nodes) {
      for (const key of node.keys) {
        const columns = quoteColumns('v', key);
        const rows = `from ${qualifiedName(node)} v`;
        const bad = await world.number(`select count(*) from (select count(*) as times, ${columns.join(', ')} ${rows}
          group by ${columns.join(', ')}) v where times > 1 or ${columns.map((name) => `${name} is null`).join(' or ')}`);
        if (bad > 0) keyViolations.push(`${qualifiedName(node)} (${key.join(', ')}): ${String(bad)}`);
        keys += 1;
      }
    }
    expect(keyViolations).toEqual([]);
    expect(keys).toBeGreaterThan(100);
  });

  it('contains no relation with missing rows and no explore relation without rows', async () => {
    const relations = new HeldRelations(world.demo);
    const orphanNodes: string[] = [];
    const idleNodes: string[] = [];
    for (const node of world.graph.nodes.filter(({ edges }) => edges.length > 0)) {
      const edgeCounts = await relations.meets(node);
      for (const [index, edge] of node.edges.entries()) {
        const { met: resolvedCount, missing: missingCount } = edgeCounts[index] ?? { met: 0, missing: 1 };
        if (missingCount > 0 && !isValidEdge(node, edge))
          orphanNodes.push(`${qualifiedName(node)}.${edge.field}: ${String(missingCount)}`);
        if (resolvedCount === 0 && node.schema === 'explore') idleNodes.push(`${node.view}.${edge.field}`);
      }
    }
    expect(orphanNodes).toEqual([]);
    expect(idleNodes).toEqual([]);
  });
});

it('graphql does not rewrite an unchanged file, and rejects two formats', async () => {
  const path = join(world.folder, 'tags.json5');
  expect(await world.graphql('--postgraphile', '--output', path)).toMatch(/is up to date: \d+ views and \d+ relations/);
  await expect(world.graphql('--postgraphile', '--hasura')).rejects.toMatchObject({ code: 'USAGE' });
  await expect(world.graphql('--postgraphile', '--output', join(world.folder, 'none/tags'))).rejects.toMatchObject({
    code: 'USAGE',
  });
  const metadata = JSON.parse(await world.graphql('--hasura')) as {
    sources: readonly { tables: readonly unknown[] }[];
  };
  expect(metadata.sources[0]?.tables).toHaveLength(world.graph.nodes.length);
});
