/** Options of the HTTP endpoints. */
import { boolean, indexer, integer, listType, patternType, withDefault } from './option.ts';

export const httpOptions = {
  httpHost: withDefault(
    indexer(
      'INDEXER_HTTP_HOST',
      'Address to listen on for pages, `/metrics`, `/livez`, `/readyz`, `/status`, `/wait` and `/changes`.',
    ),
    patternType('host', /^[A-Za-z0-9_.:-]+$/, 'a host name or an address'),
    '127.0.0.1',
  ),
  httpAllowedHosts: withDefault(
    indexer(
      'INDEXER_HTTP_ALLOWED_HOSTS',
      'Additional host names to accept in requests, such as the name of a service. Addresses and `localhost` are always accepted.',
      {
        unset: 'none',
      },
    ),
    listType(
      patternType(
        'name',
        /^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$/,
        'host names without ports, separated by commas',
      ),
    ),
    '',
  ),
  httpPort: withDefault(
    indexer('INDEXER_HTTP_PORT', 'Port to listen on; 0 selects any free port.'),
    integer(0, 65_535),
    '7580',
  ),
  corsOrigins: withDefault(
    indexer(
      'INDEXER_CORS_ORIGINS',
      'Web origins that may read `/changes`, `/api` and `/wait` in a browser, as `https://app.example`, separated by commas.',
      { unset: 'none' },
    ),
    listType(
      patternType(
        'origin',
        /^https?:\/\/[a-z0-9.-]+(:[0-9]{1,5})?$/,
        'origins in lower case, without a path, separated by commas',
      ),
    ),
    '',
  ),
  api: withDefault(
    indexer(
      'INDEXER_API',
      'Serve `/api`, which answers queries over HTTP to this machine and to clients with a token. It uses up to 4 more connections to Postgres.',
    ),
    boolean,
    'false',
  ),
  changesMaxClients: withDefault(
    indexer('INDEXER_CHANGES_MAX_CLIENTS', 'Concurrent clients of `/changes`, at most. Each holds a socket.'),
    integer(1, 100_000),
    '1000',
  ),
} as const;
