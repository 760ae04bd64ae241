/** Builds the `psql` command that connects to the database of a URL. It contains no secrets. */
import { urlsOf } from './hosts.ts';

/** A `psql` command with host, port, database and user of the URL. `sslmode` is the only other setting it keeps. */
export function connectCommand(url: string): string {
  const [first = ''] = urlsOf(url);
  try {
    const { hostname, port, pathname, username, searchParams } = new URL(first);
    // An @ after the host means that an unescaped slash in the password ended the host too early.
    if (hostname === '' || pathname.includes('@')) return genericCommand;
    const user = username === '' ? '' : `${username}@`;
    const mode = searchParams.get('sslmode');
    const query = mode === null ? '' : `?sslmode=${encodeURIComponent(mode)}`;
    const host = port === '' ? hostname : `${hostname}:${port}`;
    return psqlCommand(`postgres://${user}${host}${pathname}${query}`);
  } catch {
    return genericCommand;
  }
}

const genericCommand = 'psql "$DATABASE_URL"';

/** Quotes text for a shell. The parts are percent-encoded, except for the single quote. */
function psqlCommand(text: string): string {
  return `psql '${text.replaceAll("'", '%27')}'`;
}
