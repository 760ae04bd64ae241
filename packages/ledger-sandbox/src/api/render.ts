/**
 * Renders stored updates and activations for one reader: filtered, in the requested shape, as compact JSON text.
 * Recorded frames are returned unchanged. Stored data is not changed.
 */
import type { Activation, SnapshotEntry } from '../contracts/active-set.ts';
import { match } from '../contracts/format.ts';
import type { EventFormat, Match, Shape, UpdateFormat } from '../contracts/format.ts';
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
  update(stored: StoredUpdate, format: UpdateFormat): string | undefined {
    if (stored.raw !== undefined) return stored.raw;
    const { update } = stored;
    if (update === undefined) return undefined;
    if ('Transaction' in update) {
      const value = this.transaction(update.Transaction.value, stored.archived, format.transactions);
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
    created: CreatedEvent,
  ): ArchivedEvent | undefined {
    const seen = this.#match(event, format, stakeholdersOf(created));
    return seen === undefined ? undefined : this.#archive(event, seen);
  }

  #event(
    event: TransactionEvent,
    format: EventFormat,
    delta: boolean,
    archived: CreatedEvent | undefined,
    position: EventPosition,
  ): TransactionEvent | undefined {
    if ('CreatedEvent' in event) {
      const created = event.CreatedEvent;
      if (delta && !created.acsDelta) return undefined;
      const parties = delta ? stakeholdersOf(created) : created.witnessParties;
      const visibleEvent = this.#created(created, format, this.#ledger.hosted(parties, position));
      return visibleEvent === undefined ? undefined : { CreatedEvent: visibleEvent };
    }
    if ('ArchivedEvent' in event) {
      const parties = this.#ledger.hosted(event.ArchivedEvent.witnessParties, position);
      const seen = this.#match(event.ArchivedEvent, format, parties);
      return seen === undefined ? undefined : event;
    }
    return this.#exercise(event.ExercisedEvent, format, delta, archived, position);
  }

  #exercise(
    event: ExercisedEvent,
    format: EventFormat,
    delta: boolean,
    archived: CreatedEvent | undefined,
    position: EventPosition,
  ): TransactionEvent | undefined {
    if (delta && !(event.consuming && event.acsDelta)) return undefined;
    const parties = delta && archived !== undefined ? stakeholdersOf(archived) : event.witnessParties;
    const seen = this.#match(event, format, this.#ledger.hosted(parties, position));
    if (seen === undefined) return undefined;
    if (!delta) {
      const implementedInterfaces = this.#interfaceIds(event, seen);
      const acsDelta = event.acsDelta && (archived === undefined || isOfStakeholder(seen.witnesses, archived));
      return { ExercisedEvent: { ...event, witnessParties: seen.witnesses, implementedInterfaces, acsDelta } };
    }
    return { ArchivedEvent: this.#archive(event, seen) };
  }

  #archive(event: ArchivedEvent | ExercisedEvent, seen: Match): ArchivedEvent {
    const { offset, nodeId, contractId, templateId, packageName } = event;
    const implementedInterfaces = this.#interfaceIds(event, seen);
    const identity = { offset, nodeId, contractId, templateId };
    return { ...identity, witnessParties: seen.witnesses, packageName, implementedInterfaces };
  }

  #created(event: CreatedEvent, format: EventFormat, parties: readonly string[]): CreatedEvent | undefined {
    const seen = this.#match(event, format, parties);
    if (seen === undefined) return undefined;
    const stored = event.createdEventBlob === '' ? `sandbox blob of ${event.contractId}` : undefined;
    const blob = stored === undefined ? event.createdEventBlob : Buffer.from(stored).toString('base64');
    return this.#fields.created({
      ...event,
      createdEventBlob: seen.blob ? blob : '',
      interfaceViews: seen.views.size === 0 ? [] : this.#views(event, seen),
      witnessParties: seen.witnesses,
      acsDelta: event.acsDelta && isOfStakeholder(seen.witnesses, event),
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
  ): Match | undefined {
    const name = `${event.packageName}:${entityOf(event.templateId)}`;
    const registered = this.#model.interfacesOf(name).map((implemented) => implemented.name);
    const stored = (event.interfaceViews ?? []).map((view) => `:${entityOf(view.interfaceId)}`);
    return match(format, name, stored.length === 0 ? registered : [...registered, ...stored], parties);
  }

  #views(event: CreatedEvent, seen: Match): readonly InterfaceView[] {
    const stored = event.interfaceViews.filter((view) => seen.views.has(entityOf(view.interfaceId)));
    if (event.interfaceViews.length > 0) return stored;
    const name = `${event.packageName}:${entityOf(event.templateId)}`;
    return this.#model
      .interfacesOf(name)
      .filter((implemented) => seen.views.has(entityOf(implemented.name)))
      .map((implemented) => ({
        interfaceId: this.#model.id(implemented.name),
        viewStatus: { code: 0, message: '', details: [] },
        viewValue: implemented.view(event.createArgument),
        implementationPackageId: packageOf(event.templateId),
      }));
  }

  #interfaceIds(event: ArchivedEvent | ExercisedEvent, seen: Match): readonly string[] {
    if (seen.views.size === 0) return event.implementedInterfaces;
    const name = `${event.packageName}:${entityOf(event.templateId)}`;
    const visibleInterfaces = this.#model
      .interfacesOf(name)
      .filter((implemented) => seen.views.has(entityOf(implemented.name)));
    return visibleInterfaces.map((implemented) => this.#model.id(implemented.name));
  }

  /** The part of a reassignment that is visible to the reader; undefined if none is. */
  reassignment(value: Reassignment, format: EventFormat | undefined): Reassignment | undefined {
    if (format === undefined) return undefined;
    const events: ReassignmentEvent[] = [];
    for (const event of value.events) {
      if ('JsUnassignedEvent' in event) {
        const unassigned = event.JsUnassignedEvent.value;
        const parties = this.#ledger.hosted(unassigned.witnessParties, value);
        const seen = this.#match(unassigned, format, parties);
        if (seen === undefined) continue;
        events.push({ JsUnassignedEvent: { value: { ...unassigned, witnessParties: seen.witnesses } } });
      } else {
        const assigned = event.JsAssignmentEvent;
        const parties = this.#ledger.hosted(stakeholdersOf(assigned.createdEvent), value);
        const createdEvent = this.#created(assigned.createdEvent, format, parties);
        if (createdEvent !== undefined) events.push({ JsAssignmentEvent: { ...assigned, createdEvent } });
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
function contentOf(activation: Activation, as: SnapshotEntry['as'], createdEvent: CreatedEvent): object {
  const { synchronizerId, counter: reassignmentCounter, unassigned, early } = activation;
  if (as === 'JsIncompleteUnassigned') return { createdEvent, unassignedEvent: unassigned?.event };
  if (as === 'JsIncompleteAssigned') {
    const assignedEvent: AssignmentEvent | undefined = early && { ...early.event, createdEvent };
    return { assignedEvent };
  }
  return { createdEvent, synchronizerId, reassignmentCounter };
}

/** True if a reader is a stakeholder of the contract, instead of only a witness. This is the value of `acsDelta`. */
function isOfStakeholder(witnesses: readonly string[], created: CreatedEvent): boolean {
  const stakeholders = new Set(stakeholdersOf(created));
  return witnesses.some((party) => stakeholders.has(party));
}
