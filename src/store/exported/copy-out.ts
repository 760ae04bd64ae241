/**
 * What a COPY sends, as it comes. The driver has no such query of its own: it hands the messages to whoever is at work on
 * the connection. Source: Postgres documentation, "COPY Operations".
 */
import type { ClientBase, Connection, Submittable } from 'pg';
import { toStoreError } from '../connection/store-error.ts';

/** So much may wait to be taken before the server is let wait, bytes. */
const mostWaiting = 512 * 1024;
/** Messages are gathered in pieces of this size; a larger row makes a larger piece. */
const pieceBytes = 128 * 1024;
/** The server decides how long it may take. */
const limitMs = 7 * 24 * 60 * 60_000;

/**
 * The data of `copy (…) to stdout`, in pieces that nobody else uses again. To be read to its end: leaving the loop early closes the
 * connection, because the server has no other way to stop sending.
 * @throws IndexerError STORE_ errors
 */
export async function* copyOut(client: ClientBase, sql: string): AsyncGenerator<Buffer> {
  const query = new CopyOutQuery(sql);
  client.query(query);
  try {
    for (;;) {
      const pieces = await query.next();
      if (pieces === undefined) return;
      yield* pieces;
    }
  } finally {
    query.cut();
  }
}

class CopyOutQuery implements Submittable {
  /** The driver wraps it to stop its clock. */
  callback: (error: Error | null) => void;
  readonly query_timeout = limitMs;
  readonly #sql: string;
  #connection: Connection | undefined;
  #pieces: Buffer[] = [];
  #piece = Buffer.allocUnsafe(pieceBytes);
  #used = 0;
  /** So much of what is used was handed over. */
  #given = 0;
  #waiting = 0;
  #failure: Error | undefined;
  #done = false;
  #wake: () => void = () => undefined;

  constructor(sql: string) {
    this.#sql = sql;
    this.callback = (error) => {
      if (error !== null) this.#failure ??= toStoreError(error);
      this.#done = true;
      this.#wake();
    };
  }

  /** What has come since, at least something; undefined at the end. */
  async next(): Promise<readonly Buffer[] | undefined> {
    while (this.#waiting === 0 && !this.#done) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#waiting === 0) return undefined;
    const pieces = this.#pieces;
    this.#cut();
    this.#pieces = [];
    this.#waiting = 0;
    this.#connection?.stream.resume();
    return pieces;
  }

  /** Closes the connection, unless the server has sent everything. */
  cut(): void {
    if (!this.#done) this.#connection?.stream.destroy();
  }

  submit(connection: Connection): void {
    this.#connection = connection;
    connection.query(this.#sql);
  }

  /** The driver reuses the memory of a message: what is in it is copied. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.#used + chunk.length > this.#piece.length) {
      this.#cut();
      this.#piece = Buffer.allocUnsafe(Math.max(pieceBytes, chunk.length));
      this.#used = 0;
      this.#given = 0;
    }
    chunk.copy(this.#piece, this.#used);
    this.#used += chunk.length;
    this.#waiting += chunk.length;
    if (this.#waiting > mostWaiting) this.#connection?.stream.pause();
    this.#wake();
  }

  /** What came since; the rest of the memory is for what comes next. */
  #cut(): void {
    if (this.#used > this.#given) this.#pieces.push(this.#piece.subarray(this.#given, this.#used));
    this.#given = this.#used;
  }

  handleError(thrown: Error): void {
    this.callback(thrown);
  }

  handleReadyForQuery(): void {
    this.callback(null);
  }

  handleCommandComplete(): void {}
  handleCopyInResponse(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
}
