/** The create and the archive of every contract that is active, or whose archive is not pruned yet, by contract id. */
import type { ArchivedEvent, CreatedEvent, ExercisedEvent } from '../wire/wire.ts';

export interface ContractEvents {
  readonly created: CreatedEvent;
  /** Synchronizer of the contract. */
  readonly synchronizerId: string;
  archived:
    | {
        readonly event: ArchivedEvent | ExercisedEvent;
        readonly synchronizerId: string;
        readonly offset: number;
      }
    | undefined;
}

export class ContractLog {
  #contracts = new Map<string, ContractEvents>();

  save(): Map<string, ContractEvents> {
    return this.#contracts;
  }

  load(contracts: Map<string, ContractEvents>): void {
    this.#contracts = contracts;
  }

  get(contractId: string): ContractEvents | undefined {
    return this.#contracts.get(contractId);
  }

  created(createdEvent: CreatedEvent, synchronizerId: string): void {
    this.#contracts.set(createdEvent.contractId, { created: createdEvent, synchronizerId, archived: undefined });
  }

  archived(event: ArchivedEvent | ExercisedEvent, synchronizerId: string, offset: number): void {
    const contractEvents = this.#contracts.get(event.contractId);
    if (contractEvents !== undefined) contractEvents.archived = { event, synchronizerId, offset };
  }

  /** Removes the contracts that were archived up to and including the offset. */
  prune(offset: number): void {
    for (const [contractId, { archived }] of this.#contracts) {
      if (archived !== undefined && archived.offset <= offset) this.#contracts.delete(contractId);
    }
  }
}
