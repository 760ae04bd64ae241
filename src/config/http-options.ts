/** Options of the endpoints: where they are, and how many they serve. */
import { indexer, integer, listOf, matching, withDefault } from './option.ts';

export const httpOptions = {
  httpHost: withDefault(
    indexer('INDEXER_HTTP_HOST', 'Address of `/metrics`, `/livez`, `/readyz`, `/status`, `/wait` and `/changes`.'),
    matching('host', /^[A-Za-z0-9_.:-]+$/, 'a host name or an address'),
    '127.0.0.1',
  ),
  httpNames: withDefault(
    indexer('INDEXER_HTTP_NAMES', 'Names it answers to beside that, `localhost` and addresses, e.g. of a service.', {
      unset: 'none',
    }),
    listOf(
      matching('name', /^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/, 'host names without ports, separated by commas'),
    ),
    '',
  ),
  httpPort: withDefault(indexer('INDEXER_HTTP_PORT', 'Its port; 0 takes any free one.'), integer(0, 65_535), '7580'),
  corsOrigins: withDefault(
    indexer(
      'INDEXER_CORS_ORIGINS',
      'Origins whose pages may read `/changes` and `/wait` in a browser, as `https://app.example`, separated by commas.',
      { unset: 'none' },
    ),
    listOf(
      matching(
        'origin',
        /^https?:\/\/[a-z0-9.-]+(:[0-9]{1,5})?$/,
        'origins in lower case, without a path, separated by commas',
      ),
    ),
    '',
  ),
  changesStreams: withDefault(
    indexer('INDEXER_CHANGES_STREAMS', 'Clients that may listen at `/changes` at the same time; each costs a socket.'),
    integer(1, 100_000),
    '1000',
  ),
} as const;
