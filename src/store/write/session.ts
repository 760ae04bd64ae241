/**
 * Write sessions of the pipeline's sink. Every write is one transaction that moves the stream row together with the
 * rows, or stores something in the stream row. After any error the caller opens a new session, so that no stale memory
 * is used.
 */
import { hostname } from 'node:os';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { Batch } from '../../model/batch.ts';
import type { Dictionary } from '../../model/dictionary.ts';
import { Lifetimes } from '../../model/lifetimes.ts';
import type { Redactions } from '../../model/redactions.ts';
import type {
  ListSource,
  QuarantinedUpdate,
  SeedOrigin,
  StreamIdentity,
  StreamState,
  UpdateMark,
  RequestedInterface,
} from '../../model/stream.ts';
import type { ColumnTypes } from '../../model/tables.ts';
import type { StoredUpdate } from '../../model/update.ts';
import { writeBatch } from './batch-writer.ts';
import { CommitNotices, type OnNotice } from './commit-notices.ts';
import { StoreCompletions } from './completions.ts';
import { storeFilterInterfaces, readRequestedInterfaces } from './filter-interfaces.ts';
import { BinaryTables } from './copy-binary.ts';
import type { Database } from '../connection/database.ts';
import { loadDictionary } from './dictionary-store.ts';
import { explainEntry, explainRefusal } from './duplicate.ts';
import { runInTransaction, type Statement } from '../connection/round-trip.ts';
import { currentParticipant, withParticipantMark } from './participants.ts';
import { isStored, storeLate } from './late-update.ts';
import { quarantineStatement } from './quarantine.ts';
import { storeLedgerFacts } from '../reads/ledger-facts.ts';
import { storedColumnTypes } from '../schema/exercise-json.ts';
import { loadRedactions } from '../retention/redaction-store.ts';
import {
  acquireStream,
  beginSeed,
  checkpointStatement,
  newestActivation,
  storeParticipantId,
  publishSeed,
  seedStatement,
} from './stream-row.ts';

/** A batch whose rows are encoded for COPY as they are added. */
export type StoreBatch = Batch<BinaryTables>;

const writer = `${hostname()}:${String(process.pid)}`;

export interface SessionOptions {
  /** Whether listeners of the database are notified of checkpoints. */
  readonly notify: boolean;
  readonly onNotice?: OnNotice | undefined;
  /** Throws if this process may no longer write; called before every batch. */
  readonly assertHeld?: () => void;
  /**
   * Label of the database that will hand over to this one, see `databaseLabel`. Indexers omit it: a storage that is
   * being filled refuses them.
   */
  readonly filledFrom?: string | undefined;
}

/** Takes over the stream (raises the epoch) and loads the data that writing needs. */
export async function openSession(
  database: Database,
  identity: StreamIdentity,
  options: SessionOptions = { notify: true },
): Promise<StoreSession> {
  options.assertHeld?.();
  const sessionData = await database.transaction(async (client) => ({
    state: withParticipantMark(
      await acquireStream(client, identity, writer, options.filledFrom),
      await currentParticipant(client),
    ),
    dictionary: await loadDictionary(client),
    redactions: await loadRedactions(client),
    columnTypes: await storedColumnTypes(client),
    interfaces: await readRequestedInterfaces(client),
  }));
  return new StoreSession(database, sessionData, options);
}

/** Data loaded from the database at the start of a session. */
interface SessionData {
  readonly state: StreamState;
  readonly dictionary: Dictionary;
  readonly redactions: Redactions | undefined;
  readonly columnTypes: ColumnTypes;
  readonly interfaces: readonly RequestedInterface[];
}

/** A session is valid until its first error. */
export class StoreSession {
  readonly state: StreamState;
  readonly interfaces: readonly RequestedInterface[];
  readonly completions: StoreCompletions;
  readonly #database: Database;
  /** Memory of written batches that new batches reuse. */
  readonly #spare: Pick<StoreBatch, 'sink' | 'lifetimes'>[] = [];
  readonly #options: SessionOptions;
  readonly #notices: CommitNotices | undefined;
  readonly #redactions: Redactions | undefined;
  readonly #columnTypes: ColumnTypes;
  #dictionary: Dictionary;

  constructor(database: Database, sessionData: SessionData, options: SessionOptions) {
    const { state, dictionary, redactions, columnTypes, interfaces } = sessionData;
    this.#database = database;
    this.#options = options;
    this.#notices = options.notify ? new CommitNotices(database, options.onNotice) : undefined;
    this.completions = new StoreCompletions(database, state.epoch, options.assertHeld);
    this.#redactions = redactions;
    this.#columnTypes = columnTypes;
    this.state = state;
    this.interfaces = interfaces;
    this.#dictionary = dictionary;
  }

  get dictionary(): Dictionary {
    return this.#dictionary;
  }

  /** Stores the participant's id if the stream row has none. Call it once the history is confirmed. */
  async noteParticipant(participantId: string): Promise<void> {
    if (this.state.participantId !== null) return;
    await this.#database.transaction((client) => storeParticipantId(client, this.state.epoch, participantId));
  }

  /** Stores which interfaces are requested from now on. */
  async noteInterfaces(interfaces: readonly RequestedInterface[]): Promise<void> {
    await this.#database.transaction((client) => storeFilterInterfaces(client, this.state.epoch, interfaces));
  }

  /** A batch that begins after `offset`. It reuses the memory of a written batch if there is one. */
  newBatch(offset: number): StoreBatch {
    const { sink, lifetimes } = this.#spare.pop() ?? {
      sink: new BinaryTables(this.#columnTypes),
      lifetimes: new Lifetimes(),
    };
    const parts = { redactions: this.#redactions, lifetimes };
    return new Batch(sink, this.#dictionary, this.state.epoch, offset, parts);
  }

  /**
   * Writes the batch and moves the checkpoint from `from`. Resolves to the number of rows written, by table.
   * @param predecessor the write of the previous batch, while it is running; this batch commits after it or not at all
   */
  async writeBatch(
    batch: StoreBatch,
    from: number,
    predecessor?: Promise<unknown>,
  ): Promise<ReadonlyMap<string, number>> {
    batch.seal();
    const { lastUpdate, recordTimes, offset: to } = batch;
    const move = { epoch: this.state.epoch, from, to, lastUpdate, recordTimes };
    const rows = await this.#write(batch, predecessor, checkpointStatement(move));
    void this.#notices?.notifyCommit(to);
    return rows;
  }

  /** Explains why an update that was written alone was refused, and adds a remedy. */
  explained(error: IndexerError, offset: number): Promise<IndexerError> {
    return explainRefusal(this.#database, error, offset);
  }

  /**
   * Quarantines an update that cannot be stored, in its original form, and moves the checkpoint from `from` past it.
   */
  async quarantine(update: QuarantinedUpdate, from: number): Promise<void> {
    const move = { epoch: this.state.epoch, from, to: update.offset, lastUpdate: undefined, recordTimes: new Map() };
    const statements = [checkpointStatement(move), quarantineStatement(update, this.state.epoch)];
    await this.#database.withClient((client) => runInTransaction(client, statements));
    void this.#notices?.notifyCommit(update.offset);
  }

  /**
   * Stores an update that came after later ones, if it is missing. The session ends afterwards.
   * @param isOnLedger called first; resolves to whether the ledger has this update at this offset
   */
  async storeLate(update: StoredUpdate, isOnLedger: () => Promise<boolean>): Promise<boolean> {
    if ((await isStored(this.#database, update.offset)) || !(await isOnLedger())) return false;
    await storeLate(this.#database, update, this.state.epoch);
    return true;
  }

  /**
   * Begins a seed at `offset`. Rows of an earlier seed are removed, including names.
   * @param source release that returns the list of active contracts; undefined if there is no list
   */
  async beginSeed(offset: number, source?: ListSource): Promise<void> {
    await this.#database.transaction(async (client) => {
      await beginSeed(client, this.state.epoch, offset, source);
      this.#dictionary = await loadDictionary(client);
    });
  }

  /**
   * Writes entries of the seed.
   * @param writtenCount number of entries written before
   */
  writeSeed(
    batch: StoreBatch,
    writtenCount: number,
    predecessor?: Promise<unknown>,
  ): Promise<ReadonlyMap<string, number>> {
    const { entries, continuationToken } = batch;
    const advance = seedStatement(this.state.epoch, writtenCount, entries, continuationToken);
    return this.#write(batch, predecessor, advance);
  }

  async #write(
    batch: StoreBatch,
    predecessor: Promise<unknown> | undefined,
    advance: Statement,
  ): Promise<ReadonlyMap<string, number>> {
    this.#options.assertHeld?.();
    const addedEntries = this.#dictionary.takeAdded();
    const rows = await writeBatch(this.#database, { batch, added: addedEntries, predecessor, advance });
    const { sink, lifetimes } = batch;
    sink.clear();
    lifetimes.clear();
    this.#spare.push({ sink, lifetimes });
    return rows;
  }

  /** Explains why an entry of the seed that was written alone was refused, and adds a remedy. */
  explainedEntry(error: IndexerError): Promise<IndexerError> {
    return explainEntry(this.#database, error);
  }

  /** The newest offset at which a contract of the seed became active; undefined if the seed has no contracts. */
  newestActivation(): Promise<number | undefined> {
    return this.#database.withClient(newestActivation);
  }

  /**
   * Publishes the seed.
   * @param anchorMark an update up to `offset` that is used to compare histories until another one is stored
   */
  async publishSeed(offset: number, origin: SeedOrigin, anchorMark?: UpdateMark): Promise<void> {
    await this.#database.transaction((client) => publishSeed(client, this.state.epoch, offset, origin, anchorMark));
    void this.#notices?.notifyCommit(offset);
  }

  /**
   * Stores the polled ledger end and, if reported, the offset up to which the participant pruned. A fenced session
   * changes nothing.
   */
  noteLedger(ledgerEnd: number, participantPrunedOffset: number | undefined): Promise<void> {
    return storeLedgerFacts(this.#database, this.state.epoch, ledgerEnd, participantPrunedOffset);
  }
}
