/** A session that has ended is forgotten: an indexer that connects again and again for months needs no more memory for it. */
import { queryObjects } from 'node:v8';
import { it } from 'vitest';
import { StoreSession } from '../../src/store/write/session.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { FaultWorld } from './fault-world.ts';

const connections = 6;
const sessions = (): number => Number(queryObjects(StoreSession));

it('leaves nothing of itself in memory but the last of them', async () => {
  await using world = await FaultWorld.open();
  await using indexer = await world.run();
  await world.reachesEnd(indexer);
  const before = sessions();
  for (let cut = 0; cut < connections; cut += 1) {
    world.sandbox.faults.close = { path: '/v2/updates', code: 1011, times: 1 };
    world.grow(5);
    await waitFor('the stream is closed', () => (world.sandbox.faults.close === undefined ? true : undefined));
    await world.reachesEnd(indexer);
  }
  // Sockets that are being closed and packages that are being read hold on to theirs for a moment. Counting stops everything.
  const forgotten = async (): Promise<true | undefined> => {
    await pause(1_000);
    return sessions() <= before + 1 ? true : undefined;
  };
  await waitFor('all sessions but the last are forgotten', forgotten, 120_000);
});
