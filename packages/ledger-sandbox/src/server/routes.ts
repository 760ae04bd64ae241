/** Finds the endpoint for a method and a path. */
import { isWithin } from '../wire/release.ts';
import type { Release } from '../wire/release.ts';

interface Routable {
  readonly method?: string;
  readonly path: string;
  readonly since?: Release;
  readonly last?: Release;
}

export interface Route<E> {
  readonly endpoint: E;
  readonly method: string;
  readonly segments: readonly string[];
}

export interface RouteMatch<E> {
  readonly endpoint: E;
  readonly path: Readonly<Record<string, string>>;
}

/** The routes of a release below a path prefix. Fixed segments precede those that bind a value. */
export function routesOf<E extends Routable>(
  endpoints: readonly E[],
  release: Release,
  prefix: string,
): readonly Route<E>[] {
  const parameterCount = (path: string): number => path.split('{').length;
  return endpoints
    .filter(({ since, last }) => isWithin(release, since, last))
    .map((endpoint) => ({
      endpoint,
      method: endpoint.method ?? 'GET',
      segments: `${prefix}${endpoint.path}`.split('/'),
    }))
    .sort((a, b) => parameterCount(a.endpoint.path) - parameterCount(b.endpoint.path));
}

function bind(segments: readonly string[], pathSegments: readonly string[]): Record<string, string> | undefined {
  if (segments.length !== pathSegments.length) return undefined;
  const path: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const value = pathSegments[index] ?? '';
    if (!segment.startsWith('{')) {
      if (segment !== value) return undefined;
      continue;
    }
    const decodedSegment = decode(value);
    if (decodedSegment === undefined || decodedSegment === '') return undefined;
    path[segment.slice(1, -1)] = decodedSegment;
  }
  return path;
}

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

/** The endpoint for a method and the path of a request line. */
export function findRoute<E>(routes: readonly Route<E>[], method: string, pathname: string): RouteMatch<E> | undefined {
  const pathSegments = pathname.split('/');
  for (const route of routes) {
    if (route.method !== method) continue;
    const path = bind(route.segments, pathSegments);
    if (path !== undefined) return { endpoint: route.endpoint, path };
  }
  return undefined;
}

/**
 * The JSON body of the 404 for an unknown path.
 * @param uri the complete path
 */
export function routeNotFound(method: string, uri: string): string {
  return JSON.stringify({ errors: [`HttpMethod(${method}), uri: ${uri}`], status: 404, ledgerApiError: null });
}
