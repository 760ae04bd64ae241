/** A switch that would lose or duplicate an update is rejected with a reason, and changes nothing. */
import { expect, it } from 'vitest';
import { digestOf } from '../support/digest.ts';
import { sharedSecret, token } from '../support/tokens.ts';
import { waitFor } from '../support/wait-for.ts';
import { SwitchWorld } from './switch-world.ts';
import { Network } from './network.ts';

/** Returns the error code of the rejected switch, and checks that stored data is unchanged. */
async function expectRefused(
  world: SwitchWorld,
  participant: number,
  extraEnv: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const digestBefore = await digestOf(world.database.url, 'ledger');
  const error = await world.refusal(participant, extraEnv);
  expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
  expect(error?.remedy).toBeTruthy();
  return error?.code;
}

it('switch-participant rejects a participant with another history', async () => {
  await using world = await SwitchWorld.open({ seed: 3, updates: 50 });
  await world.follow(0);
  const otherNetwork = await Network.open({ seed: 4, updates: 50 });
  expect(await expectRefused(world, 0, { LEDGER_URL: otherNetwork.participants[1]?.url ?? '' })).toBe(
    'SWITCH_NO_OVERLAP',
  );
  await otherNetwork.close();
});

it('switch-participant is rejected before the seed is complete', async () => {
  await using world = await SwitchWorld.open({ seed: 3, updates: 5 });
  await world.follow(0);
  // The state of a stream during a seed.
  await world.rows('update ledger.stream set seeded_at = null, checkpoint = null');
  expect(await expectRefused(world, 1)).toBe('SWITCH_REFUSED');
});

it('switch-participant rejects a participant pruned beyond the stored history', async () => {
  await using world = await SwitchWorld.open({ seed: 6, updates: 50 });
  await world.follow(0);
  world.network.happen(40);
  world.network.settle();
  const { ledger } = world.network.participants[1] ?? {};
  ledger?.pruneTo(ledger.ledgerEnd() - 5);
  expect(await expectRefused(world, 1)).toBe('SWITCH_PRUNED');
});

it('switch-participant accepts a participant pruned within the stored history', async () => {
  await using world = await SwitchWorld.open({ seed: 6, updates: 50 });
  await world.follow(0);
  const { ledger } = world.network.participants[1] ?? {};
  ledger?.pruneTo(ledger.ledgerEnd() - 15);
  expect(await world.switchTo(1, [])).toContain('nothing was changed');
});

it('switch-participant rejects a participant with an earlier update that is not stored', async () => {
  await using world = await SwitchWorld.open({ seed: 7, updates: 50 });
  const otherNetwork = await Network.open({ seed: 90, updates: 1 });
  const [unknownEntry] = otherNetwork.participants[0]?.ledger.range(0, Infinity, 1) ?? [];
  if (unknownEntry?.update === undefined) throw new Error('nothing happened');
  world.network.participants[1]?.ledger.commit(unknownEntry.update);
  await otherNetwork.close();
  world.network.happen(50);
  world.network.settle();
  await world.follow(0);
  expect(await expectRefused(world, 1)).toBe('SWITCH_UPDATE_UNKNOWN');
});

it('switch-participant rejects a participant behind the stored history', async () => {
  await using world = await SwitchWorld.open({ seed: 8, updates: 30 });
  const { ledger } = world.network.participants[1] ?? {};
  world.network.happen(30);
  world.network.settle();
  await world.follow(0);
  ledger?.restore(ledger.range(0, Infinity, Infinity).at(-10)?.offset ?? 0);
  expect(await expectRefused(world, 1)).toBe('SWITCH_BEHIND');
});

it('switch-participant is rejected while a background job is unfinished', async () => {
  await using world = await SwitchWorld.open({ seed: 3, updates: 30 });
  await world.follow(0);
  await world.rows(`insert into ledger.jobs (name, state, request) values ('history', 'paused', '{}')`);
  expect(await expectRefused(world, 1)).toBe('SWITCH_REFUSED');
  await world.rows('delete from ledger.jobs');
  expect(await world.switchTo(1)).toContain('done');
});

it('switch-participant compares update ids if the user may not read participant ids', async () => {
  const secret = 'a shared secret for tests of moves';
  const users = [
    { id: 'reader', rights: [{ kind: 'CanReadAsAnyParty' as const }] },
    { id: 'admin', rights: [{ kind: 'CanReadAsAnyParty' as const }, { kind: 'ParticipantAdmin' as const }] },
    { id: 'nobody', rights: [] },
  ];
  const tokenOf = (user: string): Promise<string> => token(sharedSecret(secret), { sub: user });
  const reader = { LEDGER_TOKEN: await tokenOf('reader') };
  await using world = await SwitchWorld.open({ seed: 3, updates: 60, auth: { secret, users } }, reader);
  await world.follow(0);
  expect(await expectRefused(world, 1, { LEDGER_TOKEN: await tokenOf('nobody') })).toBe('SWITCH_NOT_HOSTED');
  {
    await using indexer = await world.run(1);
    const isParked = async () => ((await indexer.status()).state === 'parked' ? true : undefined);
    await waitFor('the indexer parks', isParked, 30_000);
    expect((await indexer.status()).lastError).toMatchObject({ code: 'HISTORY_CHANGED' });
    expect(indexer.log.join('')).toContain('ledger-indexer switch-participant --yes');
  }
  expect(await world.switchTo(0)).toContain('nothing to do');
  expect(await world.switchTo(1)).toContain('done');
  await world.follow(1);
  // An administrator sets the participant id before the next switch.
  await world.rows(`update ledger.stream set participant_id = 'validator1::122011111111'`);
  expect(await expectRefused(world, 0)).toBe('SWITCH_REFUSED');
  expect(await world.switchTo(0, ['--yes', '--participant', 'validator0::122000000000'])).toContain('done');
});
