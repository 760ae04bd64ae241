/** `/changes` of one process: its database connections, and the clients that it serves. */
import type { Config } from '../config/config.ts';
import { ChangePages } from '../observe/changes/change-pages.ts';
import { ChangeStream } from '../observe/changes/change-stream.ts';
import { FairQueue } from '../observe/changes/turns.ts';
import { CheckpointWaiters } from '../observe/health/checkpoint-waiters.ts';
import { ChangesAnswers } from '../observe/http/changes-endpoint.ts';
import { readerOf } from '../observe/http/readers.ts';
import type { TokenCallers } from '../observe/http/token-callers.ts';
import type { ChangesFacts } from '../observe/metrics/metrics.ts';
import type { PollIntervals } from '../config/pace.ts';
import { maxPageCharacters, readChanges, readCheckpoint } from '../store/changes/read-changes.ts';
import { Selections } from '../store/changes/selections.ts';
import { unknownNames } from '../store/changes/unknown-names.ts';
import { shareOf, type Database } from '../store/connection/database.ts';
import { pageConnections } from './connections.ts';

/** Maximum number of rows in one page, however large the updates are. */
const pageRows = 200;

/**
 * With more pages than this waiting, clients have many different filters, and each commit makes all of them read. Then
 * connections rest after each page while updates arrive, so that ingest keeps its share of the database.
 */
const manyPages = 8;
/** Rest after a page, as a multiple of the time that it took. */
const restFactor = 4;
/** Updates arrive if the last commit is not older, milliseconds. */
const ingestingMs = 1_000;

export interface PushedChanges {
  readonly answers: ChangesAnswers;
  readonly facts: () => ChangesFacts;
  /** Called when a checkpoint is in the database; wakes clients that wait for more changes. */
  readonly reached: (checkpoint: number) => void;
  /** Called when the indexer stops; ends the streams. */
  readonly stopping: () => void;
}

/**
 * Prepares `/changes`. Nothing is read before the first request.
 * @param sharedDatabase connection pool, which the caller closes
 */
export function openChangeServer(
  { indexer }: Config,
  sharedDatabase: Database,
  callers: TokenCallers,
  pace: PollIntervals,
): PushedChanges {
  const maxClients = indexer.changesMaxClients;
  const database = shareOf(sharedDatabase, pageConnections);
  const waiters = new CheckpointWaiters(maxClients);
  let committedAt = Number.NEGATIVE_INFINITY;
  const readQueue = new FairQueue(pageConnections, (turnMs, waitingCount) =>
    waitingCount > manyPages && performance.now() - committedAt < ingestingMs ? restFactor * turnMs : 0,
  );
  const selections = new Selections();
  const pages = new ChangePages(
    (request) => readChanges(database, request, pageRows, maxPageCharacters, selections),
    readQueue,
  );
  let pendingCheckpoint: Promise<number | null> | undefined;
  const checkpoint = (): Promise<number | null> => {
    // One query serves all requests that arrive at the same time, such as after a restart.
    pendingCheckpoint ??= readCheckpoint(database).finally(() => (pendingCheckpoint = undefined));
    return pendingCheckpoint;
  };
  const changesHandler = new ChangesAnswers({
    stream: new ChangeStream(pages, waiters, checkpoint, pace),
    unknownIn: (request) => readQueue.take(request.reader, () => unknownNames(database, request)),
    readerOf: (request) => readerOf(request, callers, indexer.corsOrigins),
    most: maxClients,
  });
  return {
    answers: changesHandler,
    facts: () => ({ streams: changesHandler.streaming, most: maxClients, pages: pages.read }),
    reached: (checkpoint) => {
      committedAt = performance.now();
      waiters.reached(checkpoint);
    },
    stopping: () => waiters.close(),
  };
}
