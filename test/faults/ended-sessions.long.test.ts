/** Ended sessions are released from memory, so that reconnections do not accumulate over months. */
import { queryObjects } from 'node:v8';
import { it } from 'vitest';
import { StoreSession } from '../../src/store/write/session.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { FaultWorld } from './fault-world.ts';

const connections = 6;
const sessions = (): number => Number(queryObjects(StoreSession));

it('the indexer releases earlier sessions from memory after it reconnects', async () => {
  await using world = await FaultWorld.open();
  await using indexer = await world.run();
  await world.reachesEnd(indexer);
  const sessionsBefore = sessions();
  for (let cut = 0; cut < connections; cut += 1) {
    world.sandbox.faults.close = { path: '/v2/updates', code: 1011, times: 1 };
    world.grow(5);
    await waitFor('the stream is closed', () => (world.sandbox.faults.close === undefined ? true : undefined));
    await world.reachesEnd(indexer);
  }
  // A closing socket and a package that is being read refer to their session for some seconds. Counting stops the
  // process, so it is not done often.
  const hasReleased = async (): Promise<true | undefined> => {
    await pause(1_000);
    return sessions() <= sessionsBefore + 1 ? true : undefined;
  };
  await waitFor('the earlier sessions are released', hasReleased, 120_000);
});
