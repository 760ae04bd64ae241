/**
 * Reads for the query page: SQL statements of users, `explain`, names of templates and parties. Each request uses its
 * own connection, with a login that can only read. A superuser login is not used, because its statements can read files
 * of the server even in a read-only transaction.
 */
import { randomBytes } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import { IndexerError } from '../../errors/indexer-error.ts';
import { openDatabase, type Database } from '../connection/database.ts';
import { grantReader } from '../roles/reader-role.ts';
import { rightsBeyondReading } from '../roles/role-reach.ts';
import { scramVerifier } from '../roles/scram.ts';
import { readCalls, type ReadCalls } from './read-calls.ts';

export interface ConsoleReadsOptions {
  /**
   * URL of the read-only login. If the login has more rights than reading, it is refused, or replaced if `makeReader`
   * is set.
   */
  readonly url: string;
  /** The file that contains the URL, if the URL comes from a file. */
  readonly urlFile?: string | undefined;
  readonly schema: string;
  /** Time limit of one statement, milliseconds. */
  readonly statementTimeoutMs: number;
  /**
   * Set for our own embedded server: a read-only login is created there, with a password that only this process knows.
   */
  readonly makeReader: boolean;
  /** Called if Postgres refuses the login of a valid token; once per login. */
  readonly onLoginRefused?: (error: IndexerError) => void;
}

/** A login of the database. */
export interface Login {
  readonly name: string;
  readonly password: string;
}

/** The database login of a reader token. */
export interface TokenLogin extends Login {
  /** Id of the reader token. */
  readonly token: string;
  readonly role: string;
}

export interface ConsoleReads extends ReadCalls {
  /**
   * The same reads with the login of a token, which can only read.
   * @throws IndexerError as the other methods, and READER_TOKEN_LOGIN_REFUSED
   */
  as(login: TokenLogin): ReadCalls;
  /** Closes every connection. Never rejects. */
  close(): Promise<void>;
}

const mebibyte = 1024 ** 2;
/**
 * Share of the heap for one result. Up to fifteen requests run at once: three local ones and twelve with tokens. Each
 * result is in memory as bytes and as text.
 */
const shareOfHeap = 1 / 30;

/**
 * Maximum bytes that the server may send for one request. Larger results are interrupted while they arrive.
 * @param heap limit of the heap, bytes
 */
export function largestAnswer(heap: number): number {
  return Math.max(1, Math.min(64, Math.floor((heap * shareOfHeap) / mebibyte))) * mebibyte;
}
/** Maximum number of concurrent requests, and of connections to cancel them. */
const connections = 6;

/** Prepares the reads. Connects only on the first request. @throws IndexerError STORE_URL_INVALID */
export function openConsoleReads(options: ConsoleReadsOptions): ConsoleReads {
  const { schema } = options;
  const reader = new ReaderLogin(options);
  return {
    ...readCalls({ schema, withDatabase: async (work) => work(await reader.database()) }),
    as: (login) => readCalls({ schema, withDatabase: (work) => reader.lend(login, work) }),
    close: () => reader.close(),
  };
}

/**
 * The read-only login. It is created or checked before the first request; after a failure, the next request tries
 * again.
 */
class ReaderLogin {
  readonly #options: ConsoleReadsOptions;
  #opened: Promise<Database> | undefined;
  #closed = false;
  readonly #lent = new Set<Database>();
  /** Logins of tokens whose refusal was reported. */
  readonly #refused = new Set<string>();

  constructor(options: ConsoleReadsOptions) {
    this.#options = options;
  }

  database(): Promise<Database> {
    if (this.#closed) throw new IndexerError('the indexer is stopping', { code: 'STORE_CLOSED' });
    this.#opened ??= this.#open().catch((thrown: unknown) => {
      this.#opened = undefined;
      throw thrown;
    });
    return this.#opened;
  }

  /** Lends a connection with the login of a token for one request. */
  async lend<T>(login: TokenLogin, work: (database: Database) => Promise<T>): Promise<T> {
    if (this.#closed) throw new IndexerError('the indexer is stopping', { code: 'STORE_CLOSED' });
    const database = this.#openAs({
      ...this.#options,
      url: urlWithLogin(this.#options.url, login),
      urlFile: undefined,
    });
    this.#lent.add(database);
    try {
      return await work(database);
    } catch (thrown) {
      throw this.#reported(login, loginError(login, thrown)) ?? thrown;
    } finally {
      this.#lent.delete(database);
      await database.close(0);
    }
  }

  #reported({ name }: TokenLogin, refusalError: IndexerError | undefined): IndexerError | undefined {
    if (refusalError !== undefined && !this.#refused.has(name)) {
      this.#refused.add(name);
      this.#options.onLoginRefused?.(refusalError);
    }
    return refusalError;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const database = await this.#opened?.catch(() => undefined);
    await Promise.all([...this.#lent].map((loginDatabase) => loginDatabase.close(0)));
    await database?.close(0);
  }

  async #open(): Promise<Database> {
    const database = this.#openAs(this.#options);
    const { makeReader, schema, url } = this.#options;
    const excessRights = await excessRightsOf(database);
    if (excessRights === undefined) return database;
    try {
      if (!makeReader) throw tooManyRightsError(schema, excessRights);
      const [name, password] = [`${schema}_console`, randomBytes(24).toString('base64url')];
      await grantReader(database, { role: name, parties: [], password: scramVerifier(password) });
      return this.#openAs({ ...this.#options, url: urlWithLogin(url, { name, password }), urlFile: undefined });
    } finally {
      await database.close();
    }
  }

  #openAs({ url, urlFile, schema, statementTimeoutMs }: ConsoleReadsOptions): Database {
    const applicationName = 'ledger-indexer query-page';
    const limits = {
      statementTimeoutMs,
      maxConnections: connections,
      oneUse: { mostBytes: largestAnswer(getHeapStatistics().heap_size_limit) },
    };
    return openDatabase({ url, urlFile, schema, applicationName, ...limits });
  }
}

/** Describes what the login may do in addition to reading; undefined if it can only read. */
async function excessRightsOf(database: Database): Promise<string | undefined> {
  const { rows } = await database.withClient((client) =>
    client.query<{ name: string; more: string | null }>(
      `select me.rolname::text as name, ${rightsBeyondReading('me.oid', database.schema)} as more
         from pg_roles me where me.rolname = session_user`,
    ),
  );
  const [role] = rows;
  return role?.more === null ? undefined : `"${role?.name ?? ''}" ${role?.more ?? 'is unknown'}`;
}

/**
 * The error if Postgres refused the login of a valid token; undefined for other failures. Every role may change its own
 * password, so a holder of the token can cause this.
 */
function loginError({ name, token, role }: TokenLogin, thrown: unknown): IndexerError | undefined {
  const code = thrown instanceof IndexerError ? thrown.code : undefined;
  if (code !== 'STORE_PASSWORD_REFUSED' && code !== 'STORE_LOGIN_REFUSED') return undefined;
  const isPassword = code === 'STORE_PASSWORD_REFUSED';
  const reason = isPassword
    ? `Postgres refuses the password of "${name}", the login of this token: it was changed, which every holder of the token can do`
    : `Postgres refuses "${name}", the login of this token: it may not log in, or pg_hba.conf does not admit it`;
  const renewRemedy = `run \`ledger-indexer reader-token revoke ${token}\` and \`ledger-indexer reader-token create --role ${role}\`, and give the new token to its users`;
  return new IndexerError(reason, {
    code: 'READER_TOKEN_LOGIN_REFUSED',
    remedy: isPassword ? renewRemedy : `let pg_hba.conf admit "${name}", and run \`alter role "${name}" login\``,
    facts: { token, login: name, role },
    cause: thrown,
  });
}

function tooManyRightsError(schema: string, excessRights: string): IndexerError {
  return new IndexerError(`the query page reads as a login that only reads: ${excessRights}`, {
    code: 'QUERY_REFUSED',
    remedy: `make a login with \`ledger-indexer grant-reader ${schema}_console --password-file FILE\` and name it in INDEXER_QUERY_PAGE_DATABASE_URL`,
  });
}

/**
 * The same URL with another login. `user` and `password` are removed from the query string, where they would take
 * precedence. No URL object is used, because it cannot hold a list of several hosts.
 */
export function urlWithLogin(url: string, { name, password }: Login): string {
  const [, scheme = '', hostsAndDatabase = '', query = ''] =
    /^(\w+:\/\/)(?:[^@/?]*@)?([^?]*)(?:\?(.*))?$/.exec(url) ?? [];
  const keptParameters = query
    .split('&')
    .filter((parameter) => parameter !== '' && !/^(?:user|password)=/.test(parameter));
  const querySuffix = keptParameters.length === 0 ? '' : `?${keptParameters.join('&')}`;
  return `${scheme}${name}:${encodeURIComponent(password)}@${hostsAndDatabase}${querySuffix}`;
}
