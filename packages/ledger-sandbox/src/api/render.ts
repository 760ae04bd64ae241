/**
 * Renders stored updates and activations for one reader: filtered, in the requested shape, as compact JSON text.
 * Recorded frames are returned unchanged. Stored data is not changed.
 */
import type { Activation, SnapshotEntry } from '../contracts/active-set.ts';
import { match } from '../contracts/format.ts';
import type { EventFormat, EventMatch, Shape, UpdateFormat } from '../contracts/format.ts';
import type { StoredUpdate } from '../ledger/history.ts';
import { asObject, textAt } from '../wire/json.ts';
import { entityOf, packageOf } from '../contracts/model.ts';
import type { Model } from '../contracts/model.ts';
import type { Participant } from './participant.ts';
import { fieldsOf } from '../contracts/release-fields.ts';
import type { ReleaseFields } from '../contracts/release-fields.ts';
import type {
  ArchivedEvent,
  AssignmentEvent,
  CreatedEvent,
  ExercisedEvent,
  InterfaceView,
  Reassignment,
  ReassignmentEvent,
  TopologyTransaction,
  Transaction,
  TransactionEvent,
} from '../wire/wire.ts';

/** Position and time of an event. */
type EventPosition = Pick<Transaction, 'synchronizerId' | 'offset'>;

const stakeholdersOf = (created: CreatedEvent): readonly string[] => [...created.signatories, ...created.observers];

export class Renderer {
  readonly #ledger: Participant['ledger'];
  readonly #model: Model;
  readonly #fields: ReleaseFields;

  constructor({ ledger, release }: Pick<Participant, 'ledger' | 'release'>) {
    this.#ledger = ledger;
    this.#model = ledger.model;
    this.#fields = fieldsOf(release, ledger.model);
  }

  /** The frame of an update; undefined if no part of it is visible to the reader. */
  update(storedUpdates: StoredUpdate, format: UpdateFormat): string | undefined {
    if (storedUpdates.raw !== undefined) return storedUpdates.raw;
    const { update } = storedUpdates;
    if (update === undefined) return undefined;
    if ('Transaction' in update) {
      const value = this.transaction(update.Transaction.value, storedUpdates.archived, format.transactions);
      return value === undefined ? undefined : JSON.stringify({ update: { Transaction: { value } } });
    }
    if ('Reassignment' in update) {
      const value = this.reassignment(update.Reassignment.value, format.reassignments);
      return value === undefined ? undefined : JSON.stringify({ update: { Reassignment: { value } } });
    }
    const value = this.#topology(update.TopologyTransaction.value, format.topology);
    return value === undefined ? undefined : JSON.stringify({ update: { TopologyTransaction: { value } } });
  }

  /** The part of a transaction that is visible to the reader; undefined if none is. */
  transaction(
    value: Transaction,
    archived: StoredUpdate['archived'],
    transactionFormat: { readonly format: EventFormat; readonly shape: Shape } | undefined,
  ): Transaction | undefined {
    if (transactionFormat === undefined) return undefined;
    const delta = transactionFormat.shape === 'TRANSACTION_SHAPE_ACS_DELTA';
    const events: TransactionEvent[] = [];
    for (const [index, event] of value.events.entries()) {
      const visibleEvent = this.#event(event, transactionFormat.format, delta, archived?.[index], value);
      if (visibleEvent !== undefined) events.push(visibleEvent);
    }
    return events.length === 0 ? undefined : this.#fields.transaction({ ...value, events });
  }

  /** The active-contracts entry of a snapshot as it is visible to the reader. */
  entry({ activation, as }: SnapshotEntry, format: EventFormat, token: string): string | undefined {
    if (activation.raw !== undefined) return activation.raw;
    const createdEvent = this.created(activation.created, format);
    if (createdEvent === undefined) return undefined;
    const { workflowId } = activation;
    const contractEntry = { [as]: contentOf(activation, as, createdEvent) };
    return JSON.stringify(this.#fields.entry({ workflowId, contractEntry, streamContinuationToken: token }));
  }

  /** A created event as it is visible to its stakeholders among the readers. */
  created(event: CreatedEvent, format: EventFormat): CreatedEvent | undefined {
    return this.#created(event, format, stakeholdersOf(event));
  }

  /** The archive of a contract, transient or not, as it is visible to its stakeholders among the readers. */
  archived(
    event: ArchivedEvent | ExercisedEvent,
    format: EventFormat,
    createdEvent: CreatedEvent,
  ): ArchivedEvent | undefined {
    const visibleMatch = this.#match(event, format, stakeholdersOf(createdEvent));
    return visibleMatch === undefined ? undefined : this.#archive(event, visibleMatch);
  }

  #event(
    event: TransactionEvent,
    format: EventFormat,
    delta: boolean,
    createdEvent: CreatedEvent | undefined,
    position: EventPosition,
  ): TransactionEvent | undefined {
    if ('CreatedEvent' in event) {
      const foundEvent = event.CreatedEvent;
      if (delta && !foundEvent.acsDelta) return undefined;
      const parties = delta ? stakeholdersOf(foundEvent) : foundEvent.witnessParties;
      const visibleEvent = this.#created(foundEvent, format, this.#ledger.hosted(parties, position));
      return visibleEvent === undefined ? undefined : { CreatedEvent: visibleEvent };
    }
    if ('ArchivedEvent' in event) {
      const parties = this.#ledger.hosted(event.ArchivedEvent.witnessParties, position);
      const visibleMatch = this.#match(event.ArchivedEvent, format, parties);
      return visibleMatch === undefined ? undefined : event;
    }
    return this.#exercise(event.ExercisedEvent, format, delta, createdEvent, position);
  }

  #exercise(
    event: ExercisedEvent,
    format: EventFormat,
    delta: boolean,
    createdEvent: CreatedEvent | undefined,
    position: EventPosition,
  ): TransactionEvent | undefined {
    if (delta && !(event.consuming && event.acsDelta)) return undefined;
    const parties = delta && createdEvent !== undefined ? stakeholdersOf(createdEvent) : event.witnessParties;
    const visibleMatch = this.#match(event, format, this.#ledger.hosted(parties, position));
    if (visibleMatch === undefined) return undefined;
    if (!delta) {
      const implementedInterfaces = this.#interfaceIds(event, visibleMatch);
      const acsDelta =
        event.acsDelta && (createdEvent === undefined || isOfStakeholder(visibleMatch.witnesses, createdEvent));
      return { ExercisedEvent: { ...event, witnessParties: visibleMatch.witnesses, implementedInterfaces, acsDelta } };
    }
    return { ArchivedEvent: this.#archive(event, visibleMatch) };
  }

  #archive(event: ArchivedEvent | ExercisedEvent, visibleMatch: EventMatch): ArchivedEvent {
    const { offset, nodeId, contractId, templateId, packageName } = event;
    const implementedInterfaces = this.#interfaceIds(event, visibleMatch);
    const identity = { offset, nodeId, contractId, templateId };
    return { ...identity, witnessParties: visibleMatch.witnesses, packageName, implementedInterfaces };
  }

  #created(event: CreatedEvent, format: EventFormat, parties: readonly string[]): CreatedEvent | undefined {
    const visibleMatch = this.#match(event, format, parties);
    if (visibleMatch === undefined) return undefined;
    const storedBlob = event.createdEventBlob === '' ? `sandbox blob of ${event.contractId}` : undefined;
    const blob = storedBlob === undefined ? event.createdEventBlob : Buffer.from(storedBlob).toString('base64');
    return this.#fields.created({
      ...event,
      createdEventBlob: visibleMatch.blob ? blob : '',
      interfaceViews: visibleMatch.views.size === 0 ? [] : this.#views(event, visibleMatch),
      witnessParties: visibleMatch.witnesses,
      acsDelta: event.acsDelta && isOfStakeholder(visibleMatch.witnesses, event),
    });
  }

  #match(
    event: {
      readonly packageName: string;
      readonly templateId: string;
      readonly interfaceViews?: readonly InterfaceView[];
    },
    format: EventFormat,
    parties: readonly string[],
  ): EventMatch | undefined {
    const name = `${event.packageName}:${entityOf(event.templateId)}`;
    const registeredInterfaces = this.#model.interfacesOf(name).map((implementation) => implementation.name);
    const storedViews = (event.interfaceViews ?? []).map((view) => `:${entityOf(view.interfaceId)}`);
    return match(
      format,
      name,
      storedViews.length === 0 ? registeredInterfaces : [...registeredInterfaces, ...storedViews],
      parties,
    );
  }

  #views(event: CreatedEvent, visibleMatch: EventMatch): readonly InterfaceView[] {
    const storedViews = event.interfaceViews.filter((view) => visibleMatch.views.has(entityOf(view.interfaceId)));
    if (event.interfaceViews.length > 0) return storedViews;
    const name = `${event.packageName}:${entityOf(event.templateId)}`;
    return this.#model
      .interfacesOf(name)
      .filter((implementation) => visibleMatch.views.has(entityOf(implementation.name)))
      .map((implementation) => ({
        interfaceId: this.#model.id(implementation.name),
        viewStatus: { code: 0, message: '', details: [] },
        viewValue: implementation.view(event.createArgument),
        implementationPackageId: packageOf(event.templateId),
      }));
  }

  #interfaceIds(event: ArchivedEvent | ExercisedEvent, visibleMatch: EventMatch): readonly string[] {
    if (visibleMatch.views.size === 0) return event.implementedInterfaces;
    const name = `${event.packageName}:${entityOf(event.templateId)}`;
    const visibleInterfaces = this.#model
      .interfacesOf(name)
      .filter((implementation) => visibleMatch.views.has(entityOf(implementation.name)));
    return visibleInterfaces.map((implementation) => this.#model.id(implementation.name));
  }

  /** The part of a reassignment that is visible to the reader; undefined if none is. */
  reassignment(value: Reassignment, format: EventFormat | undefined): Reassignment | undefined {
    if (format === undefined) return undefined;
    const events: ReassignmentEvent[] = [];
    for (const event of value.events) {
      if ('JsUnassignedEvent' in event) {
        const unassignedEvent = event.JsUnassignedEvent.value;
        const parties = this.#ledger.hosted(unassignedEvent.witnessParties, value);
        const visibleMatch = this.#match(unassignedEvent, format, parties);
        if (visibleMatch === undefined) continue;
        events.push({ JsUnassignedEvent: { value: { ...unassignedEvent, witnessParties: visibleMatch.witnesses } } });
      } else {
        const assignedEvent = event.JsAssignmentEvent;
        const parties = this.#ledger.hosted(stakeholdersOf(assignedEvent.createdEvent), value);
        const createdEvent = this.#created(assignedEvent.createdEvent, format, parties);
        if (createdEvent !== undefined) events.push({ JsAssignmentEvent: { ...assignedEvent, createdEvent } });
      }
    }
    return events.length === 0 ? undefined : { ...value, events };
  }

  #topology(value: TopologyTransaction, parties: readonly string[] | undefined): TopologyTransaction | undefined {
    if (parties === undefined) return undefined;
    const events = value.events.filter(({ event }) => {
      const [variant = ''] = Object.keys(event);
      if (!this.#fields.topologyVariant(variant)) return false;
      return parties.length === 0 || parties.includes(textAt(asObject(event[variant]), 'value', 'partyId'));
    });
    return events.length === 0 ? undefined : { ...value, events };
  }
}

/** The value below the key of a contract entry. */
function contentOf(activation: Activation, entryKind: SnapshotEntry['as'], createdEvent: CreatedEvent): object {
  const { synchronizerId, counter: reassignmentCounter, unassigned, early } = activation;
  if (entryKind === 'JsIncompleteUnassigned') return { createdEvent, unassignedEvent: unassigned?.event };
  if (entryKind === 'JsIncompleteAssigned') {
    const assignedEvent: AssignmentEvent | undefined = early && { ...early.event, createdEvent };
    return { assignedEvent };
  }
  return { createdEvent, synchronizerId, reassignmentCounter };
}

/** True if a reader is a stakeholder of the contract, instead of only a witness. This is the value of `acsDelta`. */
function isOfStakeholder(witnesses: readonly string[], createdEvent: CreatedEvent): boolean {
  const stakeholders = new Set(stakeholdersOf(createdEvent));
  return witnesses.some((party) => stakeholders.has(party));
}
