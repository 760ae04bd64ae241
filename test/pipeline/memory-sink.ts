/**
 * A sink without a database. It keeps the commits of its sessions, has the fence of a real sink, and fails as a test
 * configures it.
 */
import type { PackageModel } from '../../src/daml/package-model.ts';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import type { ListSource } from '../../src/model/stream.ts';
import { Batch } from '../../src/model/batch.ts';
import { Dictionary } from '../../src/model/dictionary.ts';
import type {
  ContractMark,
  LockHolder,
  PackageState,
  QuarantinedUpdate,
  SeedOrigin,
  StreamIdentity,
  StreamState,
  UpdateMark,
  RequestedInterface,
  Job,
} from '../../src/model/stream.ts';
import { tables, type Row, type RowSink, type TableName } from '../../src/model/tables.ts';
import type { StoredUpdate } from '../../src/model/update.ts';
import type { VerifiedFacts } from '../../src/pipeline/ports/observer.ts';
import type { CompletionWriter, Sink, WriterSession, SyncedViews, WriterLock } from '../../src/pipeline/ports/sink.ts';
import { deferred } from '../support/deferred.ts';
import { copyValue } from '../support/wire/decode.ts';

/** A commit: the checkpoint before and after it, and its number of updates of each kind. */
export interface Commit {
  readonly from: number;
  readonly to: number;
  readonly updates: Readonly<Record<string, number>>;
}

/** Operations that can be made to fail. */
export type Act =
  | Exclude<keyof Sink, 'marks' | 'packages' | 'filterExtension'>
  | Exclude<keyof WriterSession, 'state' | 'completions' | 'newBatch' | 'explained' | 'explainedEntry'>
  | keyof Sink['packages'];

type StoredState = { -readonly [Fact in keyof StreamState]: StreamState[Fact] };

const emptyNames = { templates: [], choices: [], synchronizers: [], implementations: [] };
const holder: LockHolder = { pid: 1, role: 'writer', application: 'test', address: null, since: null };

class Rows implements RowSink {
  readonly tables = new Map<TableName, Row[]>();

  push(table: TableName, row: Row): void {
    // Copies the row, because frames are released before the rows are read.
    this.tables.set(table, [...(this.tables.get(table) ?? []), copyValue(row)]);
  }

  /** The values of some columns, row by row. */
  of(table: TableName, ...columns: readonly string[]): readonly Row[] {
    const columnIndexes = columns.map((column) => Object.keys(tables[table]).indexOf(column));
    return (this.tables.get(table) ?? []).map((row) => columnIndexes.map((index) => row[index] ?? null));
  }
}

export class MemorySink implements Sink {
  /** The stored state of the stream. */
  readonly stored: StoredState = {
    epoch: 0,
    participantId: null,
    seedOffset: null,
    seeded: false,
    seedToken: null,
    seedContracts: 0,
    seedRelease: null,
    seedHasInFlight: null,
    checkpoint: null,
    lastUpdate: undefined,
  };
  /** Commits in order. */
  readonly commits: Commit[] = [];
  /** Quarantined updates, by offset. */
  readonly setAside: number[] = [];
  /** Late updates that were offered to the sink, by offset. */
  readonly late: number[] = [];
  /** All stored updates, in order. */
  updates: UpdateMark[] = [];
  /** Contracts of the seed, in the order in which they were written. */
  seedEntries: ContractMark[] = [];
  /** Offset and origin of each published seed. */
  readonly published: { readonly offset: number; readonly origin: SeedOrigin; readonly anchor?: UpdateMark }[] = [];
  readonly ledgerFacts: { readonly ledgerEnd: number; readonly pruned: number | undefined }[] = [];
  /** Whether another process has the writer lock. */
  occupied = false;
  /** Offset at which the range in force begins. */
  begin = 0;
  activeContracts: readonly ContractMark[] = [];
  requestedInterfaces: readonly RequestedInterface[] = [];
  packageState: PackageState = { missing: [], named: [], templates: 0 };
  readonly models: PackageModel[] = [];
  views: SyncedViews = { made: [], failed: [] };
  verified: readonly VerifiedFacts[] = [];
  /**
   * Called before each operation with the number of its calls, including the current one. An error that it throws is
   * the failure.
   */
  before: (sinkCall: Act, count: number, batch?: Batch) => Promise<void> | void = () => undefined;
  readonly #counts = new Map<Act, number>();
  #identity: StreamIdentity | undefined;
  #lost: ((reason: Error) => void) | undefined;

  readonly marks: Sink['marks'] = {
    checkpoint: () => Promise.resolve(this.stored.seeded ? this.stored.checkpoint : null),
    newest: (lowerBound, untilOffset) =>
      Promise.resolve(this.updates.findLast(({ offset }) => offset > lowerBound && offset <= untilOffset)),
    rangeBegin: () => Promise.resolve(this.begin),
    historyBegin: () => Promise.resolve(this.begin),
    isQuarantined: (offset) => Promise.resolve([...this.setAside].includes(offset)),
    firstUnknown: (offsets) => {
      const knownOffsets = new Set([...this.updates.map(({ offset }) => offset), ...this.setAside]);
      return Promise.resolve(offsets.find((offset) => !knownOffsets.has(offset)));
    },
    contracts: (limit) => Promise.resolve(this.activeContracts.slice(0, limit)),
    standing: () => Promise.resolve(''),
  };

  /** The tests request no filter extension. */
  readonly filterExtension: Sink['filterExtension'] = {
    filter: () => Promise.resolve(undefined),
    due: () => Promise.resolve(undefined),
    assertAllowed: () => Promise.resolve(),
    note: () => Promise.resolve(true),
    set: () => Promise.resolve(),
    tidy: () => Promise.resolve(),
  };

  readonly earlier: Sink['earlier'] = {
    due: () => Promise.resolve(undefined),
    note: () => Promise.resolve(true),
  };

  readonly packages: Sink['packages'] = {
    state: async () => {
      await this.act('state');
      return this.packageState;
    },
    all: async () => {
      await this.act('all');
      return [...this.models];
    },
    store: async (model) => {
      await this.act('store');
      this.models.push(model);
      const { missing: missingPackages, named: namedPackages, templates } = this.packageState;
      const otherIds = missingPackages.filter((id) => id !== model.packageId);
      if (otherIds.length === missingPackages.length) return;
      this.packageState = {
        missing: otherIds,
        named: [...new Set([...namedPackages, model.name])].toSorted(),
        templates,
      };
    },
    refreshOmittedFields: () => this.act('refreshOmittedFields'),
    syncViews: async () => {
      await this.act('syncViews');
      return this.views;
    },
  };

  /** The number of calls of an operation, including failed calls. */
  count(sinkCall: Act): number {
    return this.#counts.get(sinkCall) ?? 0;
  }

  async act(sinkCall: Act, batch?: Batch): Promise<void> {
    const count = this.count(sinkCall) + 1;
    this.#counts.set(sinkCall, count);
    await this.before(sinkCall, count, batch);
  }

  prepare(): Promise<void> {
    return this.act('prepare');
  }

  /** Whether this process has the writer lock. */
  get held(): boolean {
    return this.#lost !== undefined;
  }

  async tryLock(): Promise<WriterLock | undefined> {
    await this.act('tryLock');
    if (this.occupied || this.held) return undefined;
    const lostLock = deferred<never>();
    lostLock.promise.catch(() => undefined);
    this.#lost = lostLock.reject;
    const release = (): Promise<void> => {
      this.#lost = undefined;
      return Promise.resolve();
    };
    return { lost: lostLock.promise, release };
  }

  /** Gives the writer lock to another process. */
  loseLock(): void {
    const lostLock = this.#lost;
    this.#lost = undefined;
    this.occupied = true;
    lostLock?.(new IndexerError('the lock is lost', { code: 'STORE_LOCK_LOST' }));
  }

  async lockHolder(): Promise<LockHolder | undefined> {
    await this.act('lockHolder');
    return this.occupied || this.held ? holder : undefined;
  }

  async openSession(identity: StreamIdentity): Promise<WriterSession> {
    await this.act('openSession');
    if (!this.held) throw new IndexerError('the writer lock is not held', { code: 'STORE_LOCK_LOST' });
    const { participantId } = this.stored;
    if (participantId !== null && identity.participantId !== undefined && participantId !== identity.participantId) {
      throw new IndexerError('another participant', { code: 'PARTICIPANT_CHANGED' });
    }
    if (this.#identity !== undefined && this.#identity.filterHash !== identity.filterHash) {
      throw new IndexerError('another filter', { code: 'FILTER_CHANGED' });
    }
    this.#identity = identity;
    return this.takeOver();
  }

  /** Begins the next session, of any writer. */
  takeOver(): WriterSession {
    this.stored.epoch += 1;
    return new MemorySession(this);
  }

  jobs(): Promise<readonly Job[]> {
    return Promise.resolve([]);
  }

  async verifications(): Promise<readonly VerifiedFacts[]> {
    await this.act('verifications');
    return this.verified;
  }

  async unhostedContracts(): Promise<number> {
    await this.act('unhostedContracts');
    return 0;
  }
}

/** A write waits for the previous one, as in Postgres, and fails if that one fails. */
class MemorySession implements WriterSession {
  readonly state: StreamState;
  readonly interfaces: readonly RequestedInterface[];
  /** Completions are tested with Postgres. */
  readonly completions: CompletionWriter = { open: unexpected, write: unexpected, skip: unexpected };
  readonly #sink: MemorySink;
  readonly #dictionary = new Dictionary(emptyNames);

  constructor(sink: MemorySink) {
    this.#sink = sink;
    this.state = { ...sink.stored };
    this.interfaces = sink.requestedInterfaces;
  }

  async noteInterfaces(requestedInterfaces: readonly RequestedInterface[]): Promise<void> {
    await this.#change('noteInterfaces');
    this.#sink.requestedInterfaces = requestedInterfaces;
  }

  newBatch(offset: number): Batch<Rows> {
    return new Batch(new Rows(), this.#dictionary, this.state.epoch, offset);
  }

  async noteParticipant(participantId: string): Promise<void> {
    await this.#change('noteParticipant');
    this.#sink.stored.participantId ??= participantId;
  }

  async noteLedger(ledgerEnd: number, prunedOffset: number | undefined): Promise<void> {
    await this.#sink.act('noteLedger');
    this.#sink.ledgerFacts.push({ ledgerEnd, pruned: prunedOffset });
  }

  async writeBatch(batch: Batch<Rows>, from: number, previousWrite?: Promise<unknown>): Promise<Map<string, number>> {
    await Promise.all([this.#sink.act('writeBatch', batch), previousWrite]);
    this.#move(from, batch.offset);
    const { updates, commits, stored } = this.#sink;
    const marks = batch.sink
      .of('updates', 'offset', 'update_id')
      .map(([offset, id]) => ({ offset: Number(offset), updateId: String(id) }));
    this.#sink.updates = [...updates, ...marks];
    stored.lastUpdate = marks.at(-1) ?? stored.lastUpdate;
    commits.push({ from, to: batch.offset, updates: Object.fromEntries(batch.updatesByKind) });
    return new Map([['updates', marks.length]]);
  }

  explained(error: IndexerError): Promise<IndexerError> {
    return Promise.resolve(error);
  }

  explainedEntry(error: IndexerError): Promise<IndexerError> {
    return Promise.resolve(error);
  }

  async quarantine({ offset }: QuarantinedUpdate, from: number): Promise<void> {
    await this.#sink.act('quarantine');
    this.#move(from, offset);
    this.#sink.setAside.push(offset);
  }

  async storeLate({ offset }: StoredUpdate, isOnLedger: () => Promise<boolean>): Promise<boolean> {
    await this.#change('storeLate');
    this.#sink.late.push(offset);
    return !this.#sink.updates.some((mark) => mark.offset === offset) && (await isOnLedger());
  }

  async beginSeed(offset: number, source?: ListSource): Promise<void> {
    await this.#change('beginSeed');
    const { release = null, hasInFlight = true } = source ?? {};
    const releaseFields = { seedRelease: release, seedHasInFlight: hasInFlight };
    Object.assign(this.#sink.stored, { seedOffset: offset, seedToken: null, seedContracts: 0, ...releaseFields });
    this.#sink.seedEntries = [];
  }

  async writeSeed(
    batch: Batch<Rows>,
    writtenCount: number,
    previousWrite?: Promise<unknown>,
  ): Promise<Map<string, number>> {
    await Promise.all([this.#sink.act('writeSeed', batch), previousWrite]);
    this.#fence();
    const { stored, seedEntries } = this.#sink;
    if (stored.seedContracts !== writtenCount || stored.seeded) throw writerMovedError();
    const rows = batch.sink.of('contracts', 'contract_id', 'offset');
    const entries = rows.map(([contractId, offset]) => ({ contractId: String(contractId), offset: Number(offset) }));
    this.#sink.seedEntries = [...seedEntries, ...entries];
    stored.seedContracts += batch.entries;
    stored.seedToken = batch.continuationToken ?? stored.seedToken;
    return new Map([['contracts', entries.length]]);
  }

  newestActivation(): Promise<number | undefined> {
    const offsets = this.#sink.seedEntries.map(({ offset }) => offset);
    return Promise.resolve(offsets.length === 0 ? undefined : Math.max(...offsets));
  }

  async publishSeed(offset: number, origin: SeedOrigin, anchor?: UpdateMark): Promise<void> {
    await this.#change('publishSeed');
    if (this.#sink.stored.seeded) throw writerMovedError();
    Object.assign(this.#sink.stored, { seeded: true, checkpoint: offset, lastUpdate: anchor, seedToken: null });
    this.#sink.published.push({ offset, origin, ...(anchor === undefined ? {} : { anchor }) });
  }

  async #change(sinkCall: Act): Promise<void> {
    await this.#sink.act(sinkCall);
    this.#fence();
  }

  #fence(): void {
    if (this.#sink.stored.epoch !== this.state.epoch) throw writerMovedError();
  }

  #move(from: number, to: number): void {
    this.#fence();
    if ((this.#sink.stored.checkpoint ?? 0) !== from) throw writerMovedError();
    this.#sink.stored.checkpoint = to;
  }
}

function unexpected(): never {
  throw new TypeError('completions are not part of this test');
}

function writerMovedError(): IndexerError {
  return new IndexerError('another process has written', { code: 'WRITER_FENCED' });
}
