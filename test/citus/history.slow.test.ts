/** The statements for Citus on plain Postgres: equal rows in batches of one, and no row left of a failed batch. */
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

it('is rejected without Citus or with existing tables, and changes nothing', async () => {
  await expect(migrate(plain.database, { distribution: {} })).rejects.toMatchObject({
    code: 'CITUS_REFUSED',
    exitCode: 78,
  });
  expect(await migrate(plain.database)).toEqual([]);
});

it('stores the same rows in batches of one, each committed by its own statement', async () => {
  await using other = await plainPlace('citus_history');
  await other.write(history, 1);
  expect(await digestOf(other.url, other.schema)).toBe(await digestOf(plain.url, plain.schema));
});

it('leaves no row of a batch in which one statement fails', async () => {
  expect(await leftByFailure(plain)).toEqual([{ left: 0 }]);
});
