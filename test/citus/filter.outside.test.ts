/** Another filter on Citus: replaces one under which nothing is stored, and is refused with the differences otherwise. */
import { expect, it } from 'vitest';
import { openSession } from '../../src/store/write/session.ts';
import { randomHistory } from '../read/random-history.ts';
import { identity } from '../support/schemas.ts';
import { needs } from '../support/skips/needs.ts';
import { citusPlace, citusUrl, citusSkipReason, takeTurn } from './places.ts';

takeTurn();

const otherIdentity = {
  ...identity,
  filter: identity.filter.replace('"templates":[]', '"templates":["#iou:Main:A"]'),
  filterHash: 'other',
};

it('openSession() on Citus replaces the filter if nothing is stored', needs(citusSkipReason), async () => {
  await using citusSchema = await citusPlace(citusUrl ?? '', 'citus_filter', 4, false);
  await openSession(citusSchema.database, identity);
  await openSession(citusSchema.database, otherIdentity);
  expect(await citusSchema.query('select filter_hash from stream')).toEqual([{ filter_hash: 'other' }]);
});

it(
  'openSession() on Citus refuses another filter for stored history and reports the differences',
  needs(citusSkipReason),
  async () => {
    await using place = await citusPlace(citusUrl ?? '', 'citus_filter', 4);
    const refused = { code: 'FILTER_CHANGED', message: expect.stringContaining('iou:Main:A') as string };
    await expect(openSession(place.database, otherIdentity)).rejects.toMatchObject(refused);
    await place.write(randomHistory(5, 3), 3);
    await expect(openSession(place.database, otherIdentity)).rejects.toMatchObject(refused);
  },
);
