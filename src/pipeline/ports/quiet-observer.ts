/** An observer that nobody hears, for work beside the stream whose figures are not those of the stream. */
import type { Observer } from './observer.ts';

const ignore = (): void => undefined;

export const quietObserver: Observer = {
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
  seedProgress: ignore,
  seedDone: ignore,
  ledgerPolled: ignore,
  prunedPolled: ignore,
  stretchAsked: ignore,
  verified: ignore,
  contractsUnknown: ignore,
  packagesRead: ignore,
  packagesFailed: ignore,
  interfacesWanted: ignore,
  viewsGathering: ignore,
  viewsAdded: ignore,
  viewsFailed: ignore,
  completionsOff: ignore,
  completionsFollowed: ignore,
  completionsStored: ignore,
  completionsSkipped: ignore,
  completionsFailed: ignore,
  failed: ignore,
};
