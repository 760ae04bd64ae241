/** The stream is switched to another participant of the network and back. No update is lost or duplicated. */
import { expect, it } from 'vitest';
import { verifyCommand } from '../../src/cli/verify/verify.ts';
import { brokenRules } from '../history/rules.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { contentsOf, difference } from './contents.ts';
import { SwitchWorld } from './switch-world.ts';

/** Expects that the stored data equals the data of a new index of the participant. */
async function expectSame(world: SwitchWorld, participant: number): Promise<void> {
  const { url } = world.database;
  await world.follow(participant, 'fresh');
  expect(difference(await contentsOf(url), await contentsOf(url, 'fresh'))).toEqual({ lost: [], added: [] });
  expect(await brokenRules(url, 'ledger')).toEqual([]);
  const ids = await world.rows('select ledger.id_text(update_id) as id from ledger.updates');
  expect(ids.map(({ id }) => String(id)).sort()).toEqual([...world.network.updateIds].sort());
}

interface Report {
  readonly outcome: string;
  readonly results: readonly { readonly kind: string; readonly outcome: string; readonly compared: number }[];
}

async function verifyAndReport(world: SwitchWorld, participant: number): Promise<Report> {
  const outputLines: string[] = [];
  const stdout = { isTTY: false, write: (text: string) => outputLines.push(text) > 0 } as never;
  await runCommand(verifyCommand, [], world.env(participant), { stdout });
  return JSON.parse(outputLines.join('')) as Report;
}

it('the stream stays complete over repeated participant switches', async () => {
  await using world = await SwitchWorld.open({ seed: 3, updates: 150, travels: true });
  const { network } = world;
  await world.follow(0);
  expect(await world.switchTo(0)).toContain('nothing to do');
  let checkpointBefore = await world.checkpoint();
  let omittedCount = 0;
  for (const participant of [1, 0, 1, 1, 0]) {
    network.happen(40);
    const outputLines = await world.switchTo(participant);
    const checkpointAfter = await world.checkpoint();
    expect(checkpointAfter).toBe(checkpointBefore);
    omittedCount += outputLines.includes('are already stored and skipped') ? 1 : 0;
    await world.follow(participant);
    checkpointBefore = await world.checkpoint();
    expect(checkpointBefore).toBeGreaterThanOrEqual(checkpointAfter);
  }
  // Otherwise, the switches would not have tested a different order of the two synchronizers.
  expect(omittedCount).toBeGreaterThan(0);
  const reassignedSql = 'select distinct source_pk, target_pk from ledger.reassignments';
  expect(await world.rows(reassignedSql)).toHaveLength(2);
  network.settle();
  await world.follow(0);
  await expectSame(world, 0);
});

it('verify compares the stream with the current participant after each switch', async () => {
  await using world = await SwitchWorld.open({ seed: 12, updates: 120 });
  await world.follow(0);
  const from = await world.checkpoint();
  for (const participant of [1, 0, 1]) {
    world.network.happen(40);
    await world.switchTo(participant);
    world.network.happen(10);
    await world.follow(participant);
    const report = await verifyAndReport(world, participant);
    expect(report).toMatchObject({ outcome: 'equal' });
    expect(report.results.map(({ kind, compared: comparedCount }) => [kind, comparedCount > 10])).toEqual([
      ['invariants', true],
      ['tail', true],
      ['acs', true],
    ]);
  }
  // Changed updates before and after the switch are detected, so the comparison includes them.
  const [row] = await world.rows('select max(from_offset) as at from ledger.participants');
  await world.rows(
    `update ledger.updates set workflow_id = 'x' where "offset" = (select max("offset") from ledger.updates)`,
  );
  await world.rows(`update ledger.contracts set payload = '{}' where "offset" = (
    select max("offset") from ledger.live where "offset" <= ${from})`);
  await world.rows(`update ledger.live set "offset" = "offset" + 1 where "offset" = (
    select max("offset") from ledger.live where "offset" > ${Number(row?.['at'])})`);
  const { results } = await verifyAndReport(world, 1);
  expect(results.filter(({ outcome }) => outcome === 'different').map(({ kind }) => kind)).toEqual([
    'invariants',
    'tail',
    'acs',
  ]);
});

it('explore.updates contains the source participant and participant offset of each update', async () => {
  await using world = await SwitchWorld.open({ seed: 5, updates: 60 });
  await world.follow(0);
  expect(
    await world.rows(
      'select participant_number, participant_offset - "offset" as shift, count(*)::int from explore.updates group by 1, 2',
    ),
  ).toEqual([{ participant_number: 1, shift: '0', count: 60 }]);
  world.network.happen(30);
  await world.switchTo(1);
  world.network.settle();
  await world.follow(1);
  const rows = await world.rows(
    'select update_id, participant_number, participant_offset::int as at from explore.updates order by "offset"',
  );
  const offsetsOf = (participant: number): Map<string, number> =>
    new Map(
      world.network.participants[participant]?.ledger.range(0, Infinity, Infinity).map((u) => [u.updateId, u.offset]),
    );
  expect(rows).toHaveLength(90);
  expect(rows.map(({ participant_number: number }) => number)).toEqual([
    ...Array<number>(60).fill(1),
    ...Array<number>(30).fill(2),
  ]);
  for (const { update_id: id, participant_number: number, at } of rows)
    expect(at).toBe(offsetsOf(Number(number) - 1).get(String(id)));
  expect(
    await world.rows(
      'select participant_number, participant_id, offset_shift::int <> 0 as moved from explore.participants',
    ),
  ).toEqual([
    { participant_number: 1, participant_id: world.network.participants[0]?.participantId, moved: false },
    { participant_number: 2, participant_id: world.network.participants[1]?.participantId, moved: true },
  ]);
});

it('a parked indexer resumes automatically after the switch, and offset waits complete', async () => {
  await using world = await SwitchWorld.open({ seed: 9, updates: 80 });
  await world.follow(0);
  const checkpointBefore = await world.checkpoint();
  await using indexer = await world.run(1);
  const isParked = async () => ((await indexer.status()).state === 'parked' ? true : undefined);
  await waitFor('the indexer parks', isParked, 30_000);
  expect((await indexer.status()).lastError).toMatchObject({ code: 'PARTICIPANT_CHANGED' });
  expect(indexer.log.join('')).toContain('ledger-indexer switch-participant --yes');
  expect(await world.switchTo(1)).toContain('done');
  const sqlWait = world.rows(`select explore.wait_for_offset(${checkpointBefore + 1}, '40 s') as reached`);
  sqlWait.catch(() => undefined);
  world.network.happen(10);
  world.network.settle();
  const waitForOffset = (): Promise<Response> =>
    fetch(`${indexer.httpUrl}/wait?offset=${checkpointBefore + 1}&timeout=10`);
  await waitFor('/wait answers', async () => ((await waitForOffset()).status === 200 ? true : undefined), 30_000);
  expect(Number((await sqlWait)[0]?.['reached'])).toBeGreaterThan(checkpointBefore);
});
