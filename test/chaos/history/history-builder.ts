/** Builds a history, one update at a time. */
import { parties } from './history-content.ts';
import { EventWriter, isoOf, templates, type Fields, type Template } from './history-events.ts';
import type { Item, ActiveContract } from './history.ts';
import { jsonText, type Json } from './json-text.ts';
import type { SeededRandom } from './random.ts';

const synchronizers: readonly string[] = ['north::1220aaaa', 'south::1220bbbb'];

interface LiveContract {
  readonly contractId: string;
  readonly template: Template;
  created: Fields;
  synchronizer: string | undefined;
  counter: number;
  standing: ActiveContract;
  /** The unassigned event, while the contract is in flight. */
  unassigned: Fields | undefined;
}

export class HistoryBuilder {
  readonly items: Item[] = [];
  readonly standings: ActiveContract[] = [];
  readonly #random: SeededRandom;
  readonly #live: LiveContract[] = [];
  #offset = 0;
  #micros = Date.UTC(2026, 0, 5, 8) * 1000;
  readonly #events: EventWriter;
  #readTimes = new Map<string, string>();

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#events = new EventWriter(random);
  }

  /** Adds an update, and sometimes an OffsetCheckpoint after it. */
  step(): void {
    const random = this.#random;
    // Offsets that the reader may not see are valid and common.
    this.#offset += random.chance(0.3) ? random.between(2, 9) : 1;
    this.#micros += random.chance(0.1) ? random.between(1, 90) * 60_000_000 : random.between(1, 2_000_000);
    this.#events.next(this.#offset, this.#micros);
    const inFlight = this.#live.filter(({ synchronizer }) => synchronizer === undefined);
    const roll = random.next();
    if (inFlight.length > 0 && roll < 0.12) this.#assign(random.pick(inFlight));
    else if (roll < 0.22) this.#unassignOne();
    else if (roll < 0.26) this.#topology();
    else if (roll < 0.27) this.#unknown();
    else this.#transaction();
    if (random.chance(0.12)) this.checkpoint();
  }

  /** Adds an OffsetCheckpoint, either at its own offset or at the offset of the update before it. */
  checkpoint(): void {
    if (this.#random.chance(0.7)) this.#offset += this.#random.between(1, 3);
    const synchronizerTimes = [...this.#readTimes].map(([synchronizerId, recordTime]) => ({
      synchronizerId,
      recordTime,
    }));
    const value: Fields = { offset: this.#offset, synchronizerTimes };
    this.#add('checkpoint', 'OffsetCheckpoint', undefined, value, 0);
  }

  #add(kind: Item['kind'], name: string, updateId: string | undefined, value: Fields, events: number): void {
    const frame = jsonText({ update: { [name]: { value } } });
    this.items.push({ offset: this.#offset, kind, updateId, events, name, value, frame });
  }

  #now(synchronizer: string): string {
    const text = isoOf(this.#micros);
    this.#readTimes.set(synchronizer, text);
    return text;
  }

  #header(synchronizerId: string): Fields & { readonly updateId: string } {
    const random = this.#random;
    return {
      updateId: `1220${random.hex(64)}`,
      commandId: random.chance(0.5) ? '' : `command-${String(this.#offset)}`,
      workflowId: random.chance(0.8) ? '' : 'flow "quoted"',
      offset: this.#offset,
      recordTime: this.#now(synchronizerId),
      synchronizerId,
      traceContext: random.chance(0.7)
        ? null
        : { traceparent: `00-${random.hex(32)}-${random.hex(16)}-01`, tracestate: '' },
      // The number is sometimes outside of the range in which JavaScript numbers are exact.
      paidTrafficCost: random.chance(0.1) ? 9007199254740993n : random.chance(0.5) ? null : random.between(0, 90_000),
    };
  }

  #transaction(): void {
    const random = this.#random;
    const synchronizer = random.pick(synchronizers);
    const header = this.#header(synchronizer);
    const events: Json[] = [];
    const actionCount = random.chance(0.03) ? random.between(20, 60) : random.between(1, 4);
    for (let actionIndex = 0; actionIndex < actionCount; actionIndex += 1) {
      const localContracts = this.#live.filter((liveContract) => liveContract.synchronizer === synchronizer);
      const roll = random.next();
      if (localContracts.length > 3 && roll < 0.35) events.push(...this.#exercise(random.pick(localContracts), true));
      else if (localContracts.length > 0 && roll < 0.5)
        events.push(...this.#exercise(random.pick(localContracts), false));
      else if (roll < 0.58) events.push(...this.#transient());
      else events.push({ CreatedEvent: this.#create(synchronizer) });
    }
    const hash = random.chance(0.2) ? random.hex(64) : null;
    const value = { ...header, effectiveAt: isoOf(this.#micros - 1_500), events, externalTransactionHash: hash };
    this.#add('transaction', 'Transaction', header.updateId, value, events.length);
  }

  #create(synchronizer: string): Json {
    const template = this.#random.pick(templates);
    const contractId = this.#events.contractId();
    const createdEvent = this.#events.createdEvent(contractId, template, true);
    const activeContract = this.#activate(contractId, synchronizer, createdEvent, 0);
    this.#live.push({
      contractId,
      template,
      created: createdEvent,
      synchronizer,
      counter: 0,
      standing: activeContract,
      unassigned: undefined,
    });
    return createdEvent;
  }

  #activate(contractId: string, synchronizer: string, createdFields: Fields, counter: number): ActiveContract {
    return this.#stand(contractId, synchronizer, {
      JsActiveContract: { createdEvent: createdFields, synchronizerId: synchronizer, reassignmentCounter: counter },
    });
  }

  #stand(contractId: string, synchronizer: string | undefined, contractEntry: Fields): ActiveContract {
    const lifetimeFields = { contractId, synchronizer, from: this.#offset, to: undefined };
    const activeContract: ActiveContract = {
      ...lifetimeFields,
      workflowId: '',
      contractEntry,
      entry: jsonText(contractEntry),
    };
    this.standings.push(activeContract);
    return activeContract;
  }

  /** An exercise, with the contracts that it creates as its children. A consuming exercise archives the contract. */
  #exercise(liveContract: LiveContract, consuming: boolean): Json[] {
    const random = this.#random;
    const { template } = liveContract;
    // As after an upgrade, the exercise names the newer package.
    const now = consuming && template === templates[0] && random.chance(0.3) ? (templates[1] ?? template) : template;
    const exercisedEvent = this.#events.exercisedEvent(liveContract.contractId, now, consuming, true);
    if (consuming) this.#end(liveContract);
    const children: Json[] = [];
    const { synchronizer } = liveContract;
    const count = synchronizer === undefined ? 0 : random.between(0, 2);
    for (let child = 0; child < count; child += 1) children.push({ CreatedEvent: this.#create(synchronizer ?? '') });
    return [{ ExercisedEvent: { ...exercisedEvent, lastDescendantNodeId: this.#events.lastNode } }, ...children];
  }

  /** Ends the contract on its synchronizer. If it began at the same offset, it was never active. */
  #end(liveContract: LiveContract): void {
    liveContract.standing.to = this.#offset;
    this.#live.splice(this.#live.indexOf(liveContract), 1);
  }

  /**
   * A contract that the same transaction creates and archives. The update has both events, and the active contracts do
   * not change.
   */
  #transient(): Json[] {
    const contractId = this.#events.contractId();
    const template = this.#random.pick(templates);
    const createdEvent = this.#events.createdEvent(contractId, template, false);
    const exercisedEvent = this.#events.exercisedEvent(contractId, template, true, false);
    return [
      { CreatedEvent: createdEvent },
      { ExercisedEvent: { ...exercisedEvent, lastDescendantNodeId: this.#events.lastNode } },
    ];
  }

  #unassignOne(): void {
    const freeContracts = this.#live.filter(
      ({ synchronizer, standing: activeContract }) => synchronizer !== undefined && activeContract.from < this.#offset,
    );
    if (freeContracts.length === 0) {
      this.#transaction();
      return;
    }
    const liveContract = this.#random.pick(freeContracts);
    const source = liveContract.synchronizer ?? '';
    const target = synchronizers.find((otherSynchronizer) => otherSynchronizer !== source) ?? source;
    const header = this.#header(source);
    liveContract.counter += 1;
    const unassignedEvent: Fields = {
      reassignmentId: `00${this.#random.hex(40)}`,
      contractId: liveContract.contractId,
      templateId: liveContract.template.id,
      source,
      target,
      submitter: this.#random.chance(0.5) ? '' : this.#random.pick(parties),
      reassignmentCounter: liveContract.counter,
      assignmentExclusivity: this.#random.chance(0.5) ? null : isoOf(this.#micros + 60_000_000),
      witnessParties: [this.#random.pick(parties)],
      packageName: liveContract.template.packageName,
      offset: this.#offset,
      nodeId: 0,
    };
    liveContract.standing.to = this.#offset;
    liveContract.synchronizer = undefined;
    liveContract.unassigned = unassignedEvent;
    const contractEntry = {
      JsIncompleteUnassigned: { createdEvent: liveContract.created, unassignedEvent: unassignedEvent },
    };
    liveContract.standing = this.#stand(liveContract.contractId, undefined, contractEntry);
    const value = { ...header, events: [{ JsUnassignedEvent: { value: unassignedEvent } }] };
    this.#add('reassignment', 'Reassignment', header.updateId, value, 1);
  }

  #assign(liveContract: LiveContract): void {
    const { source = '', target, reassignmentId = '', submitter = '' } = liveContract.unassigned ?? {};
    const synchronizer = typeof target === 'string' ? target : '';
    const header = this.#header(synchronizer);
    const createdEvent = { ...liveContract.created, offset: this.#offset, nodeId: 0, acsDelta: true };
    liveContract.standing.to = this.#offset;
    liveContract.created = createdEvent;
    liveContract.synchronizer = synchronizer;
    liveContract.standing = this.#activate(liveContract.contractId, synchronizer, createdEvent, liveContract.counter);
    const reassignmentFields = {
      source,
      target: synchronizer,
      reassignmentId,
      submitter,
      reassignmentCounter: liveContract.counter,
      createdEvent,
    };
    this.#add(
      'reassignment',
      'Reassignment',
      header.updateId,
      { ...header, events: [{ JsAssignmentEvent: reassignmentFields }] },
      1,
    );
  }

  #topology(): void {
    const synchronizerId = this.#random.pick(synchronizers);
    const { updateId, offset, recordTime, traceContext } = this.#header(synchronizerId);
    const name = this.#random.pick([
      'ParticipantAuthorizationAdded',
      'ParticipantAuthorizationChanged',
      'FutureTopologyEvent',
    ]);
    const event = {
      partyId: this.#random.pick(parties),
      participantId: 'chaos::1220',
      participantPermission: 'PARTICIPANT_PERMISSION_SUBMISSION',
    };
    const events = [{ event: { [name]: { value: event } } }];
    const value: Fields = {
      updateId,
      offset: offset ?? 0,
      synchronizerId,
      recordTime: recordTime ?? '',
      traceContext: traceContext ?? null,
      events,
    };
    this.#add('topology', 'TopologyTransaction', updateId, value, 1);
  }

  /** An update of a kind that a later release may introduce. */
  #unknown(): void {
    const header = this.#header(this.#random.pick(synchronizers));
    this.#add('unknown', 'FutureUpdate', header.updateId, { ...header, surprise: { '\u0000': ['x'] } }, 0);
  }
}
