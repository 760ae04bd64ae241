/** Tables of active contracts (INDEXER_MATERIALIZE) agree with the storage after a reset and after a reseed. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLedgerClient } from '../../src/ledger/client.ts';
import { createTokenSource } from '../../src/ledger/token.ts';
import { recordDar } from '../read/typed-dar.ts';
import { query } from '../support/database.ts';
import { alice, created, exercised, transaction } from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';
import { HistoryWorld } from './history-run.ts';

const harbor = recordDar({
  name: 'harbor',
  version: '1.0.0',
  templates: ['Berth'],
  records: { Berth: { owner: 'text', size: 'int64' } },
});
const named = { templateId: `${harbor.packageId}:Main:Berth`, packageName: 'harbor' };
const env = { INDEXER_START: 'genesis', INDEXER_MATERIALIZE: '#harbor:Main:Berth(owner)' };

let world: HistoryWorld;
let made = 0;
beforeEach(async () => {
  made = 0;
  world = await HistoryWorld.open(5);
  const tokenSource = createTokenSource({});
  const access = { tokenSource, insecure: false, requestTimeoutMs: 10_000 };
  await createLedgerClient({ url: world.sandbox.url, ...access }).packages.uploadDar(harbor.dar);
  berths(60);
});
afterEach(async () => {
  await world.close();
});

/** Each transaction makes two berths and, from the tenth on, archives one of an earlier one. */
function berths(transactions: number): void {
  const { ledger } = world.sandbox;
  for (let at = 0; at < transactions; at += 1) {
    const offset = ledger.ledgerEnd() + 1;
    const make = (nodeId: number): object => {
      made += 1;
      const event = { ...named, offset, nodeId, contractId: `00${made}`, interfaceViews: [] };
      return { CreatedEvent: created({ ...event, createArgument: { owner: alice, size: String(made) } }) };
    };
    const events = [make(0), make(1)];
    const archive = { ...named, offset, nodeId: 2, lastDescendantNodeId: 2, choice: 'Archive', interfaceId: null };
    const contractId = `00${made - 19}`;
    if (made > 20) events.push({ ExercisedEvent: exercised({ ...archive, contractId, implementedInterfaces: [] }) });
    ledger.appendRaw(transaction(offset, events as never));
  }
}

async function filled(): Promise<void> {
  await using indexer = await world.run('ledger', env);
  await indexer.reaches(world.sandbox.ledger.ledgerEnd());
  await waitFor('the table is filled', async () => {
    const [row] = await query(world.database.url, 'select state from ledger.materialized');
    return row?.['state'] === 'ready' ? true : undefined;
  });
}

/** Rows of the table that differ from what the storage says; the table must not be empty. */
async function differences(): Promise<readonly unknown[]> {
  const byHand = `select c.contract_id, c.payload ->> 'owner' as owner, (c.payload ->> 'size')::bigint as size
    from ledger.lifetimes l join ledger.contracts c on c.contract_id = l.contract_id and c."offset" = l.activated_offset
    join ledger.templates t on t.template_pk = l.template_pk
   where l.deactivated_offset is null and t.entity_name = 'Berth'`;
  const table = 'select contract_id, owner, size from typed.harbor__berth__active';
  const count = await world.row(`select count(*)::int as n from (${table}) t`);
  expect(count['n']).toBeGreaterThan(10);
  const wrong = `(${byHand} except all ${table}) union all (${table} except all ${byHand})`;
  return query(world.database.url, wrong);
}

it('are right at once after going back, and when what went comes again', async () => {
  await filled();
  await world.command(`reset --to ${world.sandbox.ledger.ledgerEnd() - 20} --yes`);
  expect(await differences()).toEqual([]);
  await filled();
  expect(await differences()).toEqual([]);
});

it('are right at once after a reseed that keeps the history', async () => {
  await filled();
  berths(40);
  world.sandbox.ledger.pruneTo(world.sandbox.ledger.ledgerEnd());
  await world.command('reseed --keep-history --yes');
  expect(await differences()).toEqual([]);
  berths(5);
  await filled();
  expect(await differences()).toEqual([]);
});
