/**
 * The active contracts at each offset. An activation belongs to one contract on one synchronizer, and lasts from `at`
 * (inclusive) until `until` (exclusive). A query for any offset that was not pruned returns the exact state at that
 * offset.
 */
import { ContractLog } from './contract-events.ts';
import { KeyIndex } from './contract-key.ts';
import type { Model } from './model.ts';
import type { AssignmentEvent, CreatedEvent, Reassignment, Transaction, UnassignedEvent } from '../wire/wire.ts';

export interface Activation {
  readonly created: CreatedEvent;
  readonly synchronizerId: string;
  readonly counter: number;
  readonly workflowId: string;
  readonly at: number;
  until: number;
  /** Set if the activation ended because the contract left for another synchronizer. */
  unassigned: { readonly event: UnassignedEvent; assignedAt: number } | undefined;
  /**
   * Set if the activation began with an assign whose unassign this participant receives only later, at `unassignedAt`.
   */
  early: { readonly event: AssignmentEvent; unassignedAt: number } | undefined;
  /** The recorded entry. If set, it is printed instead of a rendered entry. */
  readonly raw: string | undefined;
}

/** Start of an activation. */
export type NewActivation = Omit<Activation, 'until' | 'unassigned' | 'early' | 'raw'> & { readonly raw?: string };

/**
 * One entry of a snapshot. A contract that arrived before its unassign has two entries: as active, and as incomplete.
 */
export interface SnapshotEntry {
  readonly activation: Activation;
  readonly as: 'JsActiveContract' | 'JsIncompleteUnassigned' | 'JsIncompleteAssigned';
}

/** Whether later events of the contract are visible to the participant. */
type IsVisible = (createdEvent: CreatedEvent) => boolean;

/** Contracts as a snapshot holds them. */
export interface SavedContracts {
  readonly all: Activation[];
  readonly recorded: Activation[];
  readonly active: Map<string, Activation[]>;
  readonly inFlight: Map<string, Activation>;
  readonly early: Map<string, Activation>;
  readonly unseenEnds: Activation[];
  readonly known: ReturnType<ContractLog['save']>;
  readonly keys: ReturnType<KeyIndex['save']>;
}

export class ActiveSet {
  #all: Activation[] = [];
  #recorded: Activation[] = [];
  #active = new Map<string, Activation[]>();
  #inFlight = new Map<string, Activation>();
  #early = new Map<string, Activation>();
  /** Activations that have ended. No party hosted here could see their end. */
  #unseenEnds: Activation[] = [];
  readonly known = new ContractLog();
  readonly keys = new KeyIndex();

  save(): SavedContracts {
    return {
      all: this.#all,
      recorded: this.#recorded,
      active: this.#active,
      inFlight: this.#inFlight,
      early: this.#early,
      unseenEnds: this.#unseenEnds,
      known: this.known.save(),
      keys: this.keys.save(),
    };
  }

  load(saved: SavedContracts): void {
    this.#all = saved.all;
    this.#recorded = saved.recorded;
    this.#active = saved.active;
    this.#inFlight = saved.inFlight;
    this.#early = saved.early;
    this.#unseenEnds = saved.unseenEnds;
    this.known.load(saved.known);
    this.keys.load(saved.keys);
  }

  /**
   * Applies the creates and archives of a transaction. Events that are not visible change no snapshot. Returns, by
   * event index, the create of every contract that a consuming exercise archived, because rendering an archive needs
   * its stakeholders.
   */
  applyTransaction(
    transaction: Transaction,
    at: number,
    model: Model,
    isVisible: IsVisible,
  ): readonly (CreatedEvent | undefined)[] | undefined {
    const { events, synchronizerId, workflowId } = transaction;
    let archivedContracts: (CreatedEvent | undefined)[] | undefined;
    for (const [index, event] of events.entries()) {
      if ('CreatedEvent' in event) {
        const createdEvent = event.CreatedEvent;
        model.observe(createdEvent);
        this.known.created(createdEvent, synchronizerId);
        if (!createdEvent.acsDelta) continue;
        const activation = this.activate({ created: createdEvent, synchronizerId, counter: 0, workflowId, at });
        if (!isVisible(createdEvent)) activation.until = at;
        continue;
      }
      const exercisedEvent = 'ExercisedEvent' in event ? event.ExercisedEvent : undefined;
      if (exercisedEvent?.consuming === false) continue;
      const endEvent = 'ArchivedEvent' in event ? event.ArchivedEvent : event.ExercisedEvent;
      this.known.archived(endEvent, synchronizerId, at);
      if (exercisedEvent?.acsDelta === false) continue;
      const { contractId } = endEvent;
      const endedActivation = this.deactivate(contractId, synchronizerId, at, isVisible);
      if (endedActivation === undefined) continue;
      archivedContracts ??= [];
      while (archivedContracts.length < index) archivedContracts.push(undefined);
      archivedContracts.push(endedActivation.created);
    }
    return archivedContracts;
  }

  /** Applies the unassigns and assigns of a reassignment. */
  applyReassignment(
    { events, workflowId }: Reassignment,
    at: number,
    model: Model,
    visibilityOn: (synchronizerId: string) => IsVisible,
  ): void {
    for (const event of events) {
      if ('JsUnassignedEvent' in event) {
        const { value } = event.JsUnassignedEvent;
        this.unassign(value, at, visibilityOn(value.source));
        continue;
      }
      const assignment = event.JsAssignmentEvent;
      const { createdEvent, source, target, reassignmentId, reassignmentCounter: counter } = assignment;
      model.observe(createdEvent);
      this.assigned(reassignmentId, at);
      const hasEarlyAssignment = this.#active
        .get(createdEvent.contractId)
        ?.some(({ synchronizerId }) => synchronizerId === source);
      const activation = this.activate({ created: createdEvent, synchronizerId: target, counter, workflowId, at });
      if (!visibilityOn(target)(createdEvent)) activation.until = at;
      if (hasEarlyAssignment !== true) continue;
      activation.early = { event: assignment, unassignedAt: Infinity };
      this.#early.set(reassignmentId, activation);
    }
  }

  /** Starts an activation. Recorded entries are active from the first offset, whenever they were added. */
  activate(start: NewActivation): Activation {
    const { created, synchronizerId, counter, workflowId, at, raw } = start;
    const end = { until: Infinity, unassigned: undefined, early: undefined };
    const activation: Activation = { created, synchronizerId, counter, workflowId, at, raw, ...end };
    this.keys.add(created);
    if (start.raw === undefined) this.#all.push(activation);
    else this.#recorded.push(activation);
    const otherActivations = this.#active.get(start.created.contractId);
    if (otherActivations === undefined) this.#active.set(start.created.contractId, [activation]);
    else otherActivations.push(activation);
    return activation;
  }

  /**
   * Ends the contract's activation on the synchronizer (or its only one), and returns it. If the end is not visible,
   * the activation remains in snapshots.
   */
  deactivate(contractId: string, synchronizerId: string, offset: number, isVisible: IsVisible): Activation | undefined {
    const candidates = this.#active.get(contractId);
    if (candidates === undefined) return undefined;
    const index = candidates.findIndex((candidate) => candidate.synchronizerId === synchronizerId);
    const [endedActivation] = candidates.splice(Math.max(index, 0), 1);
    if (candidates.length === 0) this.#active.delete(contractId);
    if (endedActivation?.until !== Infinity) return endedActivation;
    if (isVisible(endedActivation.created)) endedActivation.until = offset;
    else this.#unseenEnds.push(endedActivation);
    return endedActivation;
  }

  /**
   * Ends an activation because the contract left its synchronizer. It is visible as in flight until `assigned` is
   * called.
   */
  unassign(event: UnassignedEvent, offset: number, isVisible: IsVisible): void {
    const endedActivation = this.deactivate(event.contractId, event.source, offset, isVisible);
    if (endedActivation === undefined) return;
    const earlyActivation = this.#early.get(event.reassignmentId);
    endedActivation.unassigned = { event, assignedAt: earlyActivation === undefined ? Infinity : offset };
    if (earlyActivation?.early === undefined) {
      this.#inFlight.set(event.reassignmentId, endedActivation);
      return;
    }
    earlyActivation.early.unassignedAt = offset;
    this.#early.delete(event.reassignmentId);
  }

  /** Called when a party is hosted again. Removes contracts that have ended in the meantime from later snapshots. */
  catchUp(offset: number, visibilityOn: (synchronizerId: string) => IsVisible): void {
    this.#unseenEnds = this.#unseenEnds.filter((endedActivation) => {
      if (!visibilityOn(endedActivation.synchronizerId)(endedActivation.created)) return true;
      endedActivation.until = offset;
      return false;
    });
  }

  /** Called when the contract of this reassignment has arrived, at this offset. */
  assigned(reassignmentId: string, offset: number): void {
    const unassignedEntry = this.#inFlight.get(reassignmentId);
    if (unassignedEntry?.unassigned !== undefined) unassignedEntry.unassigned.assignedAt = offset;
    this.#inFlight.delete(reassignmentId);
  }

  /** The activation that ended with this reassignment, if the contract has not arrived yet. */
  inFlight(reassignmentId: string): Activation | undefined {
    return this.#inFlight.get(reassignmentId);
  }

  /** The first of the contract's current activations. */
  find(contractId: string): Activation | undefined {
    return this.#active.get(contractId)?.[0];
  }

  /** Every activation at the offset, and the incomplete reassignments at that time. There are none at offset 0. */
  *activeAt(offset: number): Generator<SnapshotEntry> {
    if (offset <= 0) return;
    for (const activation of this.#recorded) {
      if (offset < activation.until) yield { activation, as: 'JsActiveContract' };
    }
    for (const activation of this.#all) {
      if (activation.at > offset) return;
      if (offset < activation.until) yield { activation, as: 'JsActiveContract' };
      else if (offset < (activation.unassigned?.assignedAt ?? 0)) yield { activation, as: 'JsIncompleteUnassigned' };
      if (offset < (activation.early?.unassignedAt ?? 0)) yield { activation, as: 'JsIncompleteAssigned' };
    }
  }

  /** Removes data that no query at this offset or later needs. */
  prune(offset: number): void {
    this.known.prune(offset);
    this.keys.retain((contractId) => this.#active.has(contractId) || this.known.get(contractId) !== undefined);
    this.#all = this.#all.filter(
      (a) => offset < Math.max(a.until, a.unassigned?.assignedAt ?? 0, a.early?.unassignedAt ?? 0),
    );
  }
}
