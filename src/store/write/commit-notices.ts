/**
 * Notifies listeners of the database of each committed checkpoint: `NOTIFY <schema>_offset`, with the checkpoint as
 * payload. The notice is sent separately after the commit. If the queue of notices is full, Postgres rejects a
 * transaction with a notice at its commit. A notice in the batch itself would therefore let any login stop the writer.
 */
import { type IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';

/** Called for each notice, with the error if Postgres refused it. */
export type OnNotice = (error?: IndexerError) => void;

export class CommitNotices {
  readonly #database: Database;
  readonly #channel: string;
  readonly #onNotice: OnNotice;
  #newest: number | undefined;
  #sending: Promise<void> | undefined;

  constructor(database: Database, onNotice: OnNotice = () => undefined) {
    this.#database = database;
    this.#onNotice = onNotice;
    this.#channel = `${database.schema}_offset`;
  }

  /**
   * Sends a notice of a committed checkpoint. While a notice is being sent, only the newest checkpoint waits. Never
   * rejects.
   */
  notifyCommit(checkpoint: number): Promise<void> {
    this.#newest = checkpoint;
    return (this.#sending ??= this.#send());
  }

  async #send(): Promise<void> {
    while (this.#newest !== undefined) {
      const checkpoint = this.#newest;
      this.#newest = undefined;
      try {
        await this.#notify(checkpoint);
        this.#onNotice();
      } catch (thrown) {
        // A failed notice is not repeated: a listener compares the payload with the last one, so the next notice is
        // sufficient.
        this.#onNotice(toIndexerError(thrown));
      }
    }
    this.#sending = undefined;
  }

  async #notify(checkpoint: number): Promise<void> {
    await this.#database.withClient(async (client) => {
      try {
        await client.query('select pg_notify($1, $2)', [this.#channel, String(checkpoint)]);
      } catch (thrown) {
        // This call lets Postgres free a full queue once the login that kept it full has left.
        await client.query('select pg_notification_queue_usage()');
        throw thrown;
      }
    });
  }
}
