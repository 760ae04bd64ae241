/**
 * Sends several statements in one round trip: all messages are sent at once, including COPY data, and end with one
 * Sync. Without a BEGIN, the server runs the statements as one transaction, which commits at the Sync. With Citus, each
 * worker would then commit each statement separately, so writers send BEGIN and COMMIT. If one statement fails, all
 * fail, because Postgres skips everything up to the Sync. Source: Postgres documentation, "Extended Query",
 * "Pipelining", "COPY Operations" and "Message Formats".
 */
import type { ClientBase, Connection, Submittable } from 'pg';
import { ByteWriter } from './byte-writer.ts';
import { rollBack } from './database.ts';
import type { QueryOp } from './query-timing.ts';
import { toStoreError } from './store-error.ts';

/** Writes a value in the binary format of its type, without its length. Called when the statement is sent. */
export type EncodeBytes = (bytes: ByteWriter) => void;

/** A string is sent as text, a number as its decimal text. */
export type Parameter = string | number | EncodeBytes | null;

export interface Statement {
  /** The statement is prepared under this name once per connection. Each name has exactly one text. */
  readonly name: string;
  readonly text: string;
  readonly values?: readonly Parameter[];
  /** Complete CopyData messages for a COPY. */
  readonly copy?: Buffer;
  /**
   * Time limit of this statement if it is longer than the usual one, milliseconds. The server has a limit of its own,
   * which must be raised too.
   */
  readonly limitMs?: number;
  /** Returns the error for a failure that SQLSTATE alone does not explain; undefined: use the error of the SQLSTATE. */
  readonly explain?: (sqlstate: string) => Error | undefined;
}

const copyDone = Buffer.from([0x63, 0, 0, 0, 4]);
const execute = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
const bindCode = 'B'.charCodeAt(0);

interface ConnectionState {
  /** Names of the statements that are prepared on this connection. */
  readonly prepared: Set<string>;
  /**
   * The bytes that are being sent. The server has read them when it responds, so the next round trip may reuse the
   * memory.
   */
  readonly bytes: ByteWriter;
}
const connectionStates = new WeakMap<Connection, ConnectionState>();

/**
 * Resolves when all statements are done (and, without a BEGIN, committed). The result has the number of rows that each
 * statement affected. Values and COPY data must not change until then. After a failure, use the client for ROLLBACK
 * only.
 * @throws IndexerError
 */
export function runInOneRoundTrip(client: ClientBase, statements: readonly Statement[]): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    client.query(
      new PipelinedStatements(statements, (error, rows) => {
        if (error === null) resolve(rows);
        else reject(error);
      }),
    );
  });
}

export const beginStatement: Statement = { name: 'begin', text: 'begin' };
export const commit: Statement = { name: 'commit', text: 'commit' };

/** Runs statements as `runInOneRoundTrip` does, in one transaction with or without Citus. */
export async function runInTransaction(client: ClientBase, statements: readonly Statement[]): Promise<void> {
  try {
    await runInOneRoundTrip(client, [beginStatement, ...statements, commit]);
  } catch (thrown) {
    await rollBack(client);
    throw thrown;
  }
}

type OnDone = (error: Error | null, rows: readonly number[]) => void;

/** A query object for the driver, which calls its methods while it is the active query of the connection. */
class PipelinedStatements implements Submittable {
  /** The driver wraps this callback to stop its timeout timer. */
  callback: OnDone;
  /** How long the driver waits, milliseconds; undefined: the limit of all queries. */
  readonly query_timeout: number | undefined;
  readonly #statements: readonly Statement[];
  readonly #rows: number[] = [];

  constructor(statements: readonly Statement[], onDone: OnDone) {
    this.#statements = statements;
    this.callback = onDone;
    this.query_timeout = statements.findLast(({ limitMs }) => limitMs !== undefined)?.limitMs;
  }

  /** The purpose of the query, for query timing. */
  get op(): QueryOp {
    const [isBegun, commits] = [this.#statements[0] === beginStatement, this.#statements.at(-1) === commit];
    if (isBegun === commits) return 'batch';
    return isBegun ? 'copy' : 'finish';
  }

  submit(connection: Connection): void {
    const { prepared: preparedNames, bytes } = connectionStateOf(connection);
    const { stream } = connection;
    bytes.clear();
    stream.cork();
    for (const { name, text, values = [], copy } of this.#statements) {
      if (!preparedNames.has(name)) connection.parse({ name, text, types: [] }, true);
      preparedNames.add(name);
      const start = bytes.length;
      bind(bytes, name, values);
      bytes.raw(execute);
      stream.write(bytes.written().subarray(start));
      if (copy === undefined) continue;
      stream.write(copy);
      stream.write(copyDone);
    }
    connection.sync();
    stream.uncork();
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    // The text is for example "UPDATE 3", "INSERT 0 3", "COPY 3" or "BEGIN".
    this.#rows.push(Number(/\d+$/.exec(text)?.[0] ?? 0));
  }

  handleError(thrown: Error): void {
    const sqlstate: unknown = Reflect.get(thrown, 'code');
    const failed = this.#statements[this.#rows.length];
    const explainedError = typeof sqlstate === 'string' ? failed?.explain?.(sqlstate) : undefined;
    this.callback(explainedError ?? toStoreError(thrown), []);
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#rows);
  }

  // These messages need no handling, because the COPY data was already sent and no statement returns rows.
  handleCopyInResponse(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
}

function connectionStateOf(connection: Connection): ConnectionState {
  let connectionState = connectionStates.get(connection);
  if (connectionState === undefined)
    connectionStates.set(connection, (connectionState = { prepared: new Set(), bytes: new ByteWriter() }));
  return connectionState;
}

/**
 * Writes the message Bind. The driver's own function copies each value several times and allocates memory for each
 * copy.
 */
function bind(bytes: ByteWriter, statement: string, values: readonly Parameter[]): void {
  bytes.byte(bindCode);
  const start = bytes.length;
  bytes.int32(0);
  bytes.name('');
  bytes.name(statement);
  bytes.int16(values.length);
  for (const value of values) bytes.int16(typeof value === 'function' ? 1 : 0);
  bytes.int16(values.length);
  for (const value of values) {
    if (value === null) bytes.int32(-1);
    else if (typeof value === 'function') encode(bytes, value);
    else bytes.text(String(value));
  }
  // Requests all results as text.
  bytes.int16(0);
  bytes.int32At(start, bytes.length - start);
}

function encode(bytes: ByteWriter, write: EncodeBytes): void {
  const start = bytes.length;
  bytes.int32(0);
  write(bytes);
  bytes.int32At(start, bytes.length - start - 4);
}
