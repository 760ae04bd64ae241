/**
 * Addresses of the JSON Ledger API under a base URL. The participant may be configured with a path prefix, so a base
 * URL may carry a path, which comes before every endpoint.
 */

/** The base URL with the endpoint's path appended; query and fragment of the base are dropped. */
export function httpEndpoint(baseUrl: string, path: string): URL {
  const url = new URL(baseUrl);
  const [pathname = '', search = ''] = path.split('?', 2);
  url.pathname = `${url.pathname.replace(/\/+$/u, '')}${pathname}`;
  url.search = search;
  url.hash = '';
  return url;
}

/** The same for a WebSocket: http becomes ws, https becomes wss. */
export function socketEndpoint(baseUrl: string, path: string): URL {
  const url = httpEndpoint(baseUrl, path);
  url.protocol = url.protocol === 'https:' || url.protocol === 'wss:' ? 'wss:' : 'ws:';
  return url;
}
