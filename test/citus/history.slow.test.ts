/**
 * Runs the statements for Citus on plain Postgres. Batches with one update store equal rows, and a failed batch leaves
 * no row.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '../../src/store/schema/migrations.ts';
import { randomHistory } from '../read/random-history.ts';
import { digestOf } from '../support/digest.ts';
import { stateAfterFailure } from './left-by-failure.ts';
import { plainPlace, type CitusPlace } from './places.ts';

const history = randomHistory(21, 240);

let localPlace: CitusPlace;
beforeAll(async () => {
  localPlace = await plainPlace('citus_history');
  await localPlace.write(history, 7);
});
afterAll(async () => {
  await localPlace[Symbol.asyncDispose]();
});

it('migrate with a distribution rejects existing tables on plain Postgres and changes nothing', async () => {
  await expect(migrate(localPlace.database, { distribution: {} })).rejects.toMatchObject({
    code: 'CITUS_REFUSED',
    exitCode: 78,
  });
  expect(await migrate(localPlace.database)).toEqual([]);
});

it('batches of one update store the same rows as batches of seven updates', async () => {
  await using otherPlace = await plainPlace('citus_history');
  await otherPlace.write(history, 1);
  expect(await digestOf(otherPlace.url, otherPlace.schema)).toBe(await digestOf(localPlace.url, localPlace.schema));
});

it('a batch stores no row if one of its statements fails', async () => {
  expect(await stateAfterFailure(localPlace)).toEqual([{ left: 0 }]);
});
