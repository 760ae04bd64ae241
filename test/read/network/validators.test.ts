/**
 * Validators and their liveness reports. A license is re-created by a report, upgraded or ended, and some reports do
 * not change it.
 */
import { expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase } from '../read-database.ts';
import { exercisedEvent, dso, foreign, made, newerPackageId, olderPackageId } from './network-frames.ts';

const entity = 'ValidatorLicense:ValidatorLicense';
const [firstValidator, secondValidator, thirdValidator] = ['one::1220', 'two::1220', 'three::1220'] as const;

const license = (validator: string, overrides: frames.JsonRecord = {}): frames.JsonRecord => ({
  dso,
  validator,
  sponsor: validator,
  ...overrides,
});
const beat = (
  id: string,
  newContractId: string,
  actor: string,
  choice: string,
  overrides: object = {},
): frames.JsonRecord =>
  exercisedEvent(id, entity, `ValidatorLicense_${choice}`, {
    by: [actor],
    consuming: true,
    last: 1,
    result: { licenseCid: newContractId },
    ...overrides,
  });

it('validators returns each validator once, and validator_heartbeats every liveness report', async () => {
  await using database = await createReadDatabase();
  let offset = 0;
  const update = async (...events: frames.Json[]): Promise<void> => {
    offset += 1;
    await database.write(frames.transaction(offset, events));
  };
  // This package version has no metadata and no time of the last activity.
  await update(
    made('001', entity, license(firstValidator), 0, { packageId: olderPackageId, observers: [firstValidator] }),
    made('002', entity, license(secondValidator), 1, { packageId: olderPackageId, observers: [secondValidator] }),
    made('003', entity, license(thirdValidator), 2, { packageId: olderPackageId, observers: [thirdValidator] }),
    made('009', entity, license('none::1220'), 3, { packageId: foreign, packageName: 'not-splice-amulet' }),
  );
  await update(
    exercisedEvent('001', entity, 'ValidatorLicense_ReportActive', {
      packageId: olderPackageId,
      by: [firstValidator],
      result: { licenseCid: '001' },
    }),
  );
  const activeValidator = { lastActiveAt: '2026-08-14T10:00:00Z' };
  const faucetState = { firstReceivedFor: { number: '7' }, lastReceivedFor: { number: '12' }, numCouponsMissed: '3' };
  await update(
    beat('001', '0011', firstValidator, 'RecordValidatorLivenessActivity', {
      result: { licenseCid: '0011', couponCid: '00coupon' },
    }),
    made('0011', entity, license(firstValidator, { ...activeValidator, faucetState }), 1, {
      packageId: newerPackageId,
      observers: [firstValidator],
    }),
  );
  const metadata = { version: '0.5.1', contactPoint: 'ops@one', lastUpdatedAt: '2026-08-14T10:30:00Z' };
  await update(
    beat('0011', '0012', firstValidator, 'UpdateMetadata'),
    made('0012', entity, license(firstValidator, { ...activeValidator, faucetState, metadata }), 1, {
      observers: [firstValidator],
    }),
  );
  await update(
    beat('0012', '0013', firstValidator, 'ReportActive'),
    made('0013', entity, license(firstValidator, { lastActiveAt: '2026-08-14T12:00:00Z', faucetState, metadata }), 1, {
      observers: [firstValidator],
    }),
  );
  await update(
    beat('002', '0021', secondValidator, 'ReportActive'),
    made('0021', entity, license(secondValidator), 1, { observers: [secondValidator] }),
  );
  await update(
    exercisedEvent('0021', entity, 'ValidatorLicense_Withdraw', { consuming: true, argument: { reason: 'r' } }),
  );
  await update(
    exercisedEvent('003', entity, 'ValidatorLicense_Cancel', {
      consuming: true,
      by: [thirdValidator],
      argument: { reason: 'r' },
    }),
  );
  const rows = await database.query(
    `select validator, status, contract_id, licenses::int, last_active_at, first_round::int, last_round::int, missed_rounds::int,
            version, contact_point, metadata_updated_at, created_at_offset::int, archived_at_offset::int
       from explore.validators order by validator`,
  );
  const emptyActivity = {
    last_active_at: null,
    first_round: null,
    last_round: null,
    missed_rounds: null,
    version: null,
    contact_point: null,
    metadata_updated_at: null,
  };
  expect(rows).toEqual([
    {
      validator: firstValidator,
      status: 'active',
      contract_id: '0013',
      licenses: 4,
      last_active_at: new Date('2026-08-14T12:00:00Z'),
      first_round: 7,
      last_round: 12,
      missed_rounds: 3,
      version: '0.5.1',
      contact_point: 'ops@one',
      metadata_updated_at: new Date('2026-08-14T10:30:00Z'),
      created_at_offset: 5,
      archived_at_offset: null,
    },
    {
      validator: thirdValidator,
      status: 'cancelled',
      contract_id: '003',
      licenses: 1,
      ...emptyActivity,
      created_at_offset: 1,
      archived_at_offset: 8,
    },
    {
      validator: secondValidator,
      status: 'withdrawn',
      contract_id: '0021',
      licenses: 2,
      ...emptyActivity,
      created_at_offset: 6,
      archived_at_offset: 7,
    },
  ]);
  const beats = await database.query(
    `select "offset"::int, validator, choice, contract_id, new_contract_id, consuming, coupon_id, dso
       from explore.validator_heartbeats where validator <> '${secondValidator}' order by 1`,
  );
  const row = (
    at: number,
    choice: string,
    id: string,
    newContractId: string | null,
    coupon: string | null = null,
  ): object => ({
    offset: at,
    validator: firstValidator,
    choice: `ValidatorLicense_${choice}`,
    contract_id: id,
    new_contract_id: newContractId,
    consuming: newContractId !== null,
    coupon_id: coupon,
    dso,
  });
  expect(beats).toEqual([
    row(2, 'ReportActive', '001', null),
    row(3, 'RecordValidatorLivenessActivity', '001', '0011', '00coupon'),
    row(4, 'UpdateMetadata', '0011', '0012'),
    row(5, 'ReportActive', '0012', '0013'),
  ]);
});
