/**
 * Runs the statements for Citus on plain Postgres. Batches with one update store equal rows, and a failed batch leaves
 * no row.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '../../src/store/schema/migrations.ts';
import { randomHistory } from '../read/random-history.ts';
import { digestOf } from '../support/digest.ts';
import { leftByFailure } from './left-by-failure.ts';
import { plainPlace, type CitusPlace } from './places.ts';

const history = randomHistory(21, 240);

let plain: CitusPlace;
beforeAll(async () => {
  plain = await plainPlace('citus_history');
  await plain.write(history, 7);
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
});

it('migrate with a distribution rejects existing tables on plain Postgres and changes nothing', async () => {
  await expect(migrate(plain.database, { distribution: {} })).rejects.toMatchObject({
    code: 'CITUS_REFUSED',
    exitCode: 78,
  });
  expect(await migrate(plain.database)).toEqual([]);
});

it('batches of one update store the same rows as batches of seven updates', async () => {
  await using other = await plainPlace('citus_history');
  await other.write(history, 1);
  expect(await digestOf(other.url, other.schema)).toBe(await digestOf(plain.url, plain.schema));
});

it('a batch stores no row if one of its statements fails', async () => {
  expect(await leftByFailure(plain)).toEqual([{ left: 0 }]);
});
