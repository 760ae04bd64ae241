/**
 * Reads the data of a COPY to stdout as it arrives. The driver does not support this, but it passes the messages to the
 * active query object of the connection. Source: Postgres documentation, "COPY Operations".
 */
import type { ClientBase, Connection, Submittable } from 'pg';
import { toStoreError } from '../connection/store-error.ts';

/** Maximum unread bytes; above it, reading from the server pauses. */
const maxBufferedBytes = 512 * 1024;
/** Messages are collected in pieces of this size. If a row is larger, its piece is larger. */
const chunkBytes = 128 * 1024;
/** Much longer than the server's timeout, so that the server's timeout applies first. */
const limitMs = 7 * 24 * 60 * 60_000;

/**
 * The data of `copy (…) to stdout`, in pieces whose memory is not reused. Read the data to its end. If the loop ends
 * early, the connection is closed, because the server cannot be stopped in any other way.
 * @throws IndexerError STORE_ errors
 */
export async function* copyOut(client: ClientBase, sql: string): AsyncGenerator<Buffer> {
  const query = new CopyOutQuery(sql);
  client.query(query);
  try {
    for (;;) {
      const chunks = await query.next();
      if (chunks === undefined) return;
      yield* chunks;
    }
  } finally {
    query.cut();
  }
}

class CopyOutQuery implements Submittable {
  /** The driver wraps this callback to stop its timeout timer. */
  callback: (error: Error | null) => void;
  readonly query_timeout = limitMs;
  readonly #sql: string;
  #connection: Connection | undefined;
  #pieces: Buffer[] = [];
  #piece = Buffer.allocUnsafe(chunkBytes);
  #used = 0;
  /** Number of bytes of the current memory block that were already returned to the caller. */
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

  /** Data received since the last call, at least one piece; undefined at the end of the data. */
  async next(): Promise<readonly Buffer[] | undefined> {
    while (this.#waiting === 0 && !this.#done) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#waiting === 0) return undefined;
    const chunks = this.#pieces;
    this.#cut();
    this.#pieces = [];
    this.#waiting = 0;
    this.#connection?.stream.resume();
    return chunks;
  }

  /** Closes the connection, unless the server has sent everything. */
  cut(): void {
    if (!this.#done) this.#connection?.stream.destroy();
  }

  submit(connection: Connection): void {
    this.#connection = connection;
    connection.query(this.#sql);
  }

  /** The driver reuses the memory of a message, so its contents are copied. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.#used + chunk.length > this.#piece.length) {
      this.#cut();
      this.#piece = Buffer.allocUnsafe(Math.max(chunkBytes, chunk.length));
      this.#used = 0;
      this.#given = 0;
    }
    chunk.copy(this.#piece, this.#used);
    this.#used += chunk.length;
    this.#waiting += chunk.length;
    if (this.#waiting > maxBufferedBytes) this.#connection?.stream.pause();
    this.#wake();
  }

  /** Queues the data received so far. The rest of the memory block is used for later data. */
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
