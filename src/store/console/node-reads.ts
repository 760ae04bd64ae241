/**
 * Reads of the query page for users of the participant. A statement runs on a connection of its own, with the login for
 * all of these users, and its transaction gets the rights of one user. The login itself sees no row.
 */
import { getHeapStatistics } from 'node:v8';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { NodeRights } from '../../model/push/node-rights.ts';
import { openDatabase, type Database } from '../connection/database.ts';
import { readExplained } from '../reads/explain.ts';
import { giveRightsTo } from '../reads/node-sessions.ts';
import { largestAnswer, urlWithLogin, type Login } from './console-reads.ts';
import { maxExplainedRows, readCalls, type ReadCalls } from './read-calls.ts';

export interface NodeReadsOptions {
  /** URL of the server to which rights are written. A standby would see them late. */
  readonly url: string;
  readonly schema: string;
  /** The login of `grant-reader --node-tokens`. */
  readonly login: Login;
  /** Time limit of one statement, milliseconds. */
  readonly statementTimeoutMs: number;
  /** For rights of transactions; its role may write. */
  readonly writer: Database;
  /** For statements of this program; its role may switch to the role of the login. */
  readonly pages: Database;
}

export interface NodeReads {
  of(rights: NodeRights): ReadCalls;
  /** Closes every connection. Never rejects. */
  close(): Promise<void>;
}

/** Maximum number of connections of one request: for its statement, and to cancel it. */
const connections = 2;

/** Prepares the reads. Connects only for a request. */
export function openNodeReads(options: NodeReadsOptions): NodeReads {
  const { schema, login, writer, pages } = options;
  const lent = new Set<Database>();
  let isClosed = false;
  const withDatabase = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    if (isClosed) throw new IndexerError('the indexer is stopping', { code: 'STORE_CLOSED' });
    const database = openOnce(options);
    lent.add(database);
    try {
      return await work(database);
    } catch (thrown) {
      throw loginError(login, thrown) ?? thrown;
    } finally {
      lent.delete(database);
      await database.close(0);
    }
  };
  return {
    of: (rights) =>
      readCalls({
        schema,
        withDatabase,
        admit: (client) => giveRightsTo(client, writer, rights),
        explain: (id) => readExplained(pages, { id, as: null, most: maxExplainedRows }, { role: login.name, rights }),
      }),
    close: async () => {
      isClosed = true;
      await Promise.all([...lent].map((database) => database.close(0)));
    },
  };
}

function openOnce({ url, login, schema, statementTimeoutMs }: NodeReadsOptions): Database {
  return openDatabase({
    url: urlWithLogin(url, login),
    schema,
    statementTimeoutMs,
    applicationName: 'ledger-indexer query-page',
    maxConnections: connections,
    oneUse: { mostBytes: largestAnswer(getHeapStatistics().heap_size_limit) },
  });
}

/** The error if Postgres refused the login; undefined for other failures. */
function loginError({ name }: Login, thrown: unknown): IndexerError | undefined {
  const code = thrown instanceof IndexerError ? thrown.code : undefined;
  if (code !== 'STORE_PASSWORD_REFUSED' && code !== 'STORE_LOGIN_REFUSED') return undefined;
  return new IndexerError(`Postgres refuses "${name}", the login for users of the participant`, {
    code: 'NODE_READER_REFUSED',
    remedy: `run \`ledger-indexer grant-reader ${name} --node-tokens --password-file FILE\` with the password of INDEXER_NODE_TOKENS_PASSWORD, and let pg_hba.conf admit "${name}"`,
    cause: thrown,
  });
}
