/**
 * A random history of several parties, and who may see which of its rows. It applies the table of
 * docs/how-to/secure/reader-roles.md to the sent frames instead of the stored rows.
 */
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import * as frames from '../support/frames.ts';
import { template } from '../support/frames.ts';
import type { Json, JsonRecord } from '../support/frames.ts';
import {
  argumentOf,
  choices,
  contentsOf,
  contractsOfEveryTemplate,
  interfaces,
  packageNameOf,
  resultOf,
  type Choice,
} from './privacy-contents.ts';

export const parties = ['Ann', 'Ben', 'Cyd', 'Dan', 'Eva', 'Fay'].map((name) => `${name}::1220`);

/** Offset of the seed. Updates follow it. */
export const seedOffset = 20;

/** A row by table and key, with the parties that may see it. */
export interface ModelRow {
  readonly table: string;
  readonly key: string;
  readonly seers: ReadonlySet<string>;
}

interface Contract {
  readonly id: string;
  readonly signatories: readonly string[];
  readonly observers: readonly string[];
  synchronizer: string;
  state: 'live' | 'travelling' | 'ended';
  counter: number;
}

type Event = { readonly node: number; readonly offset: number };

/** A party that observes only the contract with this id. */
export function ownParty(contractId: string): string {
  return `own-${contractId}::1220`;
}

/** Frames and model rows. Equal seeds return equal histories. */
export class PrivateHistory {
  readonly entries: JsonRecord[] = [];
  readonly updates: JsonRecord[] = [];
  readonly completions: JsonRecord[] = [];
  readonly rows: ModelRow[] = [];
  readonly #random: Random;
  readonly #contracts: Contract[] = [];
  readonly #hasOwnParties: boolean;
  #offset = seedOffset;
  /** If true, no random choice skips a step, and each step is visible to parties of its contract. */
  #certain = false;
  /** Parties that see the current update. */
  #seers = new Set<string>();

  /** @param hasOwnParties whether each contract has an observer that no other contract has */
  constructor(seed: number, updates: number, hasOwnParties = false) {
    this.#random = new Random(seed);
    this.#hasOwnParties = hasOwnParties;
    for (let at = 1; at < seedOffset; at += 1) this.#seed(at);
    const steps = [
      () => this.#create(),
      () => this.#create(),
      () => this.#exercise(),
      () => this.#exercise(),
      () => this.#exercise(),
      () => this.#archive(),
      () => this.#leave(),
      () => this.#arrive(),
      () => this.#host(),
      () => this.#odd(),
    ];
    while (this.updates.length < updates) this.#pick(steps)();
    this.#everyKind();
    for (let at = seedOffset + 1; at <= this.#offset; at += 1) if (this.#random.chance(0.3)) this.#complete(at);
  }

  /**
   * Adds events that the random steps may have omitted: each kind of update, choice, template and interface view, on
   * contracts that do not end.
   */
  #everyKind(): void {
    this.#certain = true;
    this.#create();
    this.#leave();
    this.#arrive();
    this.#leave();
    this.#create();
    this.#archive();
    this.#host();
    this.#odd();
    for (const choice of choices) this.#exercise(choice);
    const last = this.#contracts.length + contractsOfEveryTemplate;
    while (this.#contracts.length < last) this.#create();
    this.#certain = false;
  }

  /**
   * The completion of a command that up to three parties submitted together. About half of the commands are rejected
   * because of a contract.
   */
  #complete(offset: number): void {
    const actAs = this.#some(3, 1);
    const isRefused = this.#random.chance(0.5);
    this.#row('completions', [offset], actAs);
    for (const party of actAs) this.#row('submitters', [party], [party]);
    this.#seers = new Set();
    const contract = this.#pick(this.#contracts).id;
    const metadata = {
      category: '11',
      exercise_trace: `    in choice ${template.slice(0, 8)}:Main.Iou:Iou:Go on contract 00 (#0)`,
    };
    const details = [
      { typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', valueDecoded: { reason: 'CONTRACT_NOT_FOUND', metadata } },
      {
        typeUrl: 'type.googleapis.com/google.rpc.ResourceInfo',
        valueDecoded: {
          resourceType: 'CONTRACT_ID',
          resourceName: contract.padEnd(contract.length + (contract.length % 2), '0'),
        },
      },
    ];
    const status = { code: 5, message: `CONTRACT_NOT_FOUND(11,0): secret of ${contract}`, details };
    const value = {
      offset,
      commandId: `command ${offset}`,
      userId: `user ${offset}`,
      submissionId: `submission ${offset}`,
      actAs,
      updateId: isRefused ? '' : `1220${String(offset).padStart(4, '0')}`,
      status: isRefused ? status : { code: 0, message: '', details: [] },
      synchronizerTime: { synchronizerId: frames.here, recordTime: timeOf(offset) },
      paidTrafficCost: offset,
    };
    this.completions.push({ completionResponse: { Completion: { value } } });
  }

  get lastOffset(): number {
    return this.#offset;
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random.between(0, list.length - 1)] as T;
  }

  #some(maximum: number, minimum = 0): string[] {
    const count = this.#random.between(minimum, maximum);
    const remainingParties = [...parties];
    return Array.from(
      { length: count },
      () => remainingParties.splice(this.#random.between(0, remainingParties.length - 1), 1)[0] ?? '',
    ).sort();
  }

  #row(table: string, key: readonly (string | number)[], visibleTo: readonly string[]): void {
    this.rows.push({ table, key: key.join(':'), seers: new Set(visibleTo) });
    for (const party of visibleTo) this.#seers.add(party);
  }

  #half(key: readonly (string | number)[], witnessParties: readonly string[]): void {
    this.#row('reassignments', key, witnessParties);
    this.#row('event_parties', ['', witnessParties.join()], witnessParties);
  }

  #update(frame: JsonRecord): void {
    this.updates.push(frame);
    this.rows.push({ table: 'updates', key: String(this.#offset), seers: this.#seers });
    this.#seers = new Set();
  }

  #next(): number {
    this.#offset += this.#random.between(1, 3);
    return this.#offset;
  }

  /** Creates a contract, or activates a known contract again, and adds the expected rows. */
  #begin(
    { node, offset }: Event,
    origin: 'seed' | 'create' | 'assign',
    sourceContract?: Contract,
  ): [JsonRecord, Contract] {
    const newId = `00c${this.#contracts.length}`;
    const contract = sourceContract ?? {
      id: newId,
      signatories: this.#some(2, 1),
      observers: [...this.#some(2), ...(this.#hasOwnParties ? [ownParty(newId)] : [])],
      synchronizer: this.#pick([frames.here, frames.there]),
      state: 'ended',
      counter: 0,
    };
    if (sourceContract === undefined) this.#contracts.push(contract);
    const { id, signatories, observers } = contract;
    const witnesses = this.#some(4, 1);
    const witnessParties = this.#certain ? [...new Set([...witnesses, ...signatories])].sort() : witnesses;
    const stakeholders = [...new Set([...signatories, ...observers])];
    const isActive = origin !== 'create' || witnessParties.some((party) => stakeholders.includes(party));
    const someInterfaces = this.#some(2).map(
      (_, index) => interfaces[(index + this.#random.between(0, 1)) % interfaces.length] ?? '',
    );
    const views = this.#certain ? interfaces : someInterfaces;
    const createArgument = contentsOf(id, signatories[0] ?? '', observers[0] ?? '', [...new Set(views)]);
    const acsDelta = this.#random.chance(0.9) ? isActive : null;
    for (const table of ['contracts', 'states']) this.#row(table, [offset, node], stakeholders);
    this.#row('contract_parties', [signatories.join(), observers.join(), witnessParties.join()], stakeholders);
    if (createArgument.interfaceViews.length > 0) this.#row('interface_views', [offset, node], stakeholders);
    contract.state = isActive ? 'live' : 'ended';
    const eventParties = { signatories: [...signatories], observers: [...observers], witnessParties };
    const event = { contractId: id, offset, nodeId: node, ...eventParties };
    return [frames.created({ ...event, ...createArgument, acsDelta }), contract];
  }

  #seed(offset: number): void {
    const rowsBefore = this.rows.length;
    const [createdEvent, contract] = this.#begin({ node: 0, offset }, 'seed');
    const { id, synchronizer } = contract;
    const otherSynchronizer = synchronizer === frames.here ? frames.there : frames.here;
    const reassignment = {
      contractId: id,
      submitter: this.#pick(parties),
      source: synchronizer,
      target: otherSynchronizer,
      offset,
    };
    if (offset % 7 === 0) {
      const witnessParties = this.#some(3, 1);
      this.#half([offset, id, 'u'], witnessParties);
      const unassignedEvent = frames.unassigned({ ...reassignment, witnessParties });
      this.entries.push(frames.entry('JsIncompleteUnassigned', { createdEvent, unassignedEvent }));
      contract.state = 'travelling';
    } else if (offset % 7 === 1) {
      // Only the assign is known, so there is no contract yet.
      this.rows.splice(rowsBefore);
      this.#half([offset, id, 'a'], createdEvent['witnessParties'] as string[]);
      const assignedEvent = frames.assigned({
        ...reassignment,
        source: otherSynchronizer,
        target: synchronizer,
        createdEvent,
      });
      this.entries.push(frames.entry('JsIncompleteAssigned', { assignedEvent }));
      contract.state = 'ended';
    } else {
      const entry = { createdEvent, synchronizerId: synchronizer, reassignmentCounter: 0 };
      this.entries.push(frames.entry('JsActiveContract', entry));
    }
    this.#seers = new Set();
  }

  #transaction(offset: number, events: Json[], synchronizer: string): void {
    const ids = { workflowId: `workflow ${offset}`, commandId: `command ${offset}`, synchronizerId: synchronizer };
    this.#update(
      frames.transaction(offset, events, { ...ids, recordTime: timeOf(offset), effectiveAt: timeOf(offset) }),
    );
  }

  #create(): void {
    const offset = this.#next();
    const events = Array.from({ length: this.#random.between(1, 3) }, (_, node) => {
      const [CreatedEvent] = this.#begin({ node, offset }, 'create');
      return { CreatedEvent };
    });
    this.#transaction(offset, events, frames.here);
  }

  /** Exercises a contract, whatever its state is, because divulged contracts can also be exercised. */
  #exercise([interfaceId, choice, templateId = template]: Choice = this.#pick(choices)): void {
    const contract = this.#pick(this.#contracts);
    const offset = this.#next();
    const consuming = contract.state === 'live' && this.#random.chance(0.5);
    const children = this.#random.between(0, 2);
    const actingParties = this.#some(2, 1);
    const witnessParties = this.#some(3, 1);
    this.#row('exercises', [offset, 0], [...actingParties, ...witnessParties]);
    this.#row('event_parties', [actingParties.join(), witnessParties.join()], [...actingParties, ...witnessParties]);
    const exercisedFrame = frames.exercised({
      offset,
      nodeId: 0,
      contractId: contract.id,
      templateId,
      packageName: packageNameOf(templateId),
      interfaceId,
      choice,
      consuming,
      actingParties,
      witnessParties,
      choiceArgument: argumentOf(offset, contract.id, actingParties[0] ?? ''),
      exerciseResult: resultOf(offset),
      lastDescendantNodeId: children,
      acsDelta: consuming,
    });
    if (consuming) contract.state = 'ended';
    const childEvents = Array.from({ length: children }, (_, index) => {
      const [CreatedEvent] = this.#begin({ node: index + 1, offset }, 'create');
      return { CreatedEvent };
    });
    this.#transaction(offset, [{ ExercisedEvent: exercisedFrame }, ...childEvents], contract.synchronizer);
  }

  #of(state: Contract['state']): Contract | undefined {
    const candidates = this.#contracts.filter((contract) => contract.state === state);
    return candidates.length === 0 ? undefined : this.#pick(candidates);
  }

  #archive(): void {
    const contract = this.#of('live');
    if (contract === undefined) return;
    const offset = this.#next();
    const witnessParties = this.#some(3, 1);
    this.#row('archives', [offset, 0], witnessParties);
    this.#row('event_parties', ['', witnessParties.join()], witnessParties);
    contract.state = 'ended';
    const event = frames.archived({ offset, nodeId: 0, contractId: contract.id, witnessParties });
    this.#transaction(offset, [{ ArchivedEvent: event }], contract.synchronizer);
  }

  #leave(): void {
    const contract = this.#of('live');
    if (contract === undefined) return;
    const offset = this.#next();
    const witnessParties = this.#some(3, 1);
    this.#half([offset, contract.id, 'u'], witnessParties);
    contract.state = 'travelling';
    const [source, target] = this.#ends(contract);
    const unassignedEvent = frames.unassigned({
      offset,
      nodeId: 0,
      contractId: contract.id,
      source,
      target,
      witnessParties,
      submitter: this.#pick(parties),
      reassignmentId: `r${offset}`,
    });
    this.#update(frames.reassignment(offset, { JsUnassignedEvent: { value: unassignedEvent } }, source));
  }

  #arrive(): void {
    const contract = this.#of('travelling');
    if (contract === undefined) return;
    const offset = this.#next();
    const [source, target] = this.#ends(contract);
    contract.synchronizer = target;
    contract.counter += 1;
    const [createdEvent] = this.#begin({ node: 0, offset }, 'assign', contract);
    this.#half([offset, contract.id, 'a'], createdEvent['witnessParties'] as string[]);
    const assignedEvent = frames.assigned({
      source,
      target,
      createdEvent,
      reassignmentId: `r${offset}`,
      reassignmentCounter: contract.counter,
      submitter: this.#pick(parties),
    });
    this.#update(frames.reassignment(offset, { JsAssignmentEvent: assignedEvent }, target));
  }

  #ends({ synchronizer }: Contract): [string, string] {
    return synchronizer === frames.here ? [frames.here, frames.there] : [frames.there, frames.here];
  }

  /** Hosting changes of several parties at once. An event of an unknown kind names no party. */
  #host(): void {
    const offset = this.#next();
    const events = Array.from({ length: this.#random.between(1, 3) }, (_, index): Json => {
      const partyId = this.#pick(parties);
      const value = { partyId, participantId: 'p::1220', participantPermission: 'PARTICIPANT_PERMISSION_CONFIRMATION' };
      const isKnown = this.#certain || this.#random.chance(0.8);
      this.#row('topology_events', [offset, index], isKnown ? [partyId] : []);
      return { event: { [isKnown ? 'ParticipantAuthorizationChanged' : 'PartyMovedToTheMoon']: { value } } };
    });
    const ids = { updateId: `1220${offset}`, offset, synchronizerId: frames.here, recordTime: timeOf(offset) };
    this.#update(frames.update('TopologyTransaction', { ...ids, events, traceContext: null }));
  }

  /** An update of a kind that this version does not know. */
  #odd(): void {
    if (!this.#certain && !this.#random.chance(0.2)) return;
    const offset = this.#next();
    const ids = { updateId: `1220${offset}`, offset, synchronizerId: frames.here, recordTime: timeOf(offset) };
    this.#update(frames.update('Confession', { ...ids, secret: `odd ${offset}`, party: this.#pick(parties) }));
  }
}

/** Record time of an offset. Times rise with the offset, over several hours. */
function timeOf(offset: number): string {
  return new Date(Date.UTC(2026, 7, 14, 11) + offset * 97_000).toISOString().replace('Z', '001Z');
}
