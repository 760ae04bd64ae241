/**
 * The sink of the pipeline. There is no way to write but `writeBatch` and the seed calls, each one transaction that
 * moves the stream row with the rows. After any error the caller opens a new session: nothing is trusted from memory.
 */
import { hostname } from 'node:os';
import { Batch } from '../model/batch.ts';
import type { Dictionary } from '../model/dictionary.ts';
import { writeRows } from './batch-writer.ts';
import { BinaryCopy } from './copy-binary.ts';
import type { Database } from './database.ts';
import { loadDictionary } from './dictionary-store.ts';
import {
  acquireStream,
  advanceSeed,
  beginSeed,
  moveCheckpoint,
  newestActivation,
  noteParticipant,
  publishSeed,
  type StreamIdentity,
  type StreamState,
  type UpdateMark,
} from './stream-row.ts';

export type SeedOrigin = 'seed' | 'genesis' | 'oldest' | 'offset';

/** One session: valid until the first error. */
export interface StoreSession {
  readonly state: StreamState;
  readonly dictionary: Dictionary;
  /** Notes the participant's id if the stream row has none; call it once the history is proven. */
  noteParticipant(participantId: string): Promise<void>;
  /** A batch that begins after `offset`. */
  newBatch(offset: number): Batch;
  /** Writes the batch and moves the checkpoint from `from`. Resolves to rows written by table. */
  writeBatch(batch: Batch, from: number): Promise<ReadonlyMap<string, number>>;
  beginSeed(offset: number): Promise<void>;
  /** Writes entries; `written` is the count before. */
  writeSeed(batch: Batch, written: number): Promise<ReadonlyMap<string, number>>;
  /** The newest offset at which a contract of the seed became active; undefined without contracts. */
  newestActivation(): Promise<number | undefined>;
  /** `anchor`: an update of the seed by which the history is proven until another one is stored. */
  publishSeed(offset: number, origin: SeedOrigin, anchor?: UpdateMark): Promise<void>;
}

const writer = `${hostname()}:${String(process.pid)}`;

/** Takes over the stream (epoch + 1) and loads what writing needs. */
export async function openSession(database: Database, identity: StreamIdentity): Promise<StoreSession> {
  const { state, dictionary } = await database.transaction(async (client) => ({
    state: await acquireStream(client, identity, writer),
    dictionary: await loadDictionary(client),
  }));
  return new Session(database, state, dictionary);
}

class Session implements StoreSession {
  readonly state: StreamState;
  readonly #database: Database;
  /** One is enough: a session writes one batch after the other. */
  readonly #encoder = new BinaryCopy();
  #dictionary: Dictionary;

  constructor(database: Database, state: StreamState, dictionary: Dictionary) {
    this.#database = database;
    this.state = state;
    this.#dictionary = dictionary;
  }

  get dictionary(): Dictionary {
    return this.#dictionary;
  }

  async noteParticipant(participantId: string): Promise<void> {
    if (this.state.participantId !== null) return;
    await this.#database.transaction((client) => noteParticipant(client, this.state.epoch, participantId));
  }

  newBatch(offset: number) {
    return new Batch(this.#dictionary, this.state.epoch, offset);
  }

  writeBatch(batch: Batch, from: number): Promise<ReadonlyMap<string, number>> {
    const added = this.#dictionary.takeAdded();
    const { lastUpdate, recordTimes, offset: to } = batch;
    return this.#database.transaction(async (client) => {
      await moveCheckpoint(client, { epoch: this.state.epoch, from, to, lastUpdate, recordTimes });
      return writeRows(client, this.#encoder, batch, added);
    });
  }

  async beginSeed(offset: number): Promise<void> {
    await this.#database.transaction(async (client) => {
      await beginSeed(client, this.state.epoch, offset);
      this.#dictionary = await loadDictionary(client);
    });
  }

  writeSeed(batch: Batch, written: number): Promise<ReadonlyMap<string, number>> {
    const added = this.#dictionary.takeAdded();
    return this.#database.transaction(async (client) => {
      await advanceSeed(client, this.state.epoch, written, batch.entries, batch.continuationToken);
      return writeRows(client, this.#encoder, batch, added);
    });
  }

  newestActivation(): Promise<number | undefined> {
    return this.#database.withClient(newestActivation);
  }

  publishSeed(offset: number, origin: SeedOrigin, anchor?: UpdateMark): Promise<void> {
    return this.#database.transaction((client) => publishSeed(client, this.state.epoch, offset, origin, anchor));
  }
}
