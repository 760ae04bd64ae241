/**
 * Observers that ignore every report. They are for background jobs, whose measurements must not count as those of the
 * stream.
 */
import type { Observers } from './observer.ts';

const ignore = (): void => undefined;

/** Ignores commits. Listeners wait for offsets of the stream, and the offsets of a background job are different. */
export const silentCommits = { reached: ignore };

type IntersectionOf<Port> = (Port extends unknown ? (port: Port) => void : never) extends (port: infer All) => void
  ? All
  : never;

/** Every method of every port is a no-op. */
const silentObserver = new Proxy({} as IntersectionOf<Observers[keyof Observers]>, { get: () => ignore });

export const silentObservers: Observers = {
  stream: silentObserver,
  seed: silentObserver,
  polls: silentObserver,
  release: silentObserver,
  packages: silentObserver,
  interfaces: silentObserver,
  filterExtension: silentObserver,
  completions: silentObserver,
  retention: silentObserver,
  projections: silentObserver,
  traffic: silentObserver,
  jobs: silentObserver,
};
