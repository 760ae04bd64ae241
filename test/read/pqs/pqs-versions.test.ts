/** A choice of a newer package version archives a contract. The contract is queried by the id of each version. */
import { expect, it } from 'vitest';
import { created, exercised, transaction } from '../../support/frames.ts';
import { createReadDatabase } from '../read-database.ts';

it('pqs.archives() filters by the package version of the create, not of the archive', async () => {
  const [olderPackage, newerPackage] = ['a1'.repeat(32), 'b2'.repeat(32)];
  await using database = await createReadDatabase();
  const contract = { contractId: 'one', packageName: 'p', nodeId: 0, interfaceViews: [], interfaceId: null };
  const create = created({ ...contract, offset: 1, templateId: `${olderPackage}:M:T` });
  const exercise = exercised({ ...contract, offset: 2, templateId: `${newerPackage}:M:T`, choice: 'Go' });
  await database.write(transaction(1, [{ CreatedEvent: create }]), transaction(2, [{ ExercisedEvent: exercise }]));
  const countArchived = async (name: string): Promise<unknown> =>
    database.query('select contract_id from pqs.archives($1)', [name]);
  expect(await countArchived('p:M:T')).toEqual([{ contract_id: 'one' }]);
  expect(await countArchived(`${olderPackage}:M:T`)).toEqual([{ contract_id: 'one' }]);
  expect(await countArchived(`${newerPackage}:M:T`)).toEqual([]);
});
