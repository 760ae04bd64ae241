/** What the updates of a ledger add up to: the history, the contracts, and the newest record times. */
import { IndexerError } from '../errors.ts';
import { ActiveSet } from './active-set.ts';
import type { Activation, SavedContracts } from './active-set.ts';
import { failure } from './failure.ts';
import { History } from './history.ts';
import type { StoredUpdate } from './history.ts';
import type { Model } from './model.ts';
import { parseAcsEntry } from './recorded.ts';
import { valueOf } from './wire.ts';
import type { Update } from './wire.ts';

/** A call that the history cannot take; a defect of the caller. */
export function misuse(found: string): IndexerError {
  const remedy = 'append in ascending order and prune within the history';
  return new IndexerError(`sandbox ledger: ${found}`, { code: 'SANDBOX_OFFSET', retry: 'fatal', remedy });
}

/** A state as a snapshot holds it. */
export interface SavedState {
  readonly updates: readonly StoredUpdate[];
  readonly contracts: SavedContracts;
  readonly recordTimes: Map<string, string>;
}

export class LedgerState {
  readonly history = new History();
  readonly contracts = new ActiveSet();
  /** Newest record time per synchronizer id. */
  readonly recordTimes = new Map<string, string>();
  readonly #model: Model;

  constructor(model: Model) {
    this.#model = model;
  }

  save(): SavedState {
    const updates = this.history.range(0, Infinity, Infinity);
    return { updates, contracts: this.contracts.save(), recordTimes: this.recordTimes };
  }

  /** The state that was saved. */
  loaded({ updates, contracts, recordTimes }: SavedState): LedgerState {
    const state = new LedgerState(this.#model);
    for (const stored of updates) state.history.add(stored);
    for (const [synchronizerId, recordTime] of recordTimes) state.recordTimes.set(synchronizerId, recordTime);
    state.contracts.load(contracts);
    return state;
  }

  /** Takes in the next update and what it does to contracts. */
  add(stored: Omit<StoredUpdate, 'archived'>): void {
    const archived = stored.update === undefined ? undefined : this.#apply(stored.update, stored.offset);
    this.history.add({ ...stored, archived });
  }

  /** Takes in a recorded active-contracts entry, active from the first offset on. */
  addRecordedContract(raw: string): void {
    const { created, synchronizerId } = parseAcsEntry(raw);
    this.contracts.activate({ created, synchronizerId, counter: 0, workflowId: '', at: 0, raw });
  }

  /** The activation under way with this reassignment id, or a refusal. */
  inFlight(reassignmentId: string): Activation {
    const found = this.contracts.inFlight(reassignmentId);
    if (found !== undefined) return found;
    throw failure({ code: 'UNKNOWN_CONTRACT', category: 11, cause: `no reassignment ${reassignmentId} is in flight` });
  }

  /** The state after these updates and nothing else. */
  rebuilt(updates: readonly StoredUpdate[]): LedgerState {
    const state = new LedgerState(this.#model);
    for (const stored of updates) state.add(stored);
    return state;
  }

  /** Forgets what no offset after this one needs. */
  prune(offset: number): void {
    this.history.prune(offset);
    this.contracts.prune(offset);
  }

  #apply(update: Update, offset: number): StoredUpdate['archived'] {
    const { recordTime, synchronizerId } = valueOf(update);
    this.recordTimes.set(synchronizerId, recordTime);
    if ('Transaction' in update) return this.contracts.applyTransaction(update.Transaction.value, offset, this.#model);
    if ('Reassignment' in update) this.contracts.applyReassignment(update.Reassignment.value, offset, this.#model);
    return undefined;
  }
}
