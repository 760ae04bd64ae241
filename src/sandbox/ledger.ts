/**
 * The state of the sandbox participant: the history of updates by offset, the active contracts at any offset, pruning
 * and the clock. Deterministic: the same seed and the same calls give the same updates. Offsets only grow; `reset` is
 * the one exception and stands for a participant whose database was re-created.
 */
import { IndexerError } from '../errors.ts';
import { ActiveSet } from './active-set.ts';
import type { Activation } from './active-set.ts';
import { runCommand } from './commands.ts';
import type { Submission } from './commands.ts';
import { demoTemplates } from './demo-model.ts';
import { failure } from './failure.ts';
import { History } from './history.ts';
import type { StoredUpdate } from './history.ts';
import type { JsonObject } from './json.ts';
import { Model } from './model.ts';
import { Random, partyId } from './random.ts';
import { PartyLists } from './party-lists.ts';
import { parseAcsEntry, parseUpdate } from './recorded.ts';
import { TransactionBuilder } from './transaction.ts';
import { formatTimestamp } from './values.ts';
import { canonicalUpdate, patchOffset, valueOf } from './wire.ts';
import type { CreatedEvent, TraceContext, Transaction, Update, UpdateInput } from './wire.ts';

export interface LedgerOptions {
  readonly seed?: number;
  readonly participantId?: string;
  /** Milliseconds since 1970; the system clock when absent. */
  readonly now?: () => number;
}

/** What a reader of the state needs to know about one synchronizer. */
export interface Synchronizer {
  readonly alias: string;
  readonly id: string;
}

export class Ledger {
  readonly participantId: string;
  readonly model = new Model();
  readonly random: Random;
  readonly synchronizers: readonly [Synchronizer, Synchronizer];
  /** Told of a client's submission, with its time, before it runs. */
  journal: ((submission: Submission & { readonly at: number }) => void) | undefined;
  readonly #now: () => number;
  #history = new History();
  #contracts = new ActiveSet();
  #ledgerEnd = 0;
  #prunedTo = 0;
  #lastMicros = 0;
  readonly #recordTimes = new Map<string, string>();
  readonly #recordMicros = new Map<string, number>();
  readonly #parties = new PartyLists();
  readonly #listeners = new Set<() => void>();

  constructor(options: LedgerOptions = {}) {
    this.participantId = options.participantId ?? partyId('participant1', 'participant1');
    this.random = new Random(options.seed ?? 1);
    this.#now = options.now ?? Date.now;
    this.synchronizers = [
      { alias: 'global', id: partyId('global-domain', 'global-domain') },
      { alias: 'private', id: partyId('private-sync', 'private-sync') },
    ];
    for (const template of demoTemplates()) this.model.register(template);
  }

  /** The offset of the newest thing that happened; 0 on an empty ledger. */
  ledgerEnd(): number {
    return this.#ledgerEnd;
  }

  /** The highest pruned offset; 0 when nothing was pruned. */
  prunedTo(): number {
    return this.#prunedTo;
  }

  /** Newest record time per synchronizer id. */
  recordTimes(): ReadonlyMap<string, string> {
    return this.#recordTimes;
  }

  /** The parties this participant hosts, as far as any contract named them. */
  localParties(): readonly string[] {
    return this.#parties.all();
  }

  /**
   * Appends an update in wire form. Missing keys are filled in, the offset is the next one unless `value.offset` is
   * set and larger than the ledger end, and every event gets the update's offset. Gives back the offset.
   */
  append(input: UpdateInput): number {
    const update = canonicalUpdate(input);
    const wanted = valueOf(update).offset;
    return this.commit(update, wanted === 0 ? undefined : wanted);
  }

  /** Appends a complete update without copying it: the caller gives it away. */
  commit(update: Update, offset?: number): number {
    const at = this.#advance(offset ?? this.#ledgerEnd + 1);
    patchOffset(update, at);
    this.#history.add({ offset: at, update, raw: undefined, archived: this.#track(update, at) });
    this.#changed();
    return at;
  }

  /**
   * Appends a recorded update that every reader gets verbatim, whatever its filters. A text is served byte for byte,
   * an object as compact JSON. The offset is the recorded one unless given; its contracts enter the active set too.
   */
  appendRaw(recorded: string | JsonObject, offset?: number): number {
    const raw = typeof recorded === 'string' ? recorded : JSON.stringify(recorded);
    const parsed = parseUpdate(raw);
    const at = this.#advance(offset ?? parsed.offset ?? this.#ledgerEnd + 1);
    const archived = parsed.update === undefined ? undefined : this.#track(parsed.update, at);
    this.#history.add({ offset: at, update: parsed.update, raw, archived });
    this.#changed();
    return at;
  }

  /** Adds a recorded active-contracts entry, served verbatim at every offset above 0 until something archives it. */
  addAcsEntryRaw(recorded: string | JsonObject): void {
    const raw = typeof recorded === 'string' ? recorded : JSON.stringify(recorded);
    const { created, synchronizerId } = parseAcsEntry(raw);
    this.#contracts.activate({ created, synchronizerId, counter: 0, workflowId: '', at: 0, raw });
  }

  /** Runs commands as one transaction and appends it. Throws a LedgerFailure when the ledger refuses. */
  submit(submission: Submission): Transaction {
    const micros = submission.at === undefined ? this.clock() : this.clock(submission.at);
    const builder = this.transaction(formatTimestamp(micros));
    for (const command of submission.commands) runCommand(builder, this.model, command, submission.actAs);
    const synchronizerId = builder.synchronizerId ?? submission.synchronizerId ?? this.synchronizers[0].id;
    return this.seal(builder, { ...submission, synchronizerId, at: micros });
  }

  /** Runs a client's commands; a journal hears of them first. */
  submitJournaled(submission: Submission): Transaction {
    if (this.journal === undefined) return this.submit(submission);
    const timed = { ...submission, at: submission.at ?? this.clock() };
    this.journal(timed);
    return this.submit(timed);
  }

  /** Creates one contract of a template (`#package-name:Module:Entity`) and gives back its event. */
  create(templateId: string, argument: JsonObject, actAs: readonly string[]): CreatedEvent {
    const { events } = this.submit({ commands: [{ kind: 'create', templateId, argument }], actAs });
    const [first] = events;
    if (first === undefined || !('CreatedEvent' in first)) throw new Error('a create made no created event');
    return first.CreatedEvent;
  }

  /** Exercises one choice and gives back the transaction; `Archive` is known for every contract. */
  exercise(contractId: string, choice: string, argument: JsonObject, actAs: readonly string[]): Transaction {
    return this.submit({ commands: [{ kind: 'exercise', contractId, choice, argument }], actAs });
  }

  /** An empty transaction to fill; nothing is visible before `seal`. @param createdAt an API timestamp */
  transaction(createdAt: string): TransactionBuilder {
    const base = { model: this.model, random: this.random, find: this.find, parties: this.parties };
    return new TransactionBuilder(base, createdAt);
  }

  /** Appends a filled transaction. `at` is its effective time, microseconds since 1970. */
  seal(
    builder: TransactionBuilder,
    facts: Omit<Submission, 'commands' | 'actAs'> & { readonly at: number; readonly synchronizerId: string },
  ): Transaction {
    const value: Transaction = {
      updateId: this.random.updateId(),
      commandId: facts.commandId ?? '',
      workflowId: facts.workflowId ?? '',
      effectiveAt: builder.createdAt,
      events: builder.events,
      offset: 0,
      synchronizerId: facts.synchronizerId,
      traceContext: this.traceContext(),
      recordTime: this.recordTime(facts.synchronizerId, facts.at),
      externalTransactionHash: null,
      paidTrafficCost: this.random.chance(0.2) ? null : this.random.between(2_000, 40_000),
    };
    this.commit({ Transaction: { value } });
    return value;
  }

  /** A record time 0.2 to 1.5 s after `at` (microseconds since 1970), strictly growing per synchronizer. */
  recordTime(synchronizerId: string, at: number): string {
    const earliest = (this.#recordMicros.get(synchronizerId) ?? 0) + 1;
    const micros = Math.max(at + this.random.between(200_000, 1_500_000), earliest);
    this.#recordMicros.set(synchronizerId, micros);
    return formatTimestamp(micros);
  }

  traceContext(): TraceContext {
    return { traceparent: `00-${this.random.hex(16)}-${this.random.hex(8)}-01`, tracestate: null };
  }

  /** The activation of a contract that holds now. */
  readonly find = (contractId: string): Activation | undefined => this.#contracts.find(contractId);

  /** The list without repetitions, as one shared array per distinct content. */
  readonly parties = (list: readonly string[]): readonly string[] => this.#parties.shared(list);

  /** The activation under way with this reassignment id, or a refusal. */
  inFlight(reassignmentId: string): Activation {
    const found = this.#contracts.inFlight(reassignmentId);
    if (found !== undefined) return found;
    throw failure({ code: 'UNKNOWN_CONTRACT', category: 11, cause: `no reassignment ${reassignmentId} is in flight` });
  }

  /** Lets offsets pass without a visible update, as time proofs and foreign transactions do. */
  skipOffsets(count: number): void {
    this.#ledgerEnd += count;
    this.#changed();
  }

  /** Forgets all updates up to and including the offset. */
  pruneTo(offset: number): void {
    if (offset > this.#ledgerEnd) throw misuse(`pruneTo(${offset}) is after the ledger end ${this.#ledgerEnd}`);
    this.#prunedTo = Math.max(this.#prunedTo, offset);
    this.#history.prune(this.#prunedTo);
    this.#contracts.prune(this.#prunedTo);
    this.#changed();
  }

  /** Empties the ledger: offsets start again at 1, no contract is active, nothing is pruned. */
  reset(): void {
    this.#history = new History();
    this.#contracts = new ActiveSet();
    this.#ledgerEnd = 0;
    this.#prunedTo = 0;
    this.#lastMicros = 0;
    this.#recordTimes.clear();
    this.#recordMicros.clear();
    this.#changed();
  }

  /** At most `limit` stored updates with beginExclusive < offset <= endInclusive, ascending. */
  range(beginExclusive: number, endInclusive: number, limit: number): readonly StoredUpdate[] {
    return this.#history.range(beginExclusive, endInclusive, limit);
  }

  findUpdate(matches: (stored: StoredUpdate) => boolean): StoredUpdate | undefined {
    return this.#history.find(matches);
  }

  /** Contracts active or in flight at the offset, oldest activation first. */
  activeAt(offset: number): Generator<Activation> {
    return this.#contracts.activeAt(offset);
  }

  /** Calls the listener after every change; the result ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ledger time in microseconds: strictly growing unless the caller sets it. */
  clock(at?: number): number {
    this.#lastMicros = at ?? Math.max(this.#now() * 1000, this.#lastMicros + 1);
    return this.#lastMicros;
  }

  #advance(offset: number): number {
    if (!Number.isSafeInteger(offset) || offset <= this.#ledgerEnd) {
      throw misuse(`offset ${offset} is not after the ledger end ${this.#ledgerEnd}`);
    }
    this.#ledgerEnd = offset;
    return offset;
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #track(update: Update, offset: number): StoredUpdate['archived'] {
    const { recordTime, synchronizerId } = valueOf(update);
    this.#recordTimes.set(synchronizerId, recordTime);
    if ('Transaction' in update) return this.#contracts.applyTransaction(update.Transaction.value, offset, this.model);
    if ('Reassignment' in update) this.#contracts.applyReassignment(update.Reassignment.value, offset, this.model);
    return undefined;
  }
}

function misuse(found: string): IndexerError {
  const remedy = 'append in ascending order and prune within the history';
  return new IndexerError(`sandbox ledger: ${found}`, { code: 'SANDBOX_OFFSET', retry: 'fatal', remedy });
}
