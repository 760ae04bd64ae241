/** The last step of a rebuild into another database: closes the source here, then opens the target there. */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { Logger } from '../../observe/log/logger.ts';
import type { Database } from '../../store/connection/database.ts';
import { closeSource, prepareHandover, openTarget } from '../../store/handover/hand-over.ts';
import { updateJob } from '../../store/history/jobs.ts';
import type { StoppedWriter } from '../../store/swap/swap.ts';
import type { Follower } from './follower.ts';
import { transientCodes, type SwapSteps } from './handover.ts';

export interface HandoverOptions {
  readonly live: Database;
  readonly follower: Follower;
  /** Label of the other database, see `databaseLabel`. */
  readonly into: string;
  readonly logger: Logger;
  /** Called with descriptions of objects that cannot be copied. */
  readonly onLeft: (notCopied: readonly string[]) => void;
}

export function handingOver(options: HandoverOptions): SwapSteps {
  return {
    prepare: async () => {
      options.onLeft(await prepareHandover(options.live, options.follower.database));
      return (writerStopped) => completeHandover(options, writerStopped);
    },
  };
}

async function completeHandover(
  { live: liveDatabase, follower, into: targetLabel, logger }: HandoverOptions,
  writerStopped: StoppedWriter,
): Promise<number | string> {
  logger.info({ step: 'closing the source' }, 'swap');
  try {
    if (!(await closeSource(liveDatabase, follower.database, writerStopped, targetLabel)))
      return 'the rebuild was paused or cancelled';
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (!transientCodes.has(error.code)) throw error;
    return `a session held tables: ${error.message}`;
  }
  logger.info({ step: 'opening the target' }, 'swap');
  const checkpoint = await openTarget(follower.database, writerStopped).catch((thrown: unknown) => {
    throw interruptedHandoverError(targetLabel, toIndexerError(thrown));
  });
  logger.info({ step: 'committing' }, 'swap');
  await liveDatabase.withClient((client) =>
    updateJob(client, 'rebuild', { state: 'done', step: 'handed over', perSecond: null, problem: null }),
  );
  return checkpoint;
}

/** The error between the two commits, when neither schema may be written to. */
function interruptedHandoverError(targetLabel: string, error: IndexerError): IndexerError {
  return new IndexerError(`the stream was closed here and is not open in ${targetLabel} yet: ${error.message}`, {
    code: 'REBUILD_SWAP_BLOCKED',
    remedy: 'run the same command again: it finishes the handover, without a ledger',
    cause: error,
  });
}
