/** Options of the embedded sandbox. */
import { boolean, indexer, integer, optional, withDefault } from './option.ts';

export const demoOptions = {
  demoUpdatesPerSecond: withDefault(
    indexer('INDEXER_DEMO_UPDATES_PER_SECOND', 'Traffic of the embedded sandbox.'),
    integer(0, 100_000),
    '5',
  ),
  demoSpeed: withDefault(
    indexer('INDEXER_DEMO_SPEED', 'Multiplies that traffic; `demo --speed` for short.'),
    integer(1, 10_000),
    '1',
  ),
  demoMaxUpdates: optional(
    indexer(
      'INDEXER_DEMO_MAX_UPDATES',
      'The sandbox makes no more updates than these, its month of history included.',
      {
        unset: 'never ends',
      },
    ),
    integer(1, 1_000_000_000),
  ),
  demoChaos: withDefault(
    indexer(
      'INDEXER_DEMO_CHAOS',
      'Now and then the sandbox drops the socket, stalls, prunes or slows Postgres; `demo --chaos` for short.',
    ),
    boolean,
    'false',
  ),
  demoSeed: withDefault(
    indexer('INDEXER_DEMO_SEED', 'Random seed of that traffic; the same seed gives the same history.'),
    integer(0, 4_294_967_295),
    '1',
  ),
} as const;
