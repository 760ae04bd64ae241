/** The ending of a rebuild on another server: the storage here is laid down, then the one there is taken up. */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { Logger } from '../../observe/log/logger.ts';
import type { Database } from '../../store/connection/database.ts';
import { layDown, prepareHandover, takeUp } from '../../store/handover/hand-over.ts';
import { updateJob } from '../../store/history/jobs.ts';
import type { Halted } from '../../store/swap/swap.ts';
import type { Follower } from './follower.ts';
import { passing, type Ending } from './handover.ts';

export interface HandingOver {
  readonly live: Database;
  readonly follower: Follower;
  /** The other database, as `placeOf` names it. */
  readonly into: string;
  readonly logger: Logger;
  /** Told what cannot be carried over, in words. */
  readonly onLeft: (left: readonly string[]) => void;
}

export function handingOver(given: HandingOver): Ending {
  return {
    prepare: async () => {
      given.onLeft(await prepareHandover(given.live, given.follower.database));
      return (halted) => handOver(given, halted);
    },
  };
}

async function handOver({ live, follower, into, logger }: HandingOver, halted: Halted): Promise<number | string> {
  logger.info({ step: 'laying down' }, 'swap');
  try {
    if (!(await layDown(live, follower.database, halted, into))) return 'the rebuild was paused or cancelled';
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (!passing.has(error.code)) throw error;
    return `tables were held by a session: ${error.message}`;
  }
  logger.info({ step: 'taking up' }, 'swap');
  const checkpoint = await takeUp(follower.database, halted).catch((thrown: unknown) => {
    throw halfway(into, toIndexerError(thrown));
  });
  logger.info({ step: 'committing' }, 'swap');
  await live.withClient((client) =>
    updateJob(client, 'rebuild', { state: 'done', step: 'handed over', perSecond: null, problem: null }),
  );
  return checkpoint;
}

/** Neither may be written to now. */
function halfway(into: string, error: IndexerError): IndexerError {
  return new IndexerError(`the stream was laid down here and not yet taken up in ${into}: ${error.message}`, {
    code: 'REBUILD_SWAP_BLOCKED',
    remedy: 'run the same command again: it finishes the hand-over, and needs no ledger for it',
    cause: error,
  });
}
