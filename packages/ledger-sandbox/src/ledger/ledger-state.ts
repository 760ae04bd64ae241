/** The state that results from the updates of a ledger: the history, the contracts, and the newest record times. */
import { SandboxError } from '../wire/sandbox-error.ts';
import { ActiveSet } from '../contracts/active-set.ts';
import type { Activation, SavedContracts } from '../contracts/active-set.ts';
import { failure } from '../wire/failure.ts';
import { History } from './history.ts';
import type { StoredUpdate } from './history.ts';
import { Hosting, type SavedHosting } from '../contracts/hosting.ts';
import type { Model } from '../contracts/model.ts';
import { parseAcsEntry } from './recorded.ts';
import { valueOf } from '../wire/wire.ts';
import type { CreatedEvent, Update } from '../wire/wire.ts';

/** Error for a call that the history cannot accept, which is a bug of the caller. */
export function misuse(problem: string): SandboxError {
  const remedy = 'append in ascending order and prune within the history';
  return new SandboxError(`sandbox ledger: ${problem}`, { code: 'SANDBOX_OFFSET', remedy });
}

/** A state as stored in a snapshot. */
export interface SavedState {
  readonly updates: readonly StoredUpdate[];
  readonly contracts: SavedContracts;
  readonly hosting: SavedHosting;
  readonly recordTimes: Map<string, string>;
}

export class LedgerState {
  readonly history = new History();
  readonly contracts = new ActiveSet();
  readonly hosting = new Hosting();
  /** Newest record time per synchronizer id. */
  readonly recordTimes = new Map<string, string>();
  readonly #model: Model;
  readonly #participantId: () => string;

  constructor(model: Model, participantId: () => string) {
    this.#model = model;
    this.#participantId = participantId;
  }

  save(): SavedState {
    const updates = this.history.range(0, Infinity, Infinity);
    const { contracts, hosting, recordTimes } = this;
    return { updates, contracts: contracts.save(), hosting: hosting.save(), recordTimes };
  }

  /** Restores a saved state. */
  loaded({ updates, contracts, hosting, recordTimes }: SavedState): LedgerState {
    const state = new LedgerState(this.#model, this.#participantId);
    for (const storedUpdate of updates) state.history.add(storedUpdate);
    for (const [synchronizerId, recordTime] of recordTimes) state.recordTimes.set(synchronizerId, recordTime);
    state.contracts.load(contracts);
    state.hosting.load(hosting);
    return state;
  }

  /** Adds the next update and applies it to the contracts. */
  add(storedUpdate: Omit<StoredUpdate, 'archived'>): void {
    const archivedContract =
      storedUpdate.update === undefined ? undefined : this.#apply(storedUpdate.update, storedUpdate.offset);
    this.history.add({ ...storedUpdate, archived: archivedContract });
  }

  /** Adds a recorded active-contracts entry. Its contract is active from the first offset. */
  addRecordedContract(raw: string): void {
    const { created, synchronizerId } = parseAcsEntry(raw);
    this.contracts.activate({ created, synchronizerId, counter: 0, workflowId: '', at: 0, raw });
  }

  /** The activation in flight with this reassignment id. Throws a refusal if there is none. */
  inFlight(reassignmentId: string): Activation {
    const reassignment = this.contracts.inFlight(reassignmentId);
    if (reassignment !== undefined) return reassignment;
    throw failure({ code: 'UNKNOWN_CONTRACT', category: 11, cause: `no reassignment ${reassignmentId} is in flight` });
  }

  /** The state after exactly these updates. */
  rebuilt(updates: readonly StoredUpdate[]): LedgerState {
    const state = new LedgerState(this.#model, this.#participantId);
    for (const storedUpdate of updates) state.add(storedUpdate);
    return state;
  }

  /** Removes data that no query after this offset needs. */
  prune(offset: number): void {
    this.history.prune(offset);
    this.contracts.prune(offset);
    this.hosting.prune(offset);
  }

  #apply(update: Update, offset: number): StoredUpdate['archived'] {
    const { recordTime, synchronizerId } = valueOf(update);
    this.recordTimes.set(synchronizerId, recordTime);
    const visibilityOn = (synchronizer: string) => (createdEvent: CreatedEvent) =>
      this.#sees(createdEvent, { synchronizerId: synchronizer, offset });
    if ('Transaction' in update) {
      const { value } = update.Transaction;
      return this.contracts.applyTransaction(value, offset, this.#model, visibilityOn(synchronizerId));
    }
    if ('Reassignment' in update) {
      this.contracts.applyReassignment(update.Reassignment.value, offset, this.#model, visibilityOn);
    } else {
      this.hosting.apply(update.TopologyTransaction.value, offset);
      this.contracts.catchUp(offset, visibilityOn);
    }
    return undefined;
  }

  #sees({ signatories, observers }: CreatedEvent, location: { synchronizerId: string; offset: number }): boolean {
    const stakeholders = [...signatories, ...observers];
    return stakeholders.length === 0 || this.hosting.of(this.#participantId(), stakeholders, location).length > 0;
  }
}
