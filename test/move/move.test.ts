/** The stream goes on from another participant of the network, and back: nothing is lost, nothing is there twice. */
import { expect, it } from 'vitest';
import { brokenRules } from '../history/rules.ts';
import { waitFor } from '../support/wait-for.ts';
import { contentsOf, difference } from './contents.ts';
import { MoveWorld } from './move-world.ts';

/** What is stored against a fresh index of a participant. */
async function expectSame(world: MoveWorld, host: number): Promise<void> {
  const { url } = world.database;
  await world.follow(host, 'fresh');
  expect(difference(await contentsOf(url), await contentsOf(url, 'fresh'))).toEqual({ lost: [], added: [] });
  expect(await brokenRules(url, 'ledger')).toEqual([]);
  const ids = await world.rows('select ledger.id_text(update_id) as id from ledger.updates');
  expect(ids.map(({ id }) => String(id)).sort()).toEqual([...world.network.updateIds].sort());
}

it('goes on from another participant, and back again', async () => {
  await using world = await MoveWorld.open({ seed: 3, updates: 150 });
  const { network } = world;
  await world.follow(0);
  expect(await world.move(0)).toContain('nothing to do');
  let before = await world.checkpoint();
  let leftOut = 0;
  for (const host of [1, 0, 1, 1, 0]) {
    network.happen(40);
    const printed = await world.move(host);
    const after = await world.checkpoint();
    expect(after).toBe(before);
    leftOut += printed.includes('is stored already') ? 1 : 0;
    await world.follow(host);
    before = await world.checkpoint();
    expect(before).toBeGreaterThanOrEqual(after);
  }
  // Else nothing here tells the order of two synchronizers.
  expect(leftOut).toBeGreaterThan(0);
  network.settle();
  await world.follow(0);
  await expectSame(world, 0);
});

it('shows which participant told what, and where', async () => {
  await using world = await MoveWorld.open({ seed: 5, updates: 60 });
  await world.follow(0);
  expect(
    await world.rows('select host, host_offset - "offset" as shift, count(*)::int from explore.updates group by 1, 2'),
  ).toEqual([{ host: 1, shift: '0', count: 60 }]);
  world.network.happen(30);
  await world.move(1);
  world.network.settle();
  await world.follow(1);
  const rows = await world.rows(
    'select update_id, host, host_offset::int as at from explore.updates order by "offset"',
  );
  const told = (host: number): Map<string, number> =>
    new Map(world.network.participants[host]?.ledger.range(0, Infinity, Infinity).map((u) => [u.updateId, u.offset]));
  expect(rows).toHaveLength(90);
  expect(rows.map(({ host }) => host)).toEqual([...Array<number>(60).fill(1), ...Array<number>(30).fill(2)]);
  for (const { update_id: id, host, at } of rows) expect(at).toBe(told(Number(host) - 1).get(String(id)));
  expect(await world.rows('select host, participant_id, shift::int <> 0 as moved from explore.hosts')).toEqual([
    { host: 1, participant_id: world.network.participants[0]?.participantId, moved: false },
    { host: 2, participant_id: world.network.participants[1]?.participantId, moved: true },
  ]);
});

it('has an indexer that is parked go on by itself, and who waits for an offset is answered in order', async () => {
  await using world = await MoveWorld.open({ seed: 9, updates: 80 });
  await world.follow(0);
  const before = await world.checkpoint();
  await using indexer = await world.run(1);
  const parked = async () => ((await indexer.status()).state === 'parked' ? true : undefined);
  await waitFor('the indexer parks', parked, 30_000);
  expect((await indexer.status()).lastError).toMatchObject({ code: 'PARTICIPANT_CHANGED' });
  expect(indexer.log.join('')).toContain('ledger-indexer move --yes');
  expect(await world.move(1)).toContain('done');
  const waitedInSql = world.rows(`select explore.wait_for_offset(${before + 1}, '100 s') as reached`);
  waitedInSql.catch(() => undefined);
  world.network.happen(10);
  world.network.settle();
  const wait = (): Promise<Response> => fetch(`${indexer.httpUrl}/wait?offset=${before + 1}&timeout=10`);
  await waitFor('/wait answers', async () => ((await wait()).status === 200 ? true : undefined), 100_000);
  expect(Number((await waitedInSql)[0]?.['reached'])).toBeGreaterThan(before);
}, 120_000);
