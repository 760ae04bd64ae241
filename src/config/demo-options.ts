/** Options of the embedded sandbox. */
import { boolean, indexer, integer, optional, withDefault } from './option.ts';

export const demoOptions = {
  demoUpdatesPerSecond: withDefault(
    indexer('INDEXER_DEMO_UPDATES_PER_SECOND', 'Updates per second that the embedded sandbox creates.'),
    integer(0, 100_000),
    '5',
  ),
  demoSpeed: withDefault(
    indexer(
      'INDEXER_DEMO_SPEED',
      'Factor by which `INDEXER_DEMO_UPDATES_PER_SECOND` is multiplied. Short form: `demo --speed`.',
    ),
    integer(1, 10_000),
    '1',
  ),
  demoMaxUpdates: optional(
    indexer(
      'INDEXER_DEMO_MAX_UPDATES',
      'Number of updates after which the sandbox stops creating updates, including its month of history.',
      {
        unset: 'no limit',
      },
    ),
    integer(1, 1_000_000_000),
  ),
  demoChaos: withDefault(
    indexer(
      'INDEXER_DEMO_CHAOS',
      'Let the sandbox occasionally drop the socket, stall, prune or slow down Postgres. Short form: `demo --chaos`.',
    ),
    boolean,
    'false',
  ),
  demoSeed: withDefault(
    indexer('INDEXER_DEMO_SEED', 'Random seed of the demo traffic. The same seed gives the same history.'),
    integer(0, 4_294_967_295),
    '1',
  ),
} as const;
