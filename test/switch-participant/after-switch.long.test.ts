/**
 * Operations on a stream after a switch to another participant. The tests cover gaps, offboarded parties, quarantined
 * updates, resets, filter extensions and completions.
 */
import { expect, it } from 'vitest';
import { filterCommand } from '../../src/cli/maintain/filter.ts';
import { quarantineCommand } from '../../src/cli/maintain/quarantine.ts';
import { reseedCommand } from '../../src/cli/maintain/reseed.ts';
import { resetCommand } from '../../src/cli/maintain/reset.ts';
import type { Update } from '../../packages/ledger-sandbox/src/wire/wire.ts';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { hidePackage } from '../history/interface-world.ts';
import { brokenRules } from '../history/rules.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { runVerify } from '../verify/verify-run.ts';
import { contentsOf, difference } from './contents.ts';
import { SwitchWorld } from './switch-world.ts';
import { Network, reassigningParty } from './network.ts';

async function switchAndCheck(world: SwitchWorld): Promise<void> {
  await world.follow(0);
  world.network.happen(40);
  await world.switchTo(1);
  world.network.happen(20);
  await world.follow(1);
}

async function expectVerified(world: SwitchWorld, participant: number): Promise<void> {
  const { results } = await runVerify(['--invariants', '--tail', '1000', '--acs'], world.env(participant));
  expect(results.map(({ kind, outcome, findings }) => ({ kind, outcome, findings }))).toEqual(
    ['invariants', 'tail', 'acs'].map((kind) => ({ kind, outcome: 'equal', findings: [] })),
  );
}

it('reseed after a switch closes a gap with the active contracts of the new participant', async () => {
  await using world = await SwitchWorld.open({ seed: 21, updates: 150 });
  await switchAndCheck(world);
  const checkpointBefore = await world.checkpoint();
  world.network.happen(60);
  world.network.settle();
  const { ledger } = world.network.participants[1] ?? {};
  ledger?.pruneTo(ledger.ledgerEnd() - 20);
  const outputLines: string[] = [];
  await runCommand(reseedCommand, ['--yes'], world.env(1), { print: (line) => outputLines.push(line) });
  expect(outputLines.join('\n')).toMatch(/done: [1-9]\d* contracts are active as before/);
  expect(await world.checkpoint()).toBeGreaterThan(checkpointBefore);
  await world.follow(1);
  await world.follow(0, 'fresh');
  expect(await idsOf(world, 'ledger')).toEqual(await idsOf(world, 'fresh'));
  expect(await brokenRules(world.database.url, 'ledger')).toEqual([]);
  await expectVerified(world, 1);
});

async function idsOf(world: SwitchWorld, schema: string): Promise<readonly string[]> {
  const rows = await world.rows(
    `select l.contract_id || ' ' || s.synchronizer_id as id from ${schema}.lifetimes l join ${schema}.synchronizers s using (synchronizer_pk)
      where l.ended_by is null and l.unhosted_since is null order by 1`,
  );
  return rows.map(({ id }) => String(id));
}

it('switch-participant resets the unhosted status of contracts that the new participant hosts', async () => {
  await using world = await SwitchWorld.open({ seed: 22, updates: 120 });
  const { network } = world;
  await world.follow(0);
  const [row] = await world.rows(
    `select p.signatories[1] as party, s.synchronizer_id,
            (select to_char(max(record_time) + interval '2 s', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from ledger.updates) as time from ledger.live l
       join ledger.contract_parties p using (parties_pk) join ledger.synchronizers s using (synchronizer_pk)
      group by 1, 2 order by count(*) desc limit 1`,
  );
  const departedParty = {
    partyId: String(row?.['party']),
    participantId: network.participants[0]?.participantId ?? '',
  };
  const recordTime = String(row?.['time']);
  network.enqueue(departure(departedParty, { synchronizerId: String(row?.['synchronizer_id']), recordTime }));
  network.settle();
  await world.follow(0);
  const unhosted = async (): Promise<unknown> =>
    (await world.rows('select count(*)::int as count from ledger.live where unhosted_since is not null'))[0]?.['count'];
  expect(await unhosted()).toBeGreaterThan(0);
  await world.switchTo(1);
  expect(await unhosted()).toBe(0);
  network.happen(30);
  network.settle();
  await world.follow(1);
  await world.follow(1, 'fresh');
  const { url } = world.database;
  expect(difference(await contentsOf(url), await contentsOf(url, 'fresh'))).toEqual({ lost: [], added: [] });
  await expectVerified(world, 1);
});

function departure(
  departedParty: object,
  times: { readonly synchronizerId: string; readonly recordTime: string },
): Update {
  const event = { ParticipantAuthorizationRevoked: { value: departedParty } };
  const traceContext = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, tracestate: null };
  const value = { updateId: `1220${'ef'.repeat(32)}`, offset: 0, ...times, events: [{ event }], traceContext };
  return { TopologyTransaction: { value } } as unknown as Update;
}

it('quarantine retry stores updates of both participants at their offsets', async () => {
  await using world = await SwitchWorld.open({ seed: 23, updates: 60 }, { INDEXER_QUARANTINE: 'true' });
  const otherNetwork = await Network.open({ seed: 91, updates: 2 });
  const unknownUpdates = otherNetwork.participants[0]?.ledger.range(0, Infinity, 2).map(({ update }) => update) ?? [];
  await otherNetwork.close();
  const synchronizedUpdate = (update: Update | undefined, recordTime: string): Update => {
    const text = JSON.stringify(update).replace(/"witnessParties":\["/, '"witnessParties":["Eve\\u0000');
    return JSON.parse(text.replace(/"recordTime":"[^"]*"/, `"recordTime":"${recordTime}"`)) as Update;
  };
  const publish = async (update: Update | undefined, participant: number): Promise<void> => {
    const [row] = await world.rows(
      `select to_char(max(record_time) + interval '2 s', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time from ledger.updates`,
    );
    world.network.enqueue(synchronizedUpdate(update, String(row?.['time'])));
    world.network.settle();
    await using indexer = await world.run(participant);
    await waitFor('an update is quarantined', async () =>
      indexer.logged('update quarantined') > 0 ? true : undefined,
    );
  };
  await world.follow(0);
  await publish(unknownUpdates[0], 0);
  world.network.happen(30);
  await world.switchTo(1);
  await world.follow(1);
  await publish(unknownUpdates[1], 1);
  world.network.happen(20);
  world.network.settle();
  await world.follow(1);
  const [first, second] = await world.rows('select "offset" from ledger.quarantine order by 1');
  expect(second).toBeDefined();
  await world.rows(
    `update ledger.quarantine set frame = convert_to(replace(convert_from(frame, 'UTF8'), 'Eve\\u0000', ''), 'UTF8')`,
  );
  const outputLines: string[] = [];
  await runCommand(quarantineCommand, ['retry'], world.env(1), { print: (line) => outputLines.push(line) });
  expect(outputLines).toEqual([first, second].map((row) => `${String(row?.['offset'])} stored`));
  expect(await brokenRules(world.database.url, 'ledger')).toEqual([]);
  const ids = await world.rows('select ledger.id_text(update_id) as id from ledger.updates');
  expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length);
  expect(ids).toHaveLength(world.network.updateIds.length + 2);
});

it('reset to an offset before the switch restores the previous participant', async () => {
  await using world = await SwitchWorld.open({ seed: 24, updates: 80 });
  await switchAndCheck(world);
  const [row] = await world.rows('select max(from_offset) as at from ledger.participants');
  await runCommand(resetCommand, ['--to', String(Number(row?.['at']) - 10), '--yes'], world.env(0));
  expect(await world.rows('select participant_number from explore.participants')).toEqual([{ participant_number: 1 }]);
  world.network.settle();
  await world.follow(0);
  await world.switchTo(1);
  world.network.happen(10);
  world.network.settle();
  await world.follow(1);
  await world.follow(1, 'fresh');
  const { url } = world.database;
  expect(difference(await contentsOf(url), await contentsOf(url, 'fresh'))).toEqual({ lost: [], added: [] });
});

it('filter extend after a switch adds the active contracts of the new participant', async () => {
  await using world = await SwitchWorld.open(
    { seed: 27, updates: 120, travels: true },
    { LEDGER_PARTIES: reassigningParty },
  );
  const { network } = world;
  const waitForEnd = async (indexer: IndexerRun, participant: number): Promise<void> => {
    network.settle();
    const [row] = await world.rows(
      `select explore.from_participant_offset(${network.participants[participant]?.ledger.ledgerEnd() ?? 0}) as at`,
    );
    await indexer.reaches(Number(row?.['at']));
  };
  {
    await using previousIndexer = await world.run(0);
    await previousIndexer.reaches(network.participants[0]?.ledger.ledgerEnd() ?? 0);
  }
  network.happen(40);
  await world.switchTo(1);
  const unfilteredEnv = { ...world.env(1), LEDGER_PARTIES: '' };
  const countRows = async (table: string) =>
    Number((await world.rows(`select count(*) from ledger.${table}`))[0]?.['count']);
  await using indexer = await world.run(1);
  await waitForEnd(indexer, 1);
  const countBefore = await countRows('contracts');
  await runCommand(filterCommand, ['extend', '--yes'], unfilteredEnv);
  network.happen(20);
  await waitFor('the filter is extended', async () => {
    const [job] = await world.rows(`select state, problem from ledger.jobs where name = 'filter-extend'`);
    if (job?.['state'] === 'failed') throw new Error(String(job['problem']));
    return job?.['state'] === 'done' ? true : undefined;
  });
  network.happen(20);
  await waitForEnd(indexer, 1);
  expect(countBefore).toBeGreaterThan(3);
  expect(await countRows('live')).toBeGreaterThan(countBefore + 20);
  const { results } = await runVerify(['--invariants', '--tail', '1000', '--acs'], unfilteredEnv);
  expect(results.map(({ kind, outcome, findings }) => ({ kind, outcome, findings }))).toEqual(
    ['invariants', 'tail', 'acs'].map((kind) => ({ kind, outcome: 'equal', findings: [] })),
  );
});

it('completions continue after a switch, and completion_coverage reports the gap', async () => {
  await using world = await SwitchWorld.open({ seed: 25, updates: 60 });
  const submit = async (participant: number, commandId: string): Promise<void> => {
    const { url = '' } = world.network.participants[participant] ?? {};
    const [issuer, templateId] = ['Alice::1220aa', '#model-tests:Iou:Iou'];
    const createArguments = { issuer, owner: issuer, currency: 'USD', amount: '1', observers: [] };
    const command = { CreateCommand: { templateId, createArguments } };
    const body = JSON.stringify({ commands: [command], commandId, userId: 'app', actAs: [issuer] });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v2/commands/submit-and-wait`, { method: 'POST', headers, body });
    expect(response.status, await response.text()).toBe(200);
  };
  await world.follow(0);
  await world.switchTo(1);
  world.network.happen(20);
  await world.follow(1);
  await submit(1, 'after');
  await using indexer = await world.run(1);
  const newestOffset = world.network.participants[1]?.ledger.ledgerEnd() ?? 0;
  const [row] = await world.rows(`select explore.from_participant_offset(${newestOffset}) as at`);
  await indexer.completionsReach(Number(row?.['at']));
  expect(
    await world.rows(
      `select c.command_id, u.participant_number, u.participant_offset::int as at from explore.completions c
         join explore.updates u using ("offset") where c.update_id = u.update_id`,
    ),
  ).toEqual([{ command_id: 'after', participant_number: 2, at: newestOffset }]);
  const coverage = await world.rows('select status, reason from explore.completion_coverage order by from_offset');
  expect(coverage.map(({ status }) => status).at(-1)).toBe('complete');
  expect(JSON.stringify(coverage)).toContain('submitted through validator1');
});

it('interface backfill after a switch includes contracts created before the switch', async () => {
  await using world = await SwitchWorld.open(
    { seed: 26, updates: 120 },
    { LEDGER_INTERFACES: '#splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding' },
  );
  const revealPackages = world.network.participants.map(({ ledger }) => hidePackage(ledger, 'HoldingV1:Holding'));
  await switchAndCheck(world);
  world.network.settle();
  for (const reveal of revealPackages) reveal();
  await using indexer = await world.run(1);
  const state = async (): Promise<unknown> =>
    (await world.rows('select state, complete_from from ledger.filter_interfaces'))[0]?.['state'];
  await waitFor('the interface is followed', async () => ((await state()) === 'followed' ? true : undefined), 60_000);
  await indexer.reaches(await world.checkpoint());
  await world.follow(1, 'fresh');
  const views = async (schema: string): Promise<readonly string[]> => {
    const activeIds = new Set(await idsOf(world, schema));
    const rows = await world.rows(
      `select l.contract_id || ' ' || s.synchronizer_id as id, v.view::text as view from ${schema}.interface_views v
         join ${schema}.lifetimes l on l.activated_offset = v."offset" and l.node_id = v.node_id
         join ${schema}.synchronizers s using (synchronizer_pk) order by 1, 2`,
    );
    return rows.filter(({ id }) => activeIds.has(String(id))).map(({ id, view }) => `${String(id)} ${String(view)}`);
  };
  const [storedContents, expected] = [await views('ledger'), await views('fresh')];
  expect(storedContents.length).toBeGreaterThan(10);
  expect(storedContents).toEqual(expected);
  expect(await brokenRules(world.database.url, 'ledger')).toEqual([]);
}, 120_000);
