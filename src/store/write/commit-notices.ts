/**
 * Tells whoever listens in the database that a checkpoint is committed: `NOTIFY <schema>_offset`, with the checkpoint as payload. Each notice
 * is sent after the commit and on its own. A queue of notices that a listener leaves full refuses the transaction of the notice, so a notice
 * within the batch would stop the writer for as long as that listener likes.
 */
import type { Database } from '../connection/database.ts';

export class CommitNotices {
  readonly #database: Database;
  readonly #channel: string;
  #newest: number | undefined;
  #sending: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#channel = `${database.schema}_offset`;
  }

  /** Tells of a checkpoint that is committed. While one notice is sent, only the newest checkpoint waits. Never rejects. */
  tell(checkpoint: number): Promise<void> {
    this.#newest = checkpoint;
    return (this.#sending ??= this.#send());
  }

  async #send(): Promise<void> {
    while (this.#newest !== undefined) {
      const checkpoint = this.#newest;
      this.#newest = undefined;
      try {
        await this.#notify(checkpoint);
      } catch {
        // Who listens compares the payload with where it was, so that the next notice makes up for this one.
      }
    }
    this.#sending = undefined;
  }

  async #notify(checkpoint: number): Promise<void> {
    await this.#database.withClient(async (client) => {
      try {
        await client.query('select pg_notify($1, $2)', [this.#channel, String(checkpoint)]);
      } catch (thrown) {
        // Moves the end of a full queue on, where whoever kept it full has left: nothing else does so soon.
        await client.query('select pg_notification_queue_usage()');
        throw thrown;
      }
    });
  }
}
