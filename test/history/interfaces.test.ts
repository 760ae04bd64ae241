/**
 * Interfaces that come after the stream was begun: their views are gathered beside it, from as far back as the participant
 * shows, and are then those that an indexer has that asked for them from the beginning.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open();
});
afterEach(() => world.close());

const tokens = { LEDGER_INTERFACES: 'tokens', INDEXER_RETRY_MAX: '1s' };

/** Every view with the names of what it is of, whatever numbers they have. */
function views(schema: string): Promise<readonly Record<string, unknown>[]> {
  return query(
    world.database.url,
    `select v."offset", v.node_id, i.package_id, i.module_name, i.entity_name, v.view, v.status_code, v.status_message,
            v.implementation_package_id, c.contract_id
       from ${schema}.interface_views v
       join ${schema}.templates i on i.template_pk = v.interface_pk
       join ${schema}.contracts c on c."offset" = v."offset" and c.node_id = v.node_id
      order by 1, 2, 3, 4, 5`,
  );
}

/** Pairs of template and interface, by names. */
function implementations(schema: string): Promise<readonly Record<string, unknown>[]> {
  return query(
    world.database.url,
    `select t.package_id, t.entity_name, i.module_name, i.entity_name as interface
       from ${schema}.template_interfaces p
       join ${schema}.templates t using (template_pk) join ${schema}.templates i on i.template_pk = p.interface_pk
      order by 1, 2, 3, 4`,
  );
}

async function completeFrom(schema: string, interfaceName: string): Promise<unknown> {
  const rows = await query(
    world.database.url,
    `select complete_from from ${schema}.filter_interfaces where interface_id like '%${interfaceName}'`,
  );
  return rows[0]?.['complete_from'];
}

async function untilComplete(schema: string, interfaceName: string): Promise<number> {
  return await waitFor(`${interfaceName} is complete`, async () => {
    const from = await completeFrom(schema, interfaceName);
    return typeof from === 'string' || typeof from === 'number' ? Number(from) : undefined;
  });
}

async function grown(indexer: IndexerRun, updates: number): Promise<void> {
  world.grow(updates);
  await indexer.reaches(world.sandbox.ledger.ledgerEnd());
}

it('have the views they would have had, of contracts that ended long ago too', async () => {
  await world.index('early', tokens);
  await world.index('late');
  const begin = await world.checkpoint('late');
  world.grow(300);
  await world.index('early', tokens);
  await world.index('late');
  expect(await views('late')).toEqual([]);

  await world.command('accept-filter --yes', 'late', tokens);
  await using late = await world.run('late', tokens);
  await using early = await world.run('early', tokens);
  world.grow(100);
  expect(await untilComplete('late', 'HoldingV1:Holding')).toBe(begin);
  await grown(late, 50);
  await early.reaches(world.sandbox.ledger.ledgerEnd());
  expect(await views('late')).toEqual(await views('early'));
  expect(await implementations('late')).toEqual(await implementations('early'));
  expect(await world.broken('late')).toEqual([]);
});
