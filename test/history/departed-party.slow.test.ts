/**
 * A participant offboards a party. No event ends the contracts of the party. They must not be active in any view, and
 * are reported as unhosted since an offset.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountTemplate } from '../../packages/ledger-sandbox/src/contracts/keyed-model.ts';
import { authorize } from '../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runVerify } from '../verify/verify-run.ts';
import { HistoryWorld } from './history-run.ts';

let world: HistoryWorld;
const namespace = `1220${'ab'.repeat(32)}`;
const [guestParty, keeperParty, outsiderParty] = ['guest', 'keeper', 'stranger'].map(
  (name) => `${name}::${namespace}`,
) as [string, string, string];
const ids: Record<string, string> = {};

function openAccount(name: string, bank: string, owner: string): void {
  const argument = { bank, owner, number: name, balance: '1.0', version: '1' };
  ids[name] = world.sandbox.ledger.create(`#${accountTemplate}`, argument, [bank]).contractId;
}
const close = (name: string, closedBy: string): unknown =>
  world.sandbox.ledger.exercise(ids[name] ?? '', 'Archive', {}, [closedBy]);

/** Names of the accounts that a query returns. */
async function names(sql: string): Promise<string> {
  const rows = await query(world.database.url, sql);
  const contractIds = new Set(rows.map(({ contract_id: id }) => id));
  return Object.keys(ids)
    .filter((name) => contractIds.has(ids[name]))
    .join(', ');
}
const status = async (name: string): Promise<unknown> =>
  world.row(
    `select status, is_active, unhosted_since::int as since from explore.contracts where contract_id = '${ids[name]}'`,
  );
const verifyResults = async () => {
  const { results } = await runVerify(['--invariants', '--acs'], world.env());
  return results.map(({ kind, outcome, findings, note }) => ({ kind, outcome, findings, note }));
};
const omittedText = (count: number): string =>
  `${count} contracts whose parties left the participant are not compared: their state is unknown`;

/** All queries that return active contracts. */
const activeByParty: Readonly<Record<string, string>> = {
  view: 'select contract_id from explore.active_contracts',
  function: `select contract_id from explore.active('Account')`,
  storage: 'select contract_id from ledger.active_contracts',
  flag: 'select contract_id from explore.contracts where is_active',
  pqs: `select contract_id from pqs.active('Account')`,
  lives: `select contract_id from pqs.creates('Account') where upper_inf(life_ix)`,
};

let departedCount = 0;

beforeAll(async () => {
  world = await HistoryWorld.open(0);
  const { ledger } = world.sandbox;
  for (const { id: synchronizerId } of ledger.synchronizers) {
    for (const party of [guestParty, keeperParty]) authorize(ledger, party, true, undefined, { synchronizerId });
    authorize(ledger, outsiderParty, false, undefined, { synchronizerId });
  }
  openAccount('seeded', guestParty, outsiderParty);
  openAccount('seeded and closed', guestParty, outsiderParty);
  await world.index();
  // The participant reported the hosting before the seed, so the index has no record of it. The update about the keeper
  // is sent again.
  authorize(ledger, keeperParty, true);
  openAccount('alone', guestParty, outsiderParty);
  openAccount('with the keeper', guestParty, keeperParty);
  openAccount('closed before', guestParty, outsiderParty);
  close('closed before', guestParty);
  await world.index();
  departedCount = authorize(ledger, guestParty, false);
  close('seeded and closed', guestParty);
  close('alone', guestParty);
  openAccount('unseen', guestParty, outsiderParty);
  openAccount('later with the keeper', keeperParty, guestParty);
  await world.index();
}, 120_000);
afterAll(async () => {
  await world.close();
});

describe('contracts of an offboarded party', () => {
  it.each(Object.entries(activeByParty))('are not returned as active by the query "%s"', async (_name, sql) => {
    expect(await names(sql)).toBe('with the keeper, later with the keeper');
  });

  it('are unhosted from the offset of the offboarding, and active at earlier offsets', async () => {
    for (const name of ['seeded', 'seeded and closed', 'alone']) {
      expect(await status(name)).toEqual({ status: 'unhosted', is_active: false, since: departedCount });
    }
    expect(await status('closed before')).toMatchObject({ status: 'archived', since: null });
    for (const functionName of ['explore.active_at', `pqs.active`]) {
      const sql = (offset: number): string =>
        functionName === 'pqs.active'
          ? `select contract_id from pqs.active('Account', ${offset})`
          : `select contract_id from explore.active_at(${offset})`;
      expect(await names(sql(departedCount - 1)), functionName).toBe(
        'seeded, seeded and closed, alone, with the keeper',
      );
      expect(await names(sql(departedCount)), functionName).toBe('with the keeper');
    }
  });

  it('are counted as unhosted instead of active', async () => {
    expect(
      await world.row(`select active::int, unhosted::int from explore.templates where entity_name = 'Account'`),
    ).toEqual({ active: 2, unhosted: 3 });
    expect(await world.row(`select count::int from pqs.summary_active() where payload_type = 'template'`)).toEqual({
      count: 2,
    });
    expect(
      await world.row(
        `select count::int from pqs.summary_active(${departedCount - 1}) where payload_type = 'template'`,
      ),
    ).toEqual({ count: 4 });
    await using indexer = await world.run();
    await waitFor('they are counted', async () =>
      (await indexer.metric('indexer_contracts_unhosted')) === 3 ? true : undefined,
    );
    expect(await indexer.status()).toMatchObject({ contractsUnhosted: 3 });
  });

  it('are skipped by verify, which notes their number', async () => {
    expect(await verifyResults()).toEqual([
      { kind: 'invariants', outcome: 'equal', findings: [], note: undefined },
      { kind: 'acs', outcome: 'equal', findings: [], note: omittedText(3) },
    ]);
  });
});

describe('contracts of a party that is hosted again', () => {
  it('stay unhosted until a reseed or an archive changes their status', async () => {
    const { ledger } = world.sandbox;
    authorize(ledger, guestParty, true);
    await world.index();
    expect(await status('seeded')).toMatchObject({ status: 'unhosted', since: departedCount });
    close('with the keeper', guestParty);
    await world.index();
    expect(await status('with the keeper')).toMatchObject({ status: 'archived' });
    await world.command('reseed --yes');
    await world.index();
    expect(await names(activeByParty['function'] ?? '')).toBe('seeded, later with the keeper');
    expect(await status('alone')).toMatchObject({ status: 'unhosted', since: departedCount });
    close('seeded', guestParty);
    await world.index();
    expect(await status('seeded')).toMatchObject({ status: 'archived', since: null });
    expect(await verifyResults()).toEqual([
      { kind: 'invariants', outcome: 'equal', findings: [], note: undefined },
      { kind: 'acs', outcome: 'equal', findings: [], note: omittedText(2) },
    ]);
  });
});
