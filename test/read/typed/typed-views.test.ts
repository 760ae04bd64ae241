/** A running indexer adds columns to typed views when DARs are uploaded to the participant. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alice, bob, exercised } from '../../support/frames.ts';
import { recordDar, type FieldType } from './typed-dar.ts';
import { TypedWorld } from './typed-world.ts';

let world: TypedWorld;
beforeAll(async () => {
  world = await TypedWorld.start();
});
afterAll(() => world[Symbol.asyncDispose]());

describe('typed view during a package upgrade', () => {
  const version = (number: string, fields: Record<string, FieldType>, profile: Record<string, FieldType>) =>
    recordDar({
      name: 'harbor',
      version: number,
      templates: ['Berth'],
      records: { Berth: { owner: 'text', profile: { optional: { record: 'Profile' } }, ...fields }, Profile: profile },
    });
  const firstVersion = version('1.0.0', {}, { level: 'int64' });
  const secondVersion = version(
    '1.1.0',
    { note: { optional: 'text' } },
    { level: 'int64', nick: { optional: 'text' } },
  );

  it('has the fields of the first version', async () => {
    await world.ledger.packages.uploadDar(firstVersion.dar);
    await world.happens(
      world.contractOf(`${firstVersion.packageId}:Main:Berth`, 'harbor', { owner: alice, profile: { level: '9' } }),
    );
    await world.appears('harbor__berth');
    await world.rows('create view public.dependent as select owner, profile_level from typed.harbor__berth');
    expect((await world.columnsOf('harbor__berth')).slice(-3)).toEqual([
      'payload jsonb',
      'owner text',
      'profile_level bigint',
    ]);
    expect(await world.rows('select owner, profile_level, package_version from typed.harbor__berth')).toEqual([
      { owner: alice, profile_level: '9', package_version: '1.0.0' },
    ]);
  });

  it('appends the fields of the next version with null in earlier rows, and keeps dependent views', async () => {
    await world.ledger.packages.uploadDar(secondVersion.dar);
    const payload = { owner: bob, profile: { level: '10', nick: 'x' }, note: 'new' };
    await world.happens(world.contractOf(`${secondVersion.packageId}:Main:Berth`, 'harbor', payload));
    await world.happens(
      world.contractOf(`${secondVersion.packageId}:Main:Berth`, 'harbor', { owner: 'nobody', profile: null }),
    );
    await world.appears('harbor__berth', 'note');
    expect((await world.columnsOf('harbor__berth')).slice(-4)).toEqual([
      'owner text',
      'profile_level bigint',
      'profile_nick text',
      'note text',
    ]);
    expect(
      await world.rows(
        `select owner, profile_level, profile_nick, note, package_version from typed.harbor__berth
          order by created_at_offset`,
      ),
    ).toEqual([
      { owner: alice, profile_level: '9', profile_nick: null, note: null, package_version: '1.0.0' },
      { owner: bob, profile_level: '10', profile_nick: 'x', note: 'new', package_version: '1.1.0' },
      { owner: 'nobody', profile_level: null, profile_nick: null, note: null, package_version: '1.1.0' },
    ]);
    expect(await world.rows('select count(*)::int as count from public.dependent')).toEqual([{ count: 3 }]);
    expect(world.indexer.logged('connected')).toBe(2);
    expect(world.indexer.logged('backing off')).toBe(0);
  });

  it('returns an archived contract only in the history view', async () => {
    const templateId = `${firstVersion.packageId}:Main:Berth`;
    const contractId = '00aa01';
    await world.happens(world.contractOf(templateId, 'harbor', { owner: 'gone', profile: null }, { contractId }));
    const archive = { contractId, templateId, packageName: 'harbor', choice: 'Archive', interfaceId: null };
    const offset = await world.happens({ ExercisedEvent: exercised({ ...archive, implementedInterfaces: [] }) });
    await world.appears('harbor__berth__history', 'note');
    expect(await world.rows(`select from typed.harbor__berth where owner = 'gone'`)).toHaveLength(0);
    expect(
      await world.rows(
        `select archived_at_offset, archived_at::text, is_active from typed.harbor__berth__history where owner = 'gone'`,
      ),
    ).toEqual([
      { archived_at_offset: String(offset), archived_at: expect.stringMatching(/^2026-08-14/), is_active: false },
    ]);
  });
});
