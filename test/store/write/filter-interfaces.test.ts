/**
 * A session that has read the table `filter_interfaces` must not overwrite the result of a concurrent backfill.
 */
import { expect, it } from 'vitest';
import { storeFilterInterfaces, readRequestedInterfaces } from '../../../src/store/write/filter-interfaces.ts';
import { schemasOfFile } from '../../support/schemas.ts';

const schemas = schemasOfFile();

it('storeFilterInterfaces() does not overwrite a complete_from that another session stored', async () => {
  const database = await schemas.migrated('noted');
  await database.withClient(async (client) => {
    await client.query(
      `insert into stream (filter, filter_hash, transaction_shape) values ('{}', 'h', 'LEDGER_EFFECTS');
       insert into filter_interfaces (interface_id, state) values ('#a:A:Followed', 'followed'), ('#a:A:Unknown', 'waiting')`,
    );
    const storedInterfaces = await readRequestedInterfaces(client);
    await client.query(`update filter_interfaces set complete_from = 391 where state = 'followed'`);
    await storeFilterInterfaces(
      client,
      0,
      storedInterfaces.map((requestedInterface) =>
        requestedInterface.state === 'waiting' ? { ...requestedInterface, unknownAt: 531 } : requestedInterface,
      ),
    );
    expect(await readRequestedInterfaces(client)).toEqual([
      { id: '#a:A:Followed', state: 'followed', completeFrom: 391, unknownAt: null },
      { id: '#a:A:Unknown', state: 'waiting', completeFrom: null, unknownAt: 531 },
    ]);
  });
});
