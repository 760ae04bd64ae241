/**
 * Observers that ignore every report. They are for background jobs, whose measurements must not count as those of the
 * stream.
 */
import type { Observers } from './observer.ts';

const ignore = (): void => undefined;

/** Ignores commits. Listeners wait for offsets of the stream, and the offsets of a background job are different. */
export const quietCommits = { reached: ignore };

type Every<Port> = (Port extends unknown ? (port: Port) => void : never) extends (all: infer All) => void ? All : never;

/** Every method of every port is a no-op. */
const quiet = new Proxy({} as Every<Observers[keyof Observers]>, { get: () => ignore });

export const quietObservers: Observers = {
  stream: quiet,
  seed: quiet,
  polls: quiet,
  release: quiet,
  packages: quiet,
  interfaces: quiet,
  filterExtension: quiet,
  completions: quiet,
  retention: quiet,
  jobs: quiet,
};
