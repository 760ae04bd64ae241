/**
 * A sandbox ledger whose validator buys traffic in both ways, and spends it by commands of known cost at known times.
 * The model of what it bought and paid is made from these costs alone, with integers.
 */
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import type { JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import { failure } from '../../../packages/ledger-sandbox/src/wire/failure.ts';
import { formatNumeric, formatTimestamp } from '../../../packages/ledger-sandbox/src/wire/values.ts';
import type { CreatedEvent, Transaction } from '../../../packages/ledger-sandbox/src/wire/wire.ts';
import { longestPeriod } from '../../../packages/ledger-sandbox/src/ledger/deduplication.ts';
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import type { Submission } from '../../../packages/ledger-sandbox/src/ledger/commands.ts';
import { nameOf } from '../../../packages/ledger-sandbox/src/demo/templates/funds.ts';
import { amuletPrice } from '../../../packages/ledger-sandbox/src/demo/templates/holding-templates.ts';
import { amulet } from '../../../packages/ledger-sandbox/src/demo/templates/instruments.ts';
import { contextOf, reasonMeta } from '../../../packages/ledger-sandbox/src/demo/templates/metadata.ts';
import { names } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import {
  trafficCost,
  trafficMemo,
  trafficReceiver,
} from '../../../packages/ledger-sandbox/src/demo/templates/traffic.ts';

const dso = 'DSO';
const validator = 'validator';
export const minute = 60_000;
export const hour = 60 * minute;
/** Default beginning of a history: a full hour, milliseconds since 1970. */
const usualBeginning = Date.UTC(2026, 0, 5, 8);

/** A command of the participant. */
export interface PlannedCommand {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bytes: number;
  readonly rejectedBytes: number | undefined;
}

interface BoughtTraffic {
  readonly at: number;
  readonly bytes: bigint;
  readonly isTransfer: boolean;
}

/** Commands every four minutes with random costs; one in nine is followed by a rejected one. */
export function plannedCommands(seed: number, days: number, beginning = usualBeginning): readonly PlannedCommand[] {
  const random = new Random(seed);
  return Array.from({ length: days * 24 * 15 }, (_, index) => ({
    at: beginning + hour + index * 4 * minute + random.between(0, 2 * minute),
    bytes: random.between(1_000, 9_000),
    rejectedBytes: index % 9 === 0 ? random.between(500, 5_000) : undefined,
  }));
}

/** All bytes that a command and its rejected repetition cost. */
export const costOf = ({ bytes, rejectedBytes = 0 }: PlannedCommand): number => bytes + rejectedBytes;

/** The market of one validator, and the model of its traffic. */
export class TrafficWorld {
  readonly #ledger: Ledger;
  readonly #rules: string;
  readonly #factory: string;
  readonly #config: string;
  #amulets: readonly string[];
  /** Amulet units of 10^-10 that are left. */
  #units: bigint;
  readonly purchases: BoughtTraffic[] = [];
  readonly costs: { readonly at: number; readonly bytes: number; readonly isRejected: boolean }[] = [];
  readonly balances: { readonly at: number; readonly units: bigint }[] = [];

  constructor(ledger: Ledger, units: bigint, beginning = usualBeginning) {
    this.#ledger = ledger;
    this.#units = units;
    const create = (template: string, argument: JsonObject, actAs: readonly string[]): string => {
      const [event] = this.#submit(
        { commands: [{ kind: 'create', templateId: `#${template}`, argument }], actAs },
        beginning,
      ).events;
      return event !== undefined && 'CreatedEvent' in event ? event.CreatedEvent.contractId : '';
    };
    this.#rules = create(names.amuletRules, { dso }, [dso]);
    this.#factory = create(amulet.factory, { dso }, [dso]);
    this.#config = create(
      names.externalPartyConfig,
      {
        dso,
        holdingFeesOpenRoundNumber: { number: '0' },
        amuletPrice,
        targetArchiveAfter: formatTimestamp((beginning + 1000 * hour) * 1000),
        trafficPrice: '0.0150000000',
        minTrafficTopupAmount: '1',
      },
      [dso],
    );
    const holding = { admin: dso, owner: validator, amount: formatNumeric(units), round: '0' };
    this.#amulets = [create(amulet.holding, amulet.free(holding), [dso, validator])];
    this.balances.push({ at: beginning, units });
  }

  get dso(): string {
    return dso;
  }

  #submit(submission: Submission, at: number, bytes: number | null = null): Transaction {
    const { userId: _, ...rest } = submission;
    const transaction = this.#ledger.submit({ ...rest, at: at * 1000, paidTrafficCost: bytes });
    if (bytes !== null) this.costs.push({ at: Date.parse(transaction.recordTime), bytes, isRejected: false });
    return transaction;
  }

  /** A command, whose rejected repetition has only a completion. */
  command({ at, bytes, rejectedBytes }: PlannedCommand): void {
    const argument = { issuer: validator, owner: validator, amount: '1' };
    const commands = [{ kind: 'create', templateId: `#${names.iou}`, argument }] as const;
    const { synchronizerId, recordTime, traceContext } = this.#submit({ commands, actAs: [validator] }, at, bytes);
    if (rejectedBytes === undefined) return;
    this.#ledger.skipOffsets(1);
    const offset = this.#ledger.ledgerEnd();
    const { body: refusal } = failure({ code: 'LOCAL_VERDICT_LOCKED_CONTRACTS', category: 2, cause: 'a test' });
    const change = { userId: 'app', actAs: [validator], commandId: `rejected-${offset}`, submissionId: `${offset}` };
    const facts = { deduplication: longestPeriod, externalHash: null, offset, updateId: '', refusal, synchronizerId };
    const times = { at: 1000 * Date.parse(recordTime), recordTime, traceContext };
    this.#ledger.completions.note({ ...change, ...facts, ...times, paidTrafficCost: rejectedBytes });
    this.costs.push({ at: Date.parse(recordTime), bytes: rejectedBytes, isRejected: true });
  }

  /** Buys traffic by the choice of the rules, or by a transfer with a memo. */
  buy(at: number, bytes: bigint, isTransfer: boolean): void {
    const [{ id: synchronizerId }] = this.#ledger.synchronizers;
    const purchase = { memberId: `PAR::${this.#ledger.participantId}`, synchronizerId, migrationId: '0', bytes };
    const { events, recordTime } = isTransfer ? this.#transfer(at, purchase) : this.#choice(at, purchase);
    this.#units -= trafficCost(bytes, amuletPrice);
    this.#amulets = events.flatMap((event) =>
      'CreatedEvent' in event && isAmulet(event.CreatedEvent) ? [event.CreatedEvent.contractId] : [],
    );
    const time = Date.parse(recordTime);
    this.purchases.push({ at: time, bytes, isTransfer });
    this.balances.push({ at: time, units: this.#units });
  }

  #choice(at: number, { bytes, ...member }: Parameters<typeof trafficMemo>[0]): Transaction {
    const argument = {
      inputs: this.#amulets.map((value) => ({ tag: 'InputAmulet', value })),
      context: { openMiningRound: '', issuingMiningRounds: [], validatorRights: [] },
      provider: validator,
      ...member,
      trafficAmount: String(bytes),
      expectedDso: dso,
    };
    const exercise = { kind: 'exercise', contractId: this.#rules, choice: 'AmuletRules_BuyMemberTraffic' } as const;
    return this.#submit({ commands: [{ ...exercise, argument }], actAs: [validator] }, at);
  }

  #transfer(at: number, purchase: Parameters<typeof trafficMemo>[0]): Transaction {
    const transfer = {
      sender: validator,
      receiver: trafficReceiver,
      amount: formatNumeric(trafficCost(purchase.bytes, amuletPrice)),
      instrumentId: { admin: dso, id: amulet.id },
      requestedAt: formatTimestamp(at * 1000),
      executeBefore: formatTimestamp((at + hour) * 1000),
      inputHoldingCids: [...this.#amulets],
      meta: reasonMeta(trafficMemo(purchase)),
    };
    const extraArgs = contextOf({ 'external-party-config-state': this.#config });
    const exercise = { kind: 'exercise', contractId: this.#factory, choice: 'TransferFactory_Transfer' } as const;
    const argument = { expectedAdmin: dso, transfer, extraArgs };
    return this.#submit({ commands: [{ ...exercise, argument }], actAs: [validator] }, at);
  }

  /** Sums of everything that was recorded until a time. */
  at(time: number) {
    const until = <Entry extends { readonly at: number }>(list: readonly Entry[]): readonly Entry[] =>
      list.filter(({ at }) => at <= time);
    const sum = (isRejected: boolean): number =>
      until(this.costs).reduce((total, cost) => total + (cost.isRejected === isRejected ? cost.bytes : 0), 0);
    const bought = (isTransfer: boolean): number =>
      until(this.purchases).reduce(
        (total, purchase) => total + (purchase.isTransfer === isTransfer ? Number(purchase.bytes) : 0),
        0,
      );
    return {
      bytesBoughtByChoice: bought(false),
      bytesBoughtByTransfer: bought(true),
      bytesPaid: sum(false),
      bytesRejected: sum(true),
      units: until(this.balances).at(-1)?.units ?? 0n,
    };
  }

  /** Bytes per hour over the full hours before a time. */
  rate(time: number, hours: number): number {
    const end = Math.floor(time / hour) * hour;
    const inWindow = this.costs.filter(({ at }) => at >= end - hours * hour && at < end);
    return inWindow.reduce((total, { bytes }) => total + bytes, 0) / hours;
  }
}

function isAmulet(event: CreatedEvent): boolean {
  return nameOf(event) === amulet.holding;
}
