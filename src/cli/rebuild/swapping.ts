/** The last step of a rebuild in the same database: swaps the schemas in one transaction. */
import { setTimeout as sleep } from 'node:timers/promises';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Logger } from '../../observe/log/logger.ts';
import type { Database } from '../../store/connection/database.ts';
import { blockersOf, olderSnapshots } from '../../store/swap/locks.ts';
import type { OtherSchema } from '../../store/swap/stream-schemas.ts';
import {
  complete,
  prepareSwap,
  swap,
  type StoppedWriter,
  type LastCommit,
  type Prepared,
} from '../../store/swap/swap.ts';
import { writerName } from '../database/maintenance.ts';
import type { Follower } from './follower.ts';
import { passing, type Ending } from './handover.ts';

export interface Swap {
  readonly live: Database;
  readonly follower: Follower;
  readonly replacement: OtherSchema;
  readonly notify: boolean;
  readonly logger: Logger;
}

/** Number of attempts while this process holds the writer lock. */
const triesInRow = 2;
const betweenTriesMs = 50;
/** Maximum wait for older snapshots to end, milliseconds, before sessions are blocked. */
const snapshotsMs = 300;
const pollMs = 10;
/** Interval of checks for blocking sessions, milliseconds. */
const watchMs = 100;

/** The last steps as a swap of schemas. They throw REBUILD_REFUSED if something cannot be copied. */
export function swapping(options: Swap): Ending {
  return {
    prepare: async () => {
      const prepared = await prepareSwap(options.live, options.follower.database);
      return (writerStopped) => swapSchemas(options, prepared, writerStopped);
    },
  };
}

async function swapSchemas(options: Swap, prepared: Prepared, writerStopped: StoppedWriter): Promise<number | string> {
  const { live, follower } = options;
  const last = await complete(live, follower.database);
  await outlive(live, last);
  const ahead = (await follower.checkpoint()) > writerStopped.checkpoint;
  const parts = { prepared, writerStopped, last, ahead };
  for (let tried = 1; ; tried += 1) {
    const hindered = await trySwap(options, parts);
    if (typeof hindered === 'number' || tried === triesInRow) return hindered;
    await sleep(betweenTriesMs);
  }
}

/** Waits for the end of snapshots that are older than the complete schema. Most end soon, and no session is blocked. */
async function outlive(live: Database, last: LastCommit): Promise<void> {
  const end = performance.now() + snapshotsMs;
  const older = () => live.withClient((client) => olderSnapshots(client, last));
  while ((await older()).length > 0 && performance.now() < end) await sleep(pollMs);
}

interface Parts {
  readonly prepared: Prepared;
  readonly writerStopped: StoppedWriter;
  readonly last: LastCommit;
  readonly ahead: boolean;
}

/** Resolves to the checkpoint, or to a description of the sessions that blocked the swap. */
async function trySwap({ live, replacement, notify, logger }: Swap, parts: Parts): Promise<number | string> {
  const blockers = new Set<string>();
  let session = 0;
  const watch = setInterval(() => {
    live
      .withClient((client) => blockersOf(client, session))
      .then(
        (found) => found.forEach((name) => blockers.add(name)),
        () => undefined,
      );
  }, watchMs);
  try {
    const onSession = (pid: number): void => void (session = pid);
    const onStep = (step: string): void => logger.info({ step }, 'swap');
    return await swap(live, { ...parts, target: replacement, notify, writer: writerName, onSession, onStep });
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (!passing.has(error.code)) throw error;
    const held = `views or tables were locked by ${blockers.size === 0 ? 'a session' : [...blockers].join(', ')}`;
    const by = error.code === 'REBUILD_SWAP_BLOCKED' ? error.message : held;
    logger.warn({ err: error, blockedBy: by }, 'swap failed');
    return by;
  } finally {
    clearInterval(watch);
  }
}
