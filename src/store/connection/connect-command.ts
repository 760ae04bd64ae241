/** How a person connects to the database of a URL, without its secrets. */
import { urlsOf } from './hosts.ts';

/** A `psql` command with host, port, database and user of the URL, and none of the rest but `sslmode`. */
export function connectCommand(url: string): string {
  const [first = ''] = urlsOf(url);
  try {
    const { hostname, port, pathname, username, searchParams } = new URL(first);
    // An @ behind the host is that of a password with a slash in it, which ends the host too early.
    if (hostname === '' || pathname.includes('@')) return unknown;
    const user = username === '' ? '' : `${username}@`;
    const mode = searchParams.get('sslmode');
    const query = mode === null ? '' : `?sslmode=${encodeURIComponent(mode)}`;
    const host = port === '' ? hostname : `${hostname}:${port}`;
    return quoted(`postgres://${user}${host}${pathname}${query}`);
  } catch {
    return unknown;
  }
}

const unknown = 'psql "$DATABASE_URL"';

/** For a shell: the parts are percent-encoded, but for the quote. */
function quoted(text: string): string {
  return `psql '${text.replaceAll("'", '%27')}'`;
}
