/**
 * The state of the sandbox participant: the history of updates by offset, the active contracts at any offset, pruning
 * and the clock. It is deterministic: the same seed and the same calls result in the same updates. Offsets only
 * increase, except by `reset` (like a participant whose database was re-created), `restore` (like one restored from a
 * backup) and `lagBehind`.
 */
import type { Activation, SnapshotEntry } from '../contracts/active-set.ts';
import type { ContractEvents } from '../contracts/contract-events.ts';
import type { Submission } from './commands.ts';
import type { WrittenPackage } from '../daml-lf/declaration.ts';
import { Completions } from './completions.ts';
import type { SavedCompletions } from './completions.ts';
import type { ClientAction } from './client-action.ts';
import { withUpdateId } from './history.ts';
import type { StoredUpdate } from './history.ts';
import type { JsonObject } from '../wire/json.ts';
import { LedgerClock } from './ledger-clock.ts';
import type { SavedClock } from './ledger-clock.ts';
import { LedgerState, misuse } from './ledger-state.ts';
import type { SavedState } from './ledger-state.ts';
import { account } from '../contracts/keyed-model.ts';
import { Model } from '../contracts/model.ts';
import type { Template } from '../contracts/model.ts';
import { Random, partyId } from '../wire/random.ts';
import type { SavedRandom } from '../wire/random.ts';
import { PartyLists } from './party-lists.ts';
import type { SavedPartyLists } from './party-lists.ts';
import { parseUpdate } from './recorded.ts';
import { runSubmission } from './submission-run.ts';
import { TransactionBuilder } from '../contracts/transaction.ts';
import { canonicalUpdate, patchOffset, valueOf } from '../wire/wire.ts';
import type { CreatedEvent, TraceContext, Transaction, TransactionEvent, Update, UpdateInput } from '../wire/wire.ts';

/** World of a ledger: the identity of its participant, and its packages and templates. */
export interface World {
  readonly participantId: string;
  /** Packages that are vetted from the start. */
  readonly packages: readonly WrittenPackage[];
  /** Templates that submissions can create and exercise. */
  readonly templates: readonly Template[];
}

export interface LedgerOptions {
  readonly seed?: number;
  /** Default: the id of the world. */
  readonly participantId?: string;
  /** Returns milliseconds since 1970; default: the system clock. */
  readonly now?: () => number;
}

/** State of one synchronizer for readers of the ledger. */
export interface Synchronizer {
  readonly alias: string;
  readonly id: string;
}

/** A ledger as stored in a snapshot, without changes of its packages by clients. */
export interface SavedLedger {
  readonly random: SavedRandom;
  readonly clock: SavedClock;
  readonly state: SavedState;
  readonly completions: SavedCompletions;
  readonly parties: SavedPartyLists;
  readonly ledgerEnd: number;
  readonly prunedTo: number;
}

function witnessesOf(event: TransactionEvent): readonly string[] {
  if ('CreatedEvent' in event) return event.CreatedEvent.witnessParties;
  return ('ExercisedEvent' in event ? event.ExercisedEvent : event.ArchivedEvent).witnessParties;
}

export class Ledger {
  /** Changing it makes this ledger another participant at the same address. */
  participantId: string;
  readonly model = new Model();
  readonly random: Random;
  readonly synchronizers: readonly [Synchronizer, Synchronizer];
  readonly completions = new Completions();
  /**
   * Microseconds from the effective to the record time of the next update; undefined for a random value from 0.2 to 1.5
   * s.
   */
  recordDelay: number | undefined;
  /** Called with each action of a client, before it happens. */
  journal: ((action: ClientAction) => void) | undefined;
  readonly #clock: LedgerClock;
  #state = new LedgerState(this.model, () => this.participantId);
  #ledgerEnd = 0;
  #prunedTo = 0;
  #hidden = 0;
  readonly #parties = new PartyLists();
  readonly #listeners = new Set<() => void>();

  constructor(world: World, options: LedgerOptions = {}) {
    this.participantId = options.participantId ?? world.participantId;
    this.random = new Random(options.seed ?? 1);
    this.#clock = new LedgerClock(options.now ?? Date.now);
    this.synchronizers = [
      { alias: 'global', id: partyId('global-domain', 'global-domain') },
      { alias: 'private', id: partyId('private-sync', 'private-sync') },
    ];
    for (const ownPackage of world.packages) this.model.vet(ownPackage);
    for (const template of [...world.templates, account]) this.model.register(template);
  }

  save(): SavedLedger {
    return {
      random: this.random.save(),
      clock: this.#clock.save(),
      state: this.#state.save(),
      completions: this.completions.save(),
      parties: this.#parties.save(),
      ledgerEnd: this.#ledgerEnd,
      prunedTo: this.#prunedTo,
    };
  }

  load(saved: SavedLedger): void {
    this.random.load(saved.random);
    this.#clock.load(saved.clock);
    this.#state = this.#state.loaded(saved.state);
    this.completions.load(saved.completions);
    this.#parties.load(saved.parties);
    this.#ledgerEnd = saved.ledgerEnd;
    this.#prunedTo = saved.prunedTo;
    this.#changed();
  }

  /** The newest visible offset; 0 on an empty ledger. */
  ledgerEnd(): number {
    return Math.max(0, this.#ledgerEnd - this.#hidden);
  }

  /** The highest pruned offset; 0 if nothing was pruned. */
  prunedTo(): number {
    return this.#prunedTo;
  }

  /** Newest record time per synchronizer id. */
  readonly recordTimes = (): ReadonlyMap<string, string> => this.#state.recordTimes;

  /** The parties that this participant hosts, as far as a contract has named them. */
  localParties(): readonly string[] {
    return this.#parties.all();
  }

  isLocalParty(party: string): boolean {
    return this.#parties.isNamed(party);
  }

  /** Makes a party known that no contract has named yet. */
  addLocalParty(party: string): void {
    this.#parties.name(this.parties([party]));
  }

  /**
   * Appends an update in wire form. Missing keys are added. The offset is the next one, unless `value.offset` is set
   * and larger than the ledger end, and every event gets the offset of the update. Returns the offset.
   */
  append(input: UpdateInput): number {
    const update = canonicalUpdate(input);
    const requestedOffset = valueOf(update).offset;
    return this.commit(update, requestedOffset === 0 ? undefined : requestedOffset);
  }

  /** Appends a complete update without copying it, so the caller must not use it afterwards. */
  commit(update: Update, offset?: number): number {
    const newOffset = this.#advance(offset ?? this.#ledgerEnd + 1);
    patchOffset(update, newOffset);
    const { updateId } = valueOf(update);
    this.#state.add({ offset: newOffset, updateId, update, raw: undefined });
    if ('Transaction' in update)
      for (const event of update.Transaction.value.events) this.#parties.name(witnessesOf(event));
    this.#changed();
    return newOffset;
  }

  /**
   * Appends a recorded update that every reader receives verbatim, whatever its filters are. A text is served byte for
   * byte, an object as compact JSON. The offset is the recorded one unless another is passed. Its contracts become part
   * of the active contracts too.
   */
  appendRaw(recorded: string | JsonObject, offset?: number): number {
    const raw = typeof recorded === 'string' ? recorded : JSON.stringify(recorded);
    const parsedUpdate = parseUpdate(raw);
    const newOffset = this.#advance(offset ?? parsedUpdate.offset ?? this.#ledgerEnd + 1);
    this.#state.add({ offset: newOffset, updateId: parsedUpdate.updateId, update: parsedUpdate.update, raw });
    this.#changed();
    return newOffset;
  }

  /**
   * Adds a recorded active-contracts entry, which is served verbatim at every offset above 0 until an update archives
   * its contract.
   */
  addAcsEntryRaw(recordedText: string | JsonObject): void {
    this.#state.addRecordedContract(typeof recordedText === 'string' ? recordedText : JSON.stringify(recordedText));
  }

  /** Runs commands as one transaction and appends it. Throws a LedgerFailure if the ledger refuses it. */
  submit(submission: Submission): Transaction {
    return runSubmission(this, submission);
  }

  /** Creates one contract of a template (`#package-name:Module:Entity`) and returns its event. */
  create(templateId: string, argument: JsonObject, actAs: readonly string[]): CreatedEvent {
    const { events } = this.submit({ commands: [{ kind: 'create', templateId, argument }], actAs });
    const [first] = events;
    if (first === undefined || !('CreatedEvent' in first)) throw new Error('a create has no created event');
    return first.CreatedEvent;
  }

  /** Exercises one choice and returns the transaction. Every contract also has the choice `Archive`. */
  exercise(contractId: string, choice: string, argument: JsonObject, actAs: readonly string[]): Transaction {
    return this.submit({ commands: [{ kind: 'exercise', contractId, choice, argument }], actAs });
  }

  /**
   * An empty transaction to fill. No part of it is visible before it is committed.
   * @param createdAt an API timestamp
   * @param random source of its contract ids
   */
  transaction(createdAt: string, random: Random = this.random): TransactionBuilder {
    const { model, find } = this;
    // A transaction with random numbers of its own is a trial run, and no part of it is kept.
    const parties = random === this.random ? this.parties : (list: readonly string[]) => [...new Set(list)];
    const keyed = (hash: string): readonly string[] => this.#state.contracts.keys.get(hash);
    return new TransactionBuilder({ model, random, find, keyed, parties }, createdAt);
  }

  /**
   * A record time `recordDelay` after `at` (microseconds since 1970). Record times strictly increase per synchronizer.
   */
  recordTime(synchronizerId: string, at: number): string {
    return this.#clock.recordTime(synchronizerId, at + (this.recordDelay ?? this.random.between(200_000, 1_500_000)));
  }

  traceContext(): TraceContext {
    return { traceparent: `00-${this.random.hex(16)}-${this.random.hex(8)}-01`, tracestate: null };
  }

  /** The current activation of a contract. */
  readonly find = (contractId: string): Activation | undefined => this.#state.contracts.find(contractId);

  /** The list without repetitions, as one shared array per distinct content. */
  readonly parties = (list: readonly string[]): readonly string[] => this.#parties.shared(list);
  /** The activation in flight with this reassignment id. Throws a refusal if there is none. */
  inFlight(reassignmentId: string): Activation {
    return this.#state.inFlight(reassignmentId);
  }

  /** Skips offsets without a visible update, as time proofs and transactions of other parties do. */
  skipOffsets(count: number): void {
    this.#ledgerEnd += count;
    this.#changed();
  }

  /** Prunes all updates up to and including the offset. */
  pruneTo(offset: number): void {
    if (offset > this.#ledgerEnd) throw misuse(`pruneTo(${offset}) is after the ledger end ${this.#ledgerEnd}`);
    this.#prunedTo = Math.max(this.#prunedTo, offset);
    this.#state.prune(this.#prunedTo);
    this.completions.prune(this.#prunedTo);
    this.#changed();
  }

  /** Empties the ledger: offsets begin at 1 again, no contract is active, and nothing is pruned. */
  reset(): void {
    this.#state = this.#state.rebuilt([]);
    this.#ledgerEnd = 0;
    this.#prunedTo = 0;
    this.completions.rewind(0);
    this.#clock.reset();
    this.#changed();
  }

  /**
   * Restores the state at an earlier offset of a ledger that was not pruned. Later updates then get other update ids.
   */
  restore(offset: number): void {
    this.#rebuild(this.#state.history.range(0, offset, Infinity), offset);
  }

  /** Gives every update after the offset another update id, so that another history has the same offsets. */
  rewriteAfter(offset: number): void {
    const updates = this.#state.history.range(0, this.#ledgerEnd, Infinity);
    const changedUpdates = updates.map((storedUpdate) =>
      storedUpdate.offset <= offset ? storedUpdate : withUpdateId(storedUpdate, this.random.updateId()),
    );
    this.#rebuild(changedUpdates, this.#ledgerEnd);
  }

  /** Hides the newest offsets, like a replica that lags behind; 0 makes all visible again. */
  lagBehind(offsets: number): void {
    this.#hidden = offsets;
    this.#changed();
  }

  /** Makes the clock of one synchronizer lag by this many microseconds. Its own record times still only increase. */
  lagSynchronizer(synchronizerId: string, micros: number): void {
    this.#clock.lag(synchronizerId, micros);
  }

  /**
   * At most `limit` stored updates with beginExclusive < offset <= endInclusive, beginning at the lowest or at the
   * highest.
   */
  range(beginExclusive: number, endInclusive: number, limit: number, descending = false): readonly StoredUpdate[] {
    return this.#state.history.range(beginExclusive, endInclusive, limit, descending);
  }

  /** @param key an update id, or a transaction hash in lower-case hex */
  findUpdate(keyKind: 'id' | 'hash', key: string): StoredUpdate | undefined {
    return this.#state.history.find(keyKind, key);
  }

  /** The given parties that the participant hosts on a synchronizer right after an offset. */
  hosted(
    parties: readonly string[],
    location: { readonly synchronizerId: string; readonly offset: number },
  ): readonly string[] {
    return this.#state.hosting.of(this.participantId, parties, location);
  }

  /** The known create and archive of a contract; undefined if both are pruned or never happened here. */
  contract(contractId: string): ContractEvents | undefined {
    return this.#state.contracts.known.get(contractId);
  }

  /** The snapshot at the offset: active contracts and incomplete reassignments, the oldest activation first. */
  activeAt(offset: number): Generator<SnapshotEntry> {
    return this.#state.contracts.activeAt(offset);
  }

  /** An object that is the same for as long as the history only grows. */
  get life(): object {
    return this.#state;
  }

  /** Calls the listener after every change. @returns a function that ends this */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ledger time in microseconds, which strictly increases unless the caller sets it. */
  clock(at?: number): number {
    return this.#clock.next(at);
  }

  #advance(offset: number): number {
    if (!Number.isSafeInteger(offset) || offset <= this.#ledgerEnd) {
      throw misuse(`offset ${offset} is not after the ledger end ${this.#ledgerEnd}`);
    }
    this.#ledgerEnd = offset;
    return offset;
  }

  #rebuild(history: readonly StoredUpdate[], ledgerEnd: number): void {
    if (this.#prunedTo > 0) throw misuse(`a ledger pruned to ${this.#prunedTo} cannot be restored`);
    if (ledgerEnd > this.#ledgerEnd) throw misuse(`${ledgerEnd} is after the ledger end ${this.#ledgerEnd}`);
    this.#state = this.#state.rebuilt(history);
    this.completions.rewind(ledgerEnd);
    this.#ledgerEnd = ledgerEnd;
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
