/**
 * Participants of one network that host the same parties. All of them return the same generated history. The offsets,
 * the gaps, the order of the two synchronizers and the delay differ between participants.
 */
import { accountTemplate } from '../../packages/ledger-sandbox/src/contracts/keyed-model.ts';
import { Ledger } from '../../packages/ledger-sandbox/src/ledger/ledger.ts';
import { assign, unassign } from '../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import { demoWorld, startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox, SandboxOptions } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { valueOf, type Update } from '../../packages/ledger-sandbox/src/wire/wire.ts';

/** Number of pending updates among which the next published one is chosen. */
const reorderWindow = 12;
const updateGapMicros = 40_000_000;
/** One in this many updates of a market is for a contract that moves between synchronizers. */
const stepsPerTravel = 4;

export interface NetworkOptions {
  readonly seed?: number;
  readonly participants?: number;
  /** Number of updates that have happened and are visible on all participants. */
  readonly updates?: number;
  readonly auth?: SandboxOptions['auth'];
  /** Whether contracts also move between the synchronizers. */
  readonly travels?: boolean;
}

interface Member {
  readonly sandbox: Sandbox;
  readonly random: Random;
  /** Updates that have happened but are not visible on the participant yet. */
  readonly pending: Update[];
}

export class Network {
  readonly #markets: readonly Market[];
  readonly #random: Random;
  readonly #members: readonly Member[];
  #micros = Date.UTC(2026, 0, 5, 8) * 1000;

  private constructor(members: readonly Member[], seed: number, isTravelling: boolean) {
    this.#markets = [new Market(seed, 0, isTravelling), new Market(seed + 50, 1, isTravelling)];
    this.#random = new Random(seed);
    this.#members = members;
  }

  static async open(options: NetworkOptions = {}): Promise<Network> {
    const { seed = 1, participants = 2, updates = 0, travels: isTravelling = false, auth } = options;
    const members: Member[] = [];
    for (let number = 0; number < participants; number += 1) {
      const participantId = `validator${number}::1220${String(number).repeat(8)}`;
      const sandbox = await startSandbox({
        participantId,
        limits: { checkpointIntervalMs: 50 },
        ...(auth === undefined ? {} : { auth }),
      });
      // The ledgers begin at different offsets, as if they had been started at different times.
      sandbox.ledger.skipOffsets(1_000 * number + 7);
      members.push({ sandbox, random: new Random(seed * 100 + number), pending: [] });
    }
    const network = new Network(members, seed, isTravelling);
    network.happen(updates);
    network.settle();
    return network;
  }

  get participants(): readonly Sandbox[] {
    return this.#members.map(({ sandbox }) => sandbox);
  }

  /** Ids of all updates that have happened. */
  get updateIds(): readonly string[] {
    return this.#markets.flatMap(({ updateIds }) => updateIds);
  }

  /** Generates this many updates. Each participant publishes some of them. */
  happen(updates: number): void {
    for (let stepCount = 0; stepCount < updates; stepCount += 1) {
      this.#micros += updateGapMicros;
      for (const update of this.#markets[this.#random.between(0, 1)]?.step(this.#micros) ?? []) {
        for (const member of this.#members) member.pending.push(update);
      }
    }
    for (const member of this.#members) {
      const candidateIndex = member.random.between(0, reorderWindow);
      while (member.pending.length > candidateIndex) this.#show(member);
    }
  }

  /** Adds an update, which every participant publishes later. */
  enqueue(update: Update): void {
    for (const { pending } of this.#members) pending.push(update);
  }

  /** Makes each participant publish all pending updates. */
  settle(): void {
    for (const member of this.#members) while (member.pending.length > 0) this.#show(member);
  }

  async close(): Promise<void> {
    for (const { sandbox } of this.#members) await sandbox.close();
  }

  #show(member: Member): void {
    const { pending, random, sandbox } = member;
    const candidates = pending
      .slice(0, reorderWindow)
      .map((_, index) => index)
      .filter((index) => isReorderable(pending, index));
    // Each participant is faster on one of the synchronizers.
    const preferredSynchronizer = sandbox.ledger.synchronizers[this.#members.indexOf(member) % 2]?.id;
    const quickIndexes = candidates.filter(
      (index) => valueOf(pending[index] as Update).synchronizerId === preferredSynchronizer,
    );
    const candidateIndexes = quickIndexes.length > 0 && random.chance(0.8) ? quickIndexes : candidates;
    const [chosenReassignment] = pending.splice(
      candidateIndexes[random.between(0, candidateIndexes.length - 1)] ?? 0,
      1,
    );
    if (chosenReassignment === undefined) return;
    if (random.chance(0.4)) sandbox.ledger.skipOffsets(random.between(1, 5));
    sandbox.ledger.commit(forParticipant(chosenReassignment, this.#members.indexOf(member), this.#members.length));
  }
}

/** A party that sees only the contracts that move between synchronizers. */
export const reassigningParty = 'Traveller::1220cc';

/** A contract that moves to the other synchronizer and back, and is archived. Then another one is created. */
export class ReassignmentDriver {
  readonly #ledger: Ledger;
  readonly #parties = ['Bank::1220cc', reassigningParty] as const;
  #contractId: string | undefined;
  #inFlight: string | undefined;
  #departures = 0;
  #made = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    for (const party of this.#parties) ledger.addLocalParty(party);
  }

  /** Generates one update. */
  step(at: number): void {
    const ledger = this.#ledger;
    if (this.#contractId === undefined) this.#contractId = this.#create(at);
    else if (this.#inFlight !== undefined) {
      assign(ledger, this.#inFlight, at);
      this.#inFlight = undefined;
    } else if (this.#departures < 2) {
      this.#departures += 1;
      this.#inFlight = unassign(ledger, this.#contractId, at);
    } else {
      const archive = { kind: 'exercise', contractId: this.#contractId, choice: 'Archive', argument: {} } as const;
      ledger.submit({ commands: [archive], actAs: this.#parties, at });
      [this.#contractId, this.#departures] = [undefined, 0];
    }
  }

  #create(at: number): string {
    const [bank, owner] = this.#parties;
    this.#made += 1;
    const argument = { bank, owner, number: `travels ${String(this.#made)}`, balance: '1.0', version: '1' };
    const create = { kind: 'create', templateId: `#${accountTemplate}`, argument } as const;
    const [event] = this.#ledger.submit({ commands: [create], actAs: this.#parties, at }).events;
    if (event === undefined || !('CreatedEvent' in event)) throw new Error('nothing was created');
    return event.CreatedEvent.contractId;
  }
}

/** The updates of one synchronizer. */
class Market {
  readonly #ledger: Ledger;
  readonly #steps: Steps;
  readonly #synchronizer: 0 | 1;
  readonly #traveller: ReassignmentDriver | undefined;
  #made = 0;

  constructor(seed: number, synchronizer: 0 | 1, isTravelling: boolean) {
    this.#ledger = new Ledger(demoWorld(), { seed });
    this.#steps = new Steps(this.#ledger, seed);
    this.#synchronizer = synchronizer;
    this.#traveller = isTravelling ? new ReassignmentDriver(this.#ledger) : undefined;
  }

  get updateIds(): readonly string[] {
    return this.#ledger.range(0, Infinity, Infinity).map(({ updateId }) => updateId);
  }

  step(at: number): readonly Update[] {
    const endBefore = this.#ledger.ledgerEnd();
    this.#made += 1;
    if (this.#traveller !== undefined && this.#made % stepsPerTravel === 0) this.#traveller.step(at);
    else this.#steps.step(at);
    const [firstSynchronizer, otherSynchronizer] = this.#ledger.synchronizers.map(({ id }) => id);
    // Contracts are created on the market's own synchronizer, and move from there to the other one and back.
    const swapSynchronizers = (text: string): string =>
      text.replaceAll(
        new RegExp(`${firstSynchronizer}|${otherSynchronizer}`, 'gu'),
        (id) => (id === firstSynchronizer ? otherSynchronizer : firstSynchronizer) ?? id,
      );
    return this.#ledger.range(endBefore, Infinity, Infinity).flatMap(({ update }) => {
      if (update === undefined) return [];
      const text = JSON.stringify(update);
      return [JSON.parse(this.#synchronizer === 0 ? text : swapSynchronizers(text)) as Update];
    });
  }
}

/**
 * True if a participant may publish this update next. The order within a synchronizer is the same on all participants,
 * and an update follows the updates on which it depends.
 */
function isReorderable(pending: readonly Update[], index: number): boolean {
  const update = pending[index];
  if (update === undefined) return false;
  const { synchronizerId } = valueOf(update);
  const contracts = contractsOf(update);
  return pending
    .slice(0, index)
    .every(
      (candidateUpdate) =>
        valueOf(candidateUpdate).synchronizerId !== synchronizerId &&
        [...contractsOf(candidateUpdate)].every((id) => !contracts.has(id)),
    );
}

const idsByUpdate = new WeakMap<Update, ReadonlySet<string>>();

function contractsOf(update: Update): ReadonlySet<string> {
  const referencedIds = idsByUpdate.get(update) ?? new Set(JSON.stringify(update).match(/"00[0-9a-f]{60,}"/g));
  idsByUpdate.set(update, referencedIds);
  return referencedIds;
}

/** Sets the data that differs between participants: the submitter, the span in the trace, and the node ids. */
function forParticipant(update: Update, index: number, members: number): Update {
  const updateNumber = Number.parseInt(valueOf(update).updateId.slice(-4), 16) % members === index;
  const text = JSON.stringify(update)
    .replaceAll(
      /"(nodeId|lastDescendantNodeId)":(\d+)/g,
      (_, name: string, id: string) => `"${name}":${Number(id) + index}`,
    )
    .replaceAll(/"traceparent":"00-([0-9a-f]+)-[0-9a-f]{15}/g, `"traceparent":"00-$1-${String(index).repeat(15)}`);
  const copy = JSON.parse(text) as Update;
  if (!updateNumber) Object.assign(valueOf(copy), { commandId: '', paidTrafficCost: null });
  return copy;
}
