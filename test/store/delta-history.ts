/**
 * A random history in the form in which participants of different releases send it, in each transaction shape. It
 * includes the expected tables (lifetimes, counts, archives and sums), which are derived from the generated events.
 */
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import * as frames from '../support/frames.ts';
import type { Json, JsonRecord } from '../support/frames.ts';

/**
 * `old`: LEDGER_EFFECTS of releases before 3.4, whose events do not report whether they change the active contracts.
 */
export type Rendering = 'delta' | 'effects' | 'old';

export interface Lifetime {
  readonly contract: string;
  readonly synchronizer: string;
  readonly from: number;
  readonly template: string;
  to: number | null;
}

export interface Archived {
  readonly offset: number;
  readonly node: number;
  readonly contract: string;
  readonly template: string;
  readonly witnesses: readonly string[];
}

export interface EventSums {
  creates: number;
  archives: number;
  exercises: number;
}

/** Expected contents of the tables. */
export interface ExpectedHistory {
  readonly lifetimes: Lifetime[];
  readonly archives: Archived[];
  /** Sums by hour, template entity, version, choice (empty for creates and archived events) and synchronizer. */
  readonly sums: Map<string, EventSums>;
}

interface Contract {
  readonly id: string;
  readonly entity: string;
  readonly version: string;
  readonly signatories: readonly string[];
  readonly observers: readonly string[];
  synchronizer: string;
  state: 'active' | 'travelling' | 'ended';
}

const parties = ['Ann', 'Ben', 'Cyd', 'Dan', 'Eva'].map((name) => `${name}::1220`);
/** The hosted parties. The participant sends only their events. */
const hostedParties = parties.slice(0, 3);
const versions = ['a1'.repeat(32), 'a2'.repeat(32)] as const;

export class DeltaHistory {
  /** Updates in the order of their offsets, without events that the rendering does not contain. */
  readonly updates: { readonly offset: number; readonly text: string }[] = [];
  readonly expected: ExpectedHistory = { lifetimes: [], archives: [], sums: new Map() };
  readonly #random: Random;
  readonly #rendering: Rendering;
  readonly #contracts: Contract[] = [];
  #made = 0;
  #offset = 0;
  /** Events of the current transaction. */
  #events: Json[] = [];
  #node = 0;
  #place = frames.here;

  constructor(seed: number, steps: number, rendering: Rendering) {
    this.#random = new Random(seed);
    this.#rendering = rendering;
    for (let step = 0; step < steps; step += 1) {
      this.#offset += this.#random.between(1, 4);
      const kind = this.#random.between(0, 9);
      if (kind === 0) this.#leave();
      else if (kind === 1) this.#arrive();
      else this.#transaction();
    }
  }

  /** Contracts that were active right after an offset, in the form `contract@activated`. */
  activeAt(offset: number): readonly string[] {
    return this.expected.lifetimes
      .filter(({ from, to }) => from <= offset && (to === null || to > offset))
      .map(({ contract, from }) => `${contract}@${from}`)
      .sort();
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random.between(0, list.length - 1)] as T;
  }

  #parties(candidateParties: readonly string[], minimum: number, maximum: number): string[] {
    const remainingParties = [...candidateParties];
    const count = this.#random.between(minimum, maximum);
    return Array.from(
      { length: count },
      () => remainingParties.splice(this.#random.between(0, remainingParties.length - 1), 1)[0] ?? '',
    );
  }

  #find(state: Contract['state'], synchronizer?: string): Contract | undefined {
    const candidates = this.#contracts.filter(
      (c) => c.state === state && (synchronizer === undefined || c.synchronizer === synchronizer),
    );
    return candidates.length === 0 ? undefined : this.#pick(candidates);
  }

  /** The hosted parties among the given ones. */
  #witnesses(candidateParties: readonly string[]): string[] {
    return hostedParties.filter((party) => candidateParties.includes(party));
  }

  #transaction(): void {
    this.#place = this.#random.chance(0.7) ? frames.here : frames.there;
    this.#events = [];
    this.#node = this.#random.between(0, 2);
    const actions = [
      () => this.#create(true),
      () => this.#create(true),
      () => this.#create(false),
      () => this.#archive(),
      () => this.#archive(),
      () => this.#transient(),
      () => this.#exercise(),
    ];
    for (let remainingAttempts = this.#random.between(1, 4); remainingAttempts > 0; remainingAttempts -= 1)
      this.#pick(actions)();
    if (this.#events.length === 0) return;
    const times = { recordTime: this.#time(), effectiveAt: this.#time() };
    this.#push(frames.transaction(this.#offset, this.#events, { synchronizerId: this.#place, ...times }));
  }

  #push(frame: JsonRecord): void {
    this.updates.push({ offset: this.#offset, text: JSON.stringify(frame) });
  }

  /** Each offset is twenty minutes later, so the updates are spread over many hours. */
  #time(): string {
    return new Date(Date.UTC(2026, 7, 14) + this.#offset * 1_200_000).toISOString().replace('Z', '001Z');
  }

  #count(change: Partial<EventSums>, { entity, version }: Contract, choice = ''): void {
    const key = [this.#time().slice(0, 13), entity, version, choice, this.#place].join('|');
    const sums = this.expected.sums.get(key) ?? { creates: 0, archives: 0, exercises: 0 };
    for (const [name, increment] of Object.entries(change)) sums[name as keyof EventSums] += increment;
    this.expected.sums.set(key, sums);
  }

  #new(isStakeholder: boolean): Contract {
    // If no stakeholder is a hosted party, the participant only witnesses the contract.
    const otherParties = parties.filter((party) => !hostedParties.includes(party));
    const signatories = isStakeholder
      ? [this.#pick(hostedParties), ...this.#parties(otherParties, 0, 1)]
      : this.#parties(otherParties, 1, 2);
    this.#made += 1;
    return {
      id: `00${String(this.#made).padStart(4, '0')}`,
      entity: this.#pick(['Coin', 'Bond']),
      version: this.#pick(versions),
      signatories,
      observers: isStakeholder ? this.#parties(parties, 0, 1).filter((party) => !signatories.includes(party)) : [],
      synchronizer: this.#place,
      state: 'active',
    };
  }

  #acsDelta(changes: boolean): { acsDelta?: boolean } {
    return this.#rendering === 'old' ? {} : { acsDelta: changes };
  }

  #createdEvent(contract: Contract, witnessParties: string[], changes: boolean): JsonRecord {
    const { id, entity, version, signatories, observers } = contract;
    const event = frames.created({
      offset: this.#offset,
      nodeId: this.#node,
      contractId: id,
      templateId: `${version}:Main:${entity}`,
      signatories: [...signatories],
      observers: [...observers],
      witnessParties,
      packageName: 'money',
      interfaceViews: [],
      createArgument: { id },
      createdEventBlob: '',
    });
    if (this.#rendering === 'old') for (const name of ['acsDelta', 'representativePackageId']) delete event[name];
    return { ...event, ...this.#acsDelta(changes) };
  }

  #create(isStakeholder: boolean): Contract | undefined {
    if (!isStakeholder && this.#rendering === 'delta') return undefined;
    const contract = this.#new(isStakeholder);
    const witnesses = isStakeholder
      ? this.#witnesses([...contract.signatories, ...contract.observers])
      : [this.#pick(hostedParties)];
    this.#events.push({ CreatedEvent: this.#createdEvent(contract, witnesses, isStakeholder) });
    this.#node += 1;
    this.#count({ creates: 1 }, contract);
    if (!isStakeholder) return undefined;
    this.#contracts.push(contract);
    this.#live(contract);
    return contract;
  }

  #live({ id, entity, version, synchronizer }: Contract, to: number | null = null): void {
    const template = `${version}:${entity}`;
    this.expected.lifetimes.push({ contract: id, synchronizer: synchronizer, from: this.#offset, template, to });
  }

  #ended(contract: Contract, state: 'ended' | 'travelling'): void {
    contract.state = state;
    const openLifetime = this.expected.lifetimes.find(({ contract: id, to }) => id === contract.id && to === null);
    if (openLifetime !== undefined) openLifetime.to = this.#offset;
  }

  /** Archives a contract by a package that may be newer than the package of its create. */
  #archive(): void {
    const contract = this.#find('active', this.#place);
    // In ACS_DELTA, a participant sends nothing about contracts that one transaction creates and archives.
    if (contract === undefined || this.#isOfThis(contract)) return;
    const targetContract = { ...contract, version: this.#pick([contract.version, versions[1]]) };
    this.#consume(targetContract, this.#witnesses([...contract.signatories, ...contract.observers]), true);
    this.#ended(contract, 'ended');
  }

  #isOfThis({ id }: Contract): boolean {
    return this.expected.lifetimes.some(({ contract, from }) => contract === id && from === this.#offset);
  }

  #consume(targetContract: Contract, witnesses: string[], changes: boolean): void {
    const event = {
      offset: this.#offset,
      nodeId: this.#node,
      contractId: targetContract.id,
      witnessParties: witnesses,
      templateId: `${targetContract.version}:Main:${targetContract.entity}`,
      packageName: 'money',
      implementedInterfaces: [],
    };
    if (this.#rendering === 'delta') {
      const { id: contract, version, entity } = targetContract;
      const row = { offset: this.#offset, node: this.#node, contract, template: `${version}:${entity}`, witnesses };
      this.expected.archives.push(row);
      this.#events.push({ ArchivedEvent: event });
      this.#count({ archives: 1 }, targetContract);
    } else {
      this.#events.push({ ExercisedEvent: this.#exercised(event, 'Archive', true, changes) });
      this.#count({ archives: 1, exercises: 1 }, targetContract, 'Archive');
    }
    this.#node += 1;
  }

  #exercised(event: JsonRecord, choice: string, consuming: boolean, changes: boolean): JsonRecord {
    const exercise = frames.exercised({
      ...event,
      interfaceId: null,
      choice,
      consuming,
      lastDescendantNodeId: this.#node,
      actingParties: [this.#pick(parties)],
      choiceArgument: {},
      exerciseResult: {},
    });
    delete exercise['acsDelta'];
    return { ...exercise, ...this.#acsDelta(changes) };
  }

  /** Creates and archives a contract in one transaction. Before 3.4, no field says that it was never active. */
  #transient(): void {
    if (this.#rendering === 'delta') return;
    const contract = this.#new(true);
    const witnesses = this.#witnesses(contract.signatories);
    this.#events.push({ CreatedEvent: this.#createdEvent(contract, witnesses, false) });
    this.#count({ creates: 1 }, contract);
    this.#node += 1;
    this.#consume(contract, witnesses, false);
    if (this.#rendering === 'old') this.#live(contract, this.#offset);
  }

  #exercise(): void {
    const contract = this.#find('active', this.#place);
    if (contract === undefined || this.#rendering === 'delta') return;
    const { id: contractId, entity, version, signatories } = contract;
    const eventFields = {
      offset: this.#offset,
      nodeId: this.#node,
      contractId,
      templateId: `${version}:Main:${entity}`,
    };
    const event = { ...eventFields, witnessParties: this.#witnesses(signatories), packageName: 'money' };
    this.#events.push({ ExercisedEvent: this.#exercised(event, 'Look', false, false) });
    this.#count({ exercises: 1 }, contract, 'Look');
    this.#node += 1;
  }

  #half(contract: Contract) {
    const [source, target] =
      contract.synchronizer === frames.here ? [frames.here, frames.there] : [frames.there, frames.here];
    return { source, target, reassignmentId: `r${contract.id}`, submitter: hostedParties[0] ?? '' };
  }

  #leave(): void {
    const contract = this.#find('active');
    if (contract === undefined) return;
    const { id: contractId, version, entity, synchronizer } = contract;
    const event = { contractId, templateId: `${version}:Main:${entity}`, offset: this.#offset, packageName: 'money' };
    const value = frames.unassigned({ ...this.#half(contract), ...event, nodeId: 0 });
    this.#push(this.#timed(frames.reassignment(this.#offset, { JsUnassignedEvent: { value } }, synchronizer)));
    this.#ended(contract, 'travelling');
  }

  #arrive(): void {
    const contract = this.#find('travelling');
    if (contract === undefined) return;
    const reassignmentHalf = this.#half(contract);
    contract.synchronizer = reassignmentHalf.target;
    contract.state = 'active';
    this.#node = 0;
    const witnesses = this.#witnesses([...contract.signatories, ...contract.observers]);
    const createdEvent = this.#createdEvent(contract, witnesses, true);
    const event = frames.assigned({ ...reassignmentHalf, createdEvent });
    this.#push(this.#timed(frames.reassignment(this.#offset, { JsAssignmentEvent: event }, contract.synchronizer)));
    this.#live(contract);
  }

  #timed(frame: JsonRecord): JsonRecord {
    return JSON.parse(JSON.stringify(frame).replaceAll(frames.recordTime, this.#time())) as JsonRecord;
  }
}
