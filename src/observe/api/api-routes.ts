/** Finds the route of a path, with the values of the parameters in it. */
import type { ApiRoute } from '../../model/push/read-api.ts';

export interface MatchedRoute {
  readonly route: ApiRoute;
  /** Values of the parameters in the path, decoded. */
  readonly inPath: ReadonlyMap<string, string>;
}

/** Undefined if no route has this path, or if the path is not encoded correctly. */
export function matchRoute(routes: readonly ApiRoute[], path: string): MatchedRoute | undefined {
  const segments = path.split('/');
  for (const route of routes) {
    const inPath = valuesIn(route.path.split('/'), segments);
    if (inPath !== undefined) return { route, inPath };
  }
  return undefined;
}

function valuesIn(pattern: readonly string[], segments: readonly string[]): ReadonlyMap<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const values = new Map<string, string>();
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? '';
    const name = /^\{(\w+)\}$/.exec(expected)?.[1];
    const value = name === undefined ? undefined : decoded(segment);
    if (name === undefined ? segment !== expected : value === undefined) return undefined;
    if (name !== undefined) values.set(name, value ?? '');
  }
  return values;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
