/** Files that a database URL names. The driver reads them whenever it parses the URL, whatever they are. */
import { unusableKind } from './small-file.ts';

const parameters = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/** The first of them that is there and no small file, e.g. `sslkey=/run/key is a pipe`; undefined where none is. */
export function unusableUrlFile(url: string): string | undefined {
  const query = new URLSearchParams(/\?([^#]*)/s.exec(url)?.[1] ?? '');
  for (const name of parameters) {
    const path = query.get(name);
    const kind = path === null || path === '' || path === 'system' ? undefined : unusableKind(path);
    if (path !== null && kind !== undefined) return `${name}=${path} is ${kind}`;
  }
  return undefined;
}
