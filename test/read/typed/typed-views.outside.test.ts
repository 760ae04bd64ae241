/** Typed views of compiled packages. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { darsSkipReason } from '../../daml/dars.ts';
import { alice, bob, exercised, type Json } from '../../support/frames.ts';
import { needs } from '../../support/skips/needs.ts';
import { darsFolder } from '../../support/wire/recorded.ts';
import { TypedWorld } from './typed-world.ts';

describe('typed views of compiled packages', needs(darsSkipReason), () => {
  let world: TypedWorld;
  beforeAll(async () => {
    world = await TypedWorld.start();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const upload = (name: string): Promise<void> => world.ledger.packages.uploadDar(readFileSync(join(darsFolder, name)));
  const holding = '718a0f77e505a8de22f188bd4c87fe74101274e9d4cb1bfac7d09aec7158d35b';
  const richTypesPackageId = '9fbb9c81a2f951e871e72723d952fa879c49a90514647b9b496c52251b63cf8f';

  async function expectHolding(viewValue: Json): Promise<void> {
    const holdingView = {
      interfaceId: `${holding}:Splice.Api.Token.HoldingV1:Holding`,
      viewStatus: { code: 0, message: '', details: [] },
      viewValue,
      implementationPackageId: richTypesPackageId,
    };
    await world.happens(
      world.contractOf(
        `${richTypesPackageId}:RichTypes:Marker`,
        'richtypes',
        { owner: alice },
        { interfaceViews: [holdingView] },
      ),
    );
  }

  it('have a Postgres type for every Daml type', async () => {
    await upload('richtypes.dar');
    const payload = {
      owner: alice,
      count: '9223372036854775807',
      amount: '12.5000000000',
      label: 'a "label"',
      active: true,
      asOf: '2026-02-28',
      observedAt: '2026-02-28T10:00:00.000001Z',
      note: null,
      tags: ['x', 'y'],
      attributes: { k: 'v' },
      marker: '00ff',
      profile: { nickname: 'al', level: '3' },
      outcome: { tag: 'Accepted', value: { by: alice } },
      fee: '0.10',
    };
    await world.happens(world.contractOf(`${richTypesPackageId}:RichTypes:RichRecord`, 'richtypes', payload));
    await world.appears('richtypes__rich_record');
    const [row] = await world.rows('select * from typed.richtypes__rich_record');
    expect(row).toMatchObject({
      owner: alice,
      count: '9223372036854775807',
      amount: '12.5000000000',
      active: true,
      observed_at: new Date('2026-02-28T10:00:00.000Z'),
      note: null,
      tags: ['x', 'y'],
      profile_nickname: 'al',
      profile_level: '3',
      outcome_tag: 'Accepted',
      fee: '0.10',
      payload,
    });
  });

  it('return exercises with argument and result', async () => {
    const id = {
      templateId: `${richTypesPackageId}:RichTypes:RichRecord`,
      packageName: 'richtypes',
      interfaceId: null,
    };
    const offset = await world.happens({
      ExercisedEvent: exercised({
        ...id,
        choice: 'Relabel',
        choiceArgument: { newLabel: 'b' },
        consuming: false,
        exerciseResult: '00ee',
        implementedInterfaces: [],
      }),
    });
    await world.appears('richtypes__rich_record__relabel');
    const [row] = await world.rows('select * from typed.richtypes__rich_record__relabel');
    expect(row).toMatchObject({
      exercised_at_offset: String(offset),
      acting_parties: [alice],
      consuming: false,
      argument: { newLabel: 'b' },
      result: '00ee',
      new_label: 'b',
      package_version: '0.0.1',
    });
  });

  it('return contracts with interface views', async () => {
    await upload('splice-api-token-holding-v1-1.0.0.dar');
    const view = {
      owner: alice,
      instrumentId: { admin: bob, id: 'coin' },
      amount: '5.0000000000',
      lock: { holders: [bob], expiresAt: null, expiresAfter: { microseconds: '90000000' }, context: 'why' },
      meta: { values: { a: 'b' } },
    };
    await expectHolding(view);
    await world.appears('token_holding_v1__holding');
    const [row] = await world.rows('select *, lock_expires_after::text as after from typed.token_holding_v1__holding');
    expect(row).toMatchObject({
      template: 'richtypes:RichTypes:Marker',
      owner: alice,
      instrument_id_admin: bob,
      instrument_id_id: 'coin',
      amount: '5.0000000000',
      lock_holders: [bob],
      lock_expires_at: null,
      after: '00:01:30',
      package_version: '1.0.0',
      view,
    });
  });

  it('return durations up to the 64-bit limits', async () => {
    const durations = ['9223372036854775807', '-9223372036854775808', '1'];
    for (const microseconds of durations) {
      const lock = { holders: [], expiresAfter: { microseconds } };
      await expectHolding({ owner: 'long', lock });
    }
    expect(
      await world.rows(
        `select extract(epoch from lock_expires_after)::text as seconds
           from typed.token_holding_v1__holding where owner = 'long' order by created_at_offset`,
      ),
    ).toEqual([{ seconds: '9223372036854.775807' }, { seconds: '-9223372036854.775808' }, { seconds: '0.000001' }]);
  });

  it('return exercises of interface choices with their template', async () => {
    await upload('splice-api-token-transfer-instruction-v1-1.0.0.dar');
    const instruction = '55ba4deb0ad4662c4168b39859738a0e91388d252286480c7331b3f71a517281';
    const event = exercised({
      templateId: `${richTypesPackageId}:RichTypes:Marker`,
      packageName: 'richtypes',
      interfaceId: `${instruction}:Splice.Api.Token.TransferInstructionV1:TransferInstruction`,
      choice: 'TransferInstruction_Accept',
      choiceArgument: { extraArgs: { context: { values: {} }, meta: { values: { k: 'v' } } } },
      consuming: false,
    });
    await world.happens({ ExercisedEvent: event });
    const name = 'transfer_instruction_v1__transfer_instruction__accept';
    await world.appears(name);
    const [row] = await world.rows(`select * from typed.${name}`);
    expect(row).toMatchObject({
      template: 'richtypes:RichTypes:Marker',
      package_version: '1.0.0',
      consuming: false,
      argument: event['choiceArgument'],
      extra_args_meta_values: { k: 'v' },
    });
  });
});
