/** An observer that nobody hears, for work beside the stream whose figures are not those of the stream. */
import type { Observer } from './observer.ts';

const ignore = (): void => undefined;

/** Listeners wait for offsets of the stream; those of a background job are others. */
export const quietCommits = { reached: ignore };

export const quietObserver: Observer = {
  storedFound: ignore,
  sessionOpened: ignore,
  phaseChanged: ignore,
  lockHeld: ignore,
  tokenTaken: ignore,
  connected: ignore,
  disconnected: ignore,
  frameReceived: ignore,
  queueChanged: ignore,
  busyWith: ignore,
  backpressure: ignore,
  batchCommitted: ignore,
  quarantined: ignore,
  lateStored: ignore,
  release: ignore,
  seedProgress: ignore,
  seedDone: ignore,
  ledgerPolled: ignore,
  prunedPolled: ignore,
  stretchAsked: ignore,
  verified: ignore,
  contractsUnknown: ignore,
  worksSeen: ignore,
  packagesRead: ignore,
  packagesFailed: ignore,
  interfacesWanted: ignore,
  viewsGathering: ignore,
  viewsAdded: ignore,
  viewsFailed: ignore,
  widening: ignore,
  completionsOff: ignore,
  completionsFollowed: ignore,
  completionsStored: ignore,
  completionsSkipped: ignore,
  completionsFailed: ignore,
  historyPruned: ignore,
  pruneFailed: ignore,
  failed: ignore,
};
