/** Waits for a checkpoint in the database, using its notifications. */
import { schema, type ChaosDatabase } from '../databases.ts';
import type { IndexerLife } from './indexer-life.ts';
import { pause } from '../../support/wait-for.ts';

/** Interval of checks while no notification arrives. */
const pollIntervalMs = 100;

export class CheckpointWatch implements AsyncDisposable {
  readonly #database: ChaosDatabase;
  #wake: () => void = () => undefined;
  readonly #onNotice = (): void => {
    this.#wake();
  };

  private constructor(database: ChaosDatabase) {
    this.#database = database;
    database.client.on('notification', this.#onNotice);
  }

  static async over(database: ChaosDatabase): Promise<CheckpointWatch> {
    await database.client.query(`listen ${schema}_offset`);
    return new CheckpointWatch(database);
  }

  async checkpoint(): Promise<number> {
    const { rows } = await this.#database.client.query<{ checkpoint: string | null }>(
      `select checkpoint from ${schema}.stream`,
    );
    return Number(rows[0]?.checkpoint ?? -1);
  }

  /**
   * True when the checkpoint is at least `offset`. False after `limitMs`, when `shouldCancel` returns true, or when the
   * indexer has ended.
   */
  async reaches(
    offset: number,
    limitMs: number,
    indexerLife: IndexerLife,
    shouldCancel: () => boolean = () => false,
  ): Promise<boolean> {
    const deadlineMs = performance.now() + limitMs;
    for (;;) {
      const whenChanged = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (shouldCancel()) return false;
      if ((await this.checkpoint()) >= offset) return true;
      if (performance.now() > deadlineMs || indexerLife.ended() !== undefined) return false;
      await Promise.race([whenChanged, pause(pollIntervalMs, undefined, { ref: false })]);
    }
  }

  /** Checks immediately. */
  nudge(): void {
    this.#wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#database.client.off('notification', this.#onNotice);
    await this.#database.client.query('unlisten *');
  }
}
