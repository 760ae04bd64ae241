/** Checks a database URL before anything connects. No message repeats a part that may belong to a password. */
import { IndexerError } from '../../errors/indexer-error.ts';

const percentEncode =
  'percent-encode special characters in user and password: @ is %40, / is %2F, : is %3A, # is %23, ? is %3F, % is %25';

/**
 * The modes that the driver accepts. `allow` of libpq is missing, because it may fall back to an unencrypted
 * connection, and nothing here does.
 */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const otherSchema = ['schema', 'currentSchema', 'search_path'];

/**
 * @throws IndexerError STORE_URL_INVALID @param schema the schema that is used, even if the URL names a different one
 */
export function assertUrlUnambiguous(url: string, schema: string): void {
  const [, authority = '', path = '', query = '', fragment = ''] =
    /^postgres(?:ql)?:\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? [];
  // A special character in a password ends the host too early; the @ that precedes the actual host then comes after
  // that end.
  if (/@/.test(path + fragment) || /\?[^=]*@/.test(query)) throw unreadableUrlError();
  for (const host of authority.slice(authority.lastIndexOf('@') + 1).split(',')) refuseHost(host);
  const settings = new URLSearchParams(query);
  const mode = settings.get('sslmode');
  if (mode !== null && !sslModes.includes(mode)) {
    throw invalidUrlError('sslmode in the database URL has an unknown value', `write one of ${sslModes.join(', ')}`);
  }
  const schemaParameter = otherSchema.find((name) => settings.has(name) && settings.get(name) !== schema);
  if (schemaParameter !== undefined) {
    throw invalidUrlError(
      `${schemaParameter} in the database URL is not read: the schema here is "${schema}"`,
      `set POSTGRES_SCHEMA, and take ${schemaParameter} out of the URL`,
    );
  }
}

/** The error for a URL that the driver cannot read. */
export function unreadableUrlError(): IndexerError {
  return invalidUrlError(
    'the database URL cannot be read: user or password is not percent-encoded, or a part is missing',
    percentEncode,
  );
}

function refuseHost(host: string): void {
  const [, port] = /^(?:\[[^\]]*\]|[^:[\]]*)(?::(\d+))?$/.exec(host) ?? [];
  if (port !== undefined) {
    const isPort = Number(port) > 0 && Number(port) <= 65_535;
    if (!isPort)
      throw invalidUrlError(
        'the port in the database URL is not one of 1 to 65535',
        'write host:port, such as db:5432',
      );
    return;
  }
  if (!/[:[\]]/.test(host) || /^\[[^\]]*\]$/.test(host)) return;
  if (/^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(host)) {
    throw invalidUrlError('an IPv6 address in the database URL is without brackets', 'write it as [::1]:5432');
  }
  throw unreadableUrlError();
}

function invalidUrlError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'STORE_URL_INVALID', remedy });
}
