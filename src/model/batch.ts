/**
 * A batch: the rows of consecutive updates, ready for one database transaction. Pure; the core of the write path. Rules
 * of activeness: an event with acsDelta activates or deactivates a contract on a synchronizer. If the ledger does not
 * send acsDelta (before 3.4), a create counts if one of the reading parties is a stakeholder, and a consuming exercise
 * always counts.
 */
import { Activity } from './activity.ts';
import type { Dictionary } from './dictionary.ts';
import type {
  ArchivedEvent,
  AssignedEvent,
  CreatedEvent,
  ExercisedEvent,
  TopologyEvent,
  UnassignedEvent,
} from './event.ts';
import { Lifetimes, witnessedContractRow, type ContractEnd } from './lifetimes.ts';
import { redactedContract, redactedExercise, type Redactions } from './redactions.ts';
import {
  contractRow,
  jsonb,
  isSeenByStakeholder,
  text,
  updateTimesOf,
  topologyRow,
  updateRow,
  type Activation,
  type UpdateTimes,
} from './rows.ts';
import type { Row, RowSink, TableName } from './tables.ts';
import { UnknownNames, safeKey, type UnknownKind } from './unknown.ts';
import type { ActiveContractEntry, OffsetCheckpoint, StoredUpdate, Transaction, Update } from './update.ts';
import { stringOf, type TextOrUtf8 } from './utf8.ts';

type IncompleteAssign = Pick<
  Extract<ActiveContractEntry, { kind: 'incomplete_assigned' }>,
  'createdText' | 'workflowId'
>;

/** The update that an event is part of. */
interface UpdateContext<U extends StoredUpdate> {
  readonly update: U;
  readonly times: UpdateTimes;
  readonly synchronizerPk: number;
}

/** Optional parts of a batch. */
interface BatchParts {
  /** Redactions: contents that must not be stored again; undefined if there are none. */
  readonly redactions?: Redactions | undefined;
  /** Name of the batch in table `batches`; default: the checkpoint that it starts from. */
  readonly batchOffset?: number;
  /** Empty lifetimes, passed so that their memory is reused. */
  readonly lifetimes?: Lifetimes;
}

export class Batch<Sink extends RowSink = RowSink> {
  /** Receives the rows. Rows of `live`, `ended` and of new party sets are added when the batch is sealed. */
  readonly sink: Sink;
  readonly lifetimes: Lifetimes;
  readonly activity = new Activity();
  readonly updatesByKind = new Map<string, number>();
  readonly eventsByType = new Map<string, Map<string, number>>();
  /** Latest record time per synchronizer id; known when the batch is sealed. */
  readonly recordTimes = new Map<string, string>();
  /** Names in the batch that this version does not know. */
  readonly unknown = new UnknownNames();
  readonly #dictionary: Dictionary;
  /**
   * Name of the batch in table `batches`: the checkpoint that it starts from; for an out-of-order update, minus its
   * offset.
   */
  readonly batchOffset: number;
  readonly epoch: number;
  readonly #redactions: Redactions | undefined;
  /** The newest stored update of the batch that has an id; known when the batch is sealed. */
  lastUpdate: { readonly offset: number; readonly updateId: string } | undefined;
  #newestUpdate: { readonly offset: number; readonly updateId: TextOrUtf8 } | undefined;
  readonly #newestTimes = new Map<string, TextOrUtf8>();
  /** Offset of the first update that removes a party from a participant; undefined if there is none. */
  departure: number | undefined;
  /** The offset to which this batch moves the checkpoint. */
  offset: number;
  entries = 0;
  continuationToken: string | null = null;
  #sealed = false;

  constructor(
    sink: Sink,
    dictionary: Dictionary,
    epoch: number,
    offset: number,
    { redactions, batchOffset = offset, lifetimes = new Lifetimes() }: BatchParts = {},
  ) {
    this.sink = sink;
    this.lifetimes = lifetimes;
    this.#dictionary = dictionary;
    this.epoch = epoch;
    this.batchOffset = batchOffset;
    this.#redactions = redactions;
    this.offset = offset;
  }

  add(update: Update): void {
    count(this.updatesByKind, update.kind);
    this.offset = Math.max(this.offset, update.offset);
    if (update.kind === 'offset_checkpoint') this.#addTimes(update);
    else this.#addStored(update);
  }

  /**
   * Called when nothing more will be added: it is known now how long each contract was active within the batch. The
   * frames of the batch must not be released before. May be called twice.
   */
  seal(): void {
    if (this.#sealed) return;
    this.#sealed = true;
    for (const [synchronizerId, time] of this.#newestTimes) this.recordTimes.set(synchronizerId, stringOf(time));
    const newest = this.#newestUpdate;
    if (newest !== undefined) this.lastUpdate = { offset: newest.offset, updateId: stringOf(newest.updateId) };
    for (const row of this.lifetimes.live()) this.#push('live', row);
    for (const row of this.lifetimes.ended()) this.#push('ended', row);
    const { contractParties, eventParties } = this.#dictionary;
    for (const { pk, lists } of contractParties.takeAdded()) this.#push('contract_parties', [pk, ...lists]);
    for (const { pk, lists } of eventParties.takeAdded()) this.#push('event_parties', [pk, ...lists]);
  }

  /** Adds one entry of the active contracts at the seed offset. */
  addEntry(entry: ActiveContractEntry): void {
    this.entries += 1;
    this.continuationToken = entry.continuationToken ?? this.continuationToken;
    if (entry.kind === 'empty') return;
    if (entry.kind === 'incomplete_assigned') {
      this.#reassigned(entry.assigned.created.offset, entry.assigned, entry);
      return;
    }
    const synchronizer = entry.kind === 'active' ? entry.synchronizerId : entry.unassigned.source;
    const activation: Activation = {
      origin: 'seed',
      synchronizerPk: this.#dictionary.synchronizer(synchronizer),
      reassignmentCounter: entry.kind === 'active' ? entry.reassignmentCounter : null,
      workflowId: entry.workflowId,
    };
    this.#created(entry.created.offset, entry.created, activation, true);
    if (entry.kind === 'incomplete_unassigned') this.#unassigned(entry.unassigned.offset, entry.unassigned, true, null);
  }

  #addTimes(checkpoint: OffsetCheckpoint): void {
    for (const { synchronizerId, recordTime } of checkpoint.synchronizerTimes) {
      this.#newestTimes.set(synchronizerId, recordTime);
    }
  }

  #addStored(update: StoredUpdate): void {
    if (update.recordTime !== null) this.#newestTimes.set(update.synchronizerId, update.recordTime);
    // Without an id, the history cannot be verified. So offset and id change together or not at all.
    if (update.updateId !== null) this.#newestUpdate = { offset: update.offset, updateId: update.updateId };
    const synchronizerPk = this.#dictionary.synchronizer(update.synchronizerId);
    const updateTimes = updateTimesOf(update);
    this.#push('updates', updateRow(update, updateTimes, synchronizerPk, this.batchOffset));
    this.activity.addUpdate(update, updateTimes, synchronizerPk);
    switch (update.kind) {
      case 'transaction':
        for (const event of update.events) this.#addEvent({ update, times: updateTimes, synchronizerPk }, event);
        break;
      case 'reassignment':
        for (const event of update.events) this.#addHalf({ update, times: updateTimes, synchronizerPk }, event);
        break;
      case 'topology':
        update.events.forEach((event, index) => {
          this.#topology(update.offset, index, event);
        });
        break;
      case 'unknown':
        this.#met('update', update.name, update.offset);
        break;
    }
  }

  #addEvent(context: UpdateContext<Transaction>, event: CreatedEvent | ArchivedEvent | ExercisedEvent): void {
    const { update, times: updateTimes, synchronizerPk } = context;
    const { recorded: recordTime } = updateTimes;
    const { offset } = update;
    if (event.kind === 'created') {
      const activation = { origin: 'create', synchronizerPk, reassignmentCounter: null, workflowId: null } as const;
      const templatePk = this.#created(offset, event, activation, event.acsDelta ?? isSeenByStakeholder(event));
      const activity = this.activity.at(recordTime, templatePk, 0, synchronizerPk);
      if (activity !== undefined) activity.creates += 1;
      return;
    }
    const templatePk = this.#dictionary.template(event.templateId, event.packageName);
    if (event.kind === 'archived') {
      this.#archived(context, event, templatePk);
      const activity = this.activity.at(recordTime, templatePk, 0, synchronizerPk);
      if (activity !== undefined) activity.archives += 1;
      return;
    }
    const choicePk = this.#exercised(context, event, templatePk);
    const activity = this.activity.at(recordTime, templatePk, choicePk, synchronizerPk);
    if (activity !== undefined) {
      activity.exercises += 1;
      activity.archives += event.consuming ? 1 : 0;
    }
  }

  #addHalf(
    { update, times: updateTimes, synchronizerPk }: UpdateContext<StoredUpdate>,
    event: AssignedEvent | UnassignedEvent,
  ): void {
    if (event.kind === 'unassigned') {
      this.#unassigned(update.offset, event, false, updateTimes.recorded ?? null);
      return;
    }
    const { reassignmentCounter } = event;
    const activation = { origin: 'assign', synchronizerPk, reassignmentCounter, workflowId: null } as const;
    this.#created(update.offset, event.created, activation, true);
    this.#reassigned(update.offset, event, null);
  }

  #created(offset: number, sentEvent: CreatedEvent, activation: Activation, active: boolean): number {
    const redactionId = this.#redactions?.ofContract(sentEvent.contractId) ?? null;
    const event = redactionId === null ? sentEvent : redactedContract(sentEvent);
    const templatePk = this.#dictionary.template(event.templateId, event.packageName);
    this.#countEvent(activation.origin === 'create' ? 'created' : activation.origin, templatePk);
    const partiesPk = this.#dictionary.contractParties.number(event.signatories, event.observers, event.witnessParties);
    this.#push('contracts', contractRow(offset, event, activation, { templatePk, partiesPk }, redactionId));
    for (const view of event.interfaceViews) {
      const interfacePk = this.#dictionary.template(view.interfaceId, null);
      this.#dictionary.implementation(templatePk, interfacePk);
      this.#push('interface_views', [
        offset,
        event.nodeId,
        interfacePk,
        view.statusCode,
        jsonb(view.view),
        text(view.statusMessage),
        jsonb(view.statusDetails),
        view.implementationPackageId,
        redactionId,
      ]);
    }
    const { contractId, nodeId } = event;
    const activationEntry = {
      contractId,
      offset,
      nodeId,
      templatePk,
      synchronizerPk: activation.synchronizerPk,
      partiesPk,
    };
    if (!active) this.#push('ended', witnessedContractRow(activationEntry));
    else this.lifetimes.activate(activationEntry);
    return templatePk;
  }

  #archived(
    { update, times: updateTimes, synchronizerPk }: UpdateContext<Transaction>,
    event: ArchivedEvent,
    templatePk: number,
  ): void {
    this.#countEvent('archived', templatePk);
    const { nodeId, contractId, witnessParties, implementedInterfaces } = event;
    this.lifetimes.deactivate(contractId, synchronizerPk, archiveOf(update.offset, nodeId, updateTimes));
    const partiesPk = this.#dictionary.eventParties.number([], witnessParties, implementedInterfaces);
    this.#push('archives', [update.offset, nodeId, templatePk, partiesPk, contractId]);
  }

  #exercised(context: UpdateContext<Transaction>, sentEvent: ExercisedEvent, templatePk: number): number {
    const { update, times: updateTimes, synchronizerPk } = context;
    const { offset } = update;
    const redactionId = this.#redactions?.ofExercise(update, sentEvent) ?? null;
    const event = redactionId === null ? sentEvent : redactedExercise(sentEvent);
    this.#countEvent('exercised', templatePk);
    if (event.consuming && event.acsDelta !== false) {
      this.lifetimes.deactivate(event.contractId, synchronizerPk, archiveOf(offset, event.nodeId, updateTimes));
    }
    const interfacePk = event.interfaceId === null ? 0 : this.#dictionary.template(event.interfaceId, null);
    const choicePk = this.#dictionary.choice(templatePk, interfacePk, event.choice);
    const { actingParties, witnessParties, implementedInterfaces } = event;
    this.#push('exercises', [
      offset,
      event.nodeId,
      event.lastDescendantNodeId,
      templatePk,
      choicePk,
      this.#dictionary.eventParties.number(actingParties, witnessParties, implementedInterfaces),
      event.consuming,
      event.acsDelta,
      event.contractId,
      jsonb(event.argument),
      jsonb(event.result),
      redactionId,
    ]);
    return choicePk;
  }

  /** @param endTime record time; null if a seed found the unassignment in flight */
  #unassigned(offset: number, event: UnassignedEvent, isIncomplete: boolean, endTime: ContractEnd['at']): void {
    const templatePk = this.#dictionary.template(event.templateId, event.packageName);
    this.#countEvent('unassigned', templatePk);
    const sourcePk = this.#dictionary.synchronizer(event.source);
    this.lifetimes.deactivate(event.contractId, sourcePk, { offset, nodeId: null, by: 'reassignment', at: endTime });
    this.#push('reassignments', [
      offset,
      event.reassignmentCounter,
      event.assignmentExclusivity,
      event.nodeId,
      templatePk,
      sourcePk,
      this.#dictionary.synchronizer(event.target),
      this.#dictionary.eventParties.number([], event.witnessParties, []),
      'u',
      isIncomplete,
      event.contractId,
      event.reassignmentId,
      text(event.submitter),
      null,
      null,
    ]);
  }

  /** Adds the assign half of a reassignment. @param incompleteAssign the entry, if the seed found it in flight */
  #reassigned(offset: number, event: AssignedEvent, incompleteAssign: IncompleteAssign | null): void {
    const { created } = event;
    this.#push('reassignments', [
      offset,
      event.reassignmentCounter,
      null,
      created.nodeId,
      this.#dictionary.template(created.templateId, created.packageName),
      this.#dictionary.synchronizer(event.source),
      this.#dictionary.synchronizer(event.target),
      this.#dictionary.eventParties.number([], created.witnessParties, []),
      'a',
      incompleteAssign !== null,
      created.contractId,
      event.reassignmentId,
      text(event.submitter),
      this.#redactions?.ofContract(created.contractId) === undefined
        ? jsonb(incompleteAssign?.createdText ?? null)
        : null,
      text(incompleteAssign?.workflowId ?? null),
    ]);
  }

  #topology(offset: number, index: number, event: TopologyEvent): void {
    count(countsOf(this.eventsByType, 'topology'), '');
    if (event.raw !== null) this.#met('topology_event', safeKey(event.name), offset);
    if (event.name === 'ParticipantAuthorizationRevoked') this.departure ??= offset;
    this.#push('topology_events', topologyRow(offset, index, event));
  }

  #met(kind: UnknownKind, name: string, firstOffset: number): void {
    this.unknown.add({ kind, name, firstOffset, count: 1 });
  }

  #push(table: TableName, row: Row): void {
    this.sink.push(table, row);
  }

  #countEvent(type: string, templatePk: number): void {
    const name = type === 'assign' ? 'assigned' : type;
    count(countsOf(this.eventsByType, name), this.#dictionary.templateName(templatePk));
  }
}

function archiveOf(
  offset: number,
  nodeId: number,
  { effective: effectiveTime, recorded: recordTime }: UpdateTimes,
): ContractEnd {
  return { offset, nodeId, by: 'archive', at: effectiveTime ?? recordTime ?? null };
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function countsOf(counts: Map<string, Map<string, number>>, type: string): Map<string, number> {
  let countsOfType = counts.get(type);
  if (countsOfType === undefined) counts.set(type, (countsOfType = new Map()));
  return countsOfType;
}
