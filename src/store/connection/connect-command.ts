/** Command that connects a person to the database of a URL, without its secrets. */
import { urlsOf } from './hosts.ts';

/** A `psql` command with host, port, database and user of the URL; of all other settings, only `sslmode`. */
export function connectCommand(url: string): string {
  const [first = ''] = urlsOf(url);
  try {
    const { hostname, port, pathname, username, searchParams } = new URL(first);
    // An @ after the host means that the password contains a slash, which ended the host too early.
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

/** For a shell: the parts are percent-encoded, except for the quote. */
function quoted(text: string): string {
  return `psql '${text.replaceAll("'", '%27')}'`;
}
