/** Checks the certificate files of a database URL. The driver reads them unchecked whenever it parses the URL. */
import { unusableKind } from './small-file.ts';

const parameters = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/**
 * Describes the first existing file that is not a small file, e.g. `sslkey=/run/key is a pipe`; undefined if there is
 * none.
 */
export function unusableUrlFile(url: string): string | undefined {
  const query = new URLSearchParams(/\?([^#]*)/s.exec(url)?.[1] ?? '');
  for (const name of parameters) {
    const path = query.get(name);
    const kind = path === null || path === '' || path === 'system' ? undefined : unusableKind(path);
    if (path !== null && kind !== undefined) return `${name}=${path} is ${kind}`;
  }
  return undefined;
}
