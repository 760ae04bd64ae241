/** The last step of a rebuild in the same database: swaps the schemas in one transaction. */
import { setTimeout as sleep } from 'node:timers/promises';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Logger } from '../../observe/log/logger.ts';
import type { Database } from '../../store/connection/database.ts';
import { blockersOf, findOlderSnapshots } from '../../store/swap/locks.ts';
import type { OtherSchema } from '../../store/swap/stream-schemas.ts';
import {
  complete,
  prepareSwap,
  swap,
  type StoppedWriter,
  type LastCommit,
  type PreparedSwap,
} from '../../store/swap/swap.ts';
import { writerName } from '../database/maintenance.ts';
import type { Follower } from './follower.ts';
import { transientCodes, type SwapSteps } from './handover.ts';

export interface SwapOptions {
  readonly live: Database;
  readonly follower: Follower;
  readonly replacement: OtherSchema;
  readonly notify: boolean;
  readonly logger: Logger;
}

/** Number of attempts while this process holds the writer lock. */
const triesPerAttempt = 2;
const retryPauseMs = 50;
/** Maximum wait for older snapshots to end, milliseconds, before sessions are blocked. */
const snapshotsMs = 300;
const pollMs = 10;
/** Interval of checks for blocking sessions, milliseconds. */
const watchMs = 100;

/** The last steps as a swap of schemas. They throw REBUILD_REFUSED if something cannot be copied. */
export function swapping(options: SwapOptions): SwapSteps {
  return {
    prepare: async () => {
      const preparedSwap = await prepareSwap(options.live, options.follower.database);
      return (writerStopped) => swapSchemas(options, preparedSwap, writerStopped);
    },
  };
}

async function swapSchemas(
  options: SwapOptions,
  preparedSwap: PreparedSwap,
  writerStopped: StoppedWriter,
): Promise<number | string> {
  const { live: liveDatabase, follower } = options;
  const last = await complete(liveDatabase, follower.database);
  await waitForSnapshots(liveDatabase, last);
  const isAhead = (await follower.checkpoint()) > writerStopped.checkpoint;
  const parts = { prepared: preparedSwap, writerStopped, last, ahead: isAhead };
  for (let attempt = 1; ; attempt += 1) {
    const blockers = await attemptSwap(options, parts);
    if (typeof blockers === 'number' || attempt === triesPerAttempt) return blockers;
    await sleep(retryPauseMs);
  }
}

/** Waits for the end of snapshots that are older than the complete schema. Most end soon, and no session is blocked. */
async function waitForSnapshots(liveDatabase: Database, last: LastCommit): Promise<void> {
  const end = performance.now() + snapshotsMs;
  const older = () => liveDatabase.withClient((client) => findOlderSnapshots(client, last));
  while ((await older()).length > 0 && performance.now() < end) await sleep(pollMs);
}

interface Parts {
  readonly prepared: PreparedSwap;
  readonly writerStopped: StoppedWriter;
  readonly last: LastCommit;
  readonly ahead: boolean;
}

/** Resolves to the checkpoint, or to a description of the sessions that blocked the swap. */
async function attemptSwap(
  { live: liveDatabase, replacement, notify, logger }: SwapOptions,
  parts: Parts,
): Promise<number | string> {
  const blockers = new Set<string>();
  let session = 0;
  const watch = setInterval(() => {
    liveDatabase
      .withClient((client) => blockersOf(client, session))
      .then(
        (names) => names.forEach((name) => blockers.add(name)),
        () => undefined,
      );
  }, watchMs);
  try {
    const onSession = (pid: number): void => void (session = pid);
    const onStep = (step: string): void => logger.info({ step }, 'swap');
    return await swap(liveDatabase, { ...parts, target: replacement, notify, writer: writerName, onSession, onStep });
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (!transientCodes.has(error.code)) throw error;
    const lockMessage = `views or tables were locked by ${blockers.size === 0 ? 'a session' : [...blockers].join(', ')}`;
    const reason = error.code === 'REBUILD_SWAP_BLOCKED' ? error.message : lockMessage;
    logger.warn({ err: error, blockedBy: reason }, 'swap failed');
    return reason;
  } finally {
    clearInterval(watch);
  }
}
