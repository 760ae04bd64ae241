/** State that all actors of the demo share: the ledger, randomness, the agenda, and the known contracts. */
import type { Command } from '../../ledger/commands.ts';
import { textAt } from '../../wire/json.ts';
import type { JsonObject } from '../../wire/json.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Random, SavedRandom } from '../../wire/random.ts';
import type { CreatedEvent, Transaction } from '../../wire/wire.ts';
import { Agenda } from './agenda.ts';
import type { SavedAgenda } from './agenda.ts';
import { nameOf } from '../templates/funds.ts';
import { instruments, isDeposit } from '../templates/instruments.ts';
import type { Instrument } from '../templates/instruments.ts';
import { contextOf } from '../templates/metadata.ts';
import { names } from '../templates/names.ts';
import { leaveCompletions } from './rejections.ts';
import type { Population } from './population.ts';
import { constantPrice, firstRound } from '../prices.ts';
import type { Prices } from '../prices.ts';
import { Wallets } from './wallets.ts';
import type { SavedWallets } from './wallets.ts';

/** Options of a submission in addition to its commands. */
export interface SubmissionOptions {
  /** Microseconds since 1970. */
  readonly at: number;
  readonly workflowId?: string;
  /** The interface of the choice, if two interfaces declare a choice of its name. */
  readonly declaredBy?: string;
  /** A source of submissions whose random numbers, command ids and holdings the market does not share. */
  readonly source?: SubmissionSource;
}

/** Numbers the submissions of a source that is independent of the market. */
export interface SubmissionSource {
  readonly random: Random;
  readonly name: string;
  submissions: number;
}

/** A contract of a mining round. */
export interface KnownRound {
  readonly contractId: string;
  readonly number: number;
}

/** The known contracts as stored in a snapshot. */
export interface SavedMarketState {
  readonly random: SavedRandom;
  readonly agenda: SavedAgenda;
  readonly wallets: SavedWallets;
  readonly rounds: MarketState['rounds'];
  readonly summarizing: MarketState['summarizing'];
  readonly issuing: MarketState['issuing'];
  readonly closedRounds: MarketState['closedRounds'];
  readonly calculations: MarketState['calculations'];
  readonly rewardBatches: MarketState['rewardBatches'];
  readonly markers: MarketState['markers'];
  readonly coupons: MarketState['coupons'];
  readonly traffic: MarketState['traffic'];
  readonly single: Map<string, string>;
  readonly submissions: number;
}

/** Minimum and maximum traffic cost of a submission of this participant. */
const trafficCost = [2_000, 40_000] as const;
/** Share of this participant's submissions that have a trace context. */
const tracedShare = 0.6;
/** Templates that have a single contract. */
const singletons: ReadonlySet<string> = new Set([names.amuletRules, names.externalPartyConfig]);
/** Templates that have one contract per party, with the field that names the party. */
const singleTemplates: ReadonlyMap<string, string> = new Map([
  [names.validatorLicense, 'validator'],
  [names.validatorRight, 'validator'],
  [names.featuredAppRight, 'provider'],
]);
/** Field with the party that may collect a coupon if it has no beneficiary, by template. */
const collectors: ReadonlyMap<string, string> = new Map([
  [names.appRewardCoupon, 'provider'],
  [names.validatorRewardCoupon, 'user'],
  [names.svRewardCoupon, 'sv'],
  [names.livenessRecord, 'validator'],
  [names.rewardCoupon, 'provider'],
  [names.developmentCoupon, 'beneficiary'],
]);

export class MarketState {
  readonly ledger: Ledger;
  readonly random: Random;
  readonly people: Population;
  readonly prices: Prices;
  readonly agenda = new Agenda();
  readonly wallets = new Wallets();
  /** Contract ids of the open mining rounds, oldest first, with their numbers. */
  rounds: KnownRound[] = [];
  /** Rounds that are summarizing, issuing and closed, oldest first. */
  summarizing: KnownRound[] = [];
  issuing: KnownRound[] = [];
  closedRounds: KnownRound[] = [];
  /** Contract ids of requests for rewards of closed rounds, and of unprocessed batches of their results. */
  calculations: string[] = [];
  rewardBatches: string[] = [];
  /** Contract ids of activity markers. */
  markers: string[] = [];
  /** Reward coupons by the party that may collect them. */
  coupons = new Map<string, CreatedEvent[]>();
  /** Purchased traffic, by member. */
  traffic = new Map<string, CreatedEvent[]>();
  #single = new Map<string, string>();
  #submissions = 0;

  constructor(ledger: Ledger, random: Random, people: Population, prices: Prices = constantPrice) {
    this.prices = prices;
    this.ledger = ledger;
    this.random = random;
    this.people = people;
  }

  save(): SavedMarketState {
    const { rounds, summarizing, issuing, closedRounds, calculations, rewardBatches, markers, coupons, traffic } = this;
    const accounting = { calculations, rewardBatches };
    const stateFields = { rounds, summarizing, issuing, closedRounds, ...accounting, markers, coupons, traffic };
    const savedState = { ...stateFields, single: this.#single, submissions: this.#submissions };
    return { random: this.random.save(), agenda: this.agenda.save(), wallets: this.wallets.save(), ...savedState };
  }

  load(saved: SavedMarketState): void {
    this.random.load(saved.random);
    this.agenda.load(saved.agenda);
    this.wallets.load(saved.wallets);
    this.rounds = saved.rounds;
    this.summarizing = saved.summarizing;
    this.issuing = saved.issuing;
    this.calculations = saved.calculations;
    this.rewardBatches = saved.rewardBatches;
    this.markers = saved.markers;
    this.closedRounds = saved.closedRounds;
    this.coupons = saved.coupons;
    this.traffic = saved.traffic;
    this.#single = saved.single;
    this.#submissions = saved.submissions;
  }

  /** The newest contract of a template that has a single contract, or one per party; empty if none exists yet. */
  single(template: string, party = ''): string {
    return this.#single.get(`${template}${party}`) ?? '';
  }

  /** Extra arguments with the contracts that Amulet and deposits require. */
  extraArgs(instrument: Instrument, preapproved = false): JsonObject {
    if (isDeposit(instrument)) return contextOf({ 'deposit-rules': this.single(names.depositRules) }, preapproved);
    if (instrument.id !== 'Amulet') return contextOf({}, preapproved);
    const round = this.rounds.at(-1)?.contractId ?? '';
    return contextOf({ 'amulet-rules': this.single(names.amuletRules), 'open-round': round }, preapproved);
  }

  /**
   * Submits commands as one transaction, and updates the known contracts from it. Only submissions of this participant
   * have a command id and a cost.
   */
  submit(
    actAs: readonly string[],
    commands: readonly Command[],
    { at, workflowId, source }: SubmissionOptions,
  ): Transaction {
    const { random, name, number } = this.#numbered(source);
    const localParty = actAs.some((party) => this.people.isLocal(party));
    const transaction = this.ledger.submit({
      commands,
      actAs,
      at,
      commandId: localParty ? `${name}-${number}` : '',
      workflowId: workflowId ?? '',
      paidTrafficCost: localParty ? random.between(...trafficCost) : null,
      traced: localParty && random.chance(tracedShare),
    });
    for (const event of transaction.events) {
      if ('CreatedEvent' in event) this.#created(event.CreatedEvent, source !== undefined);
      else if ('ExercisedEvent' in event && event.ExercisedEvent.consuming) {
        this.#consumed(event.ExercisedEvent.contractId);
      }
    }
    if (localParty) leaveCompletions(this.ledger, { actAs, commands, transaction, number });
    return transaction;
  }

  /** The same for a single exercise. */
  exercise(
    actAs: string,
    contractId: string,
    choice: string,
    argument: JsonObject,
    options: SubmissionOptions,
  ): Transaction {
    const { declaredBy } = options;
    const exerciseTarget = declaredBy === undefined ? {} : { templateId: `#${declaredBy}` };
    return this.submit([actAs], [{ kind: 'exercise', contractId, choice, argument, ...exerciseTarget }], options);
  }

  /** The same for a single create. */
  create(actAs: string, template: string, argument: JsonObject, options: SubmissionOptions): Transaction {
    return this.submit([actAs], [{ kind: 'create', templateId: `#${template}`, argument }], options);
  }

  /** Id of the first contract of a template that a transaction created; empty if there is none. */
  made(transaction: Transaction, template: string): string {
    for (const event of transaction.events) {
      if ('CreatedEvent' in event && nameOf(event.CreatedEvent) === template) return event.CreatedEvent.contractId;
    }
    return '';
  }

  /** Price of an Amulet in USD, according to the newest round. */
  roundPrice(): string {
    return this.prices(this.rounds.at(-1)?.number ?? firstRound);
  }

  /** The same according to the contract that transfers use instead of a round. */
  configPrice(): string {
    return textAt(this.payload(this.single(names.externalPartyConfig)), 'amuletPrice');
  }

  /** The payload of a contract; undefined if it is not active. */
  payload(contractId: string): JsonObject | undefined {
    return this.ledger.find(contractId)?.created.createArgument;
  }

  /** The numbers of the next submission, of the market itself if no other source is given. */
  #numbered(source: SubmissionSource | undefined): {
    readonly random: Random;
    readonly name: string;
    readonly number: number;
  } {
    if (source === undefined) {
      this.#submissions += 1;
      return { random: this.random, name: 'demo', number: this.#submissions };
    }
    source.submissions += 1;
    return { random: source.random, name: source.name, number: source.submissions };
  }

  /** @param isKept whether another source keeps the contract, so that the market must not use it */
  #created(createdEvent: CreatedEvent, isKept: boolean): void {
    if (!createdEvent.acsDelta || isKept) return;
    this.wallets.add(createdEvent);
    const name = nameOf(createdEvent);
    const { contractId, createArgument: payload } = createdEvent;
    if (singletons.has(name) || instruments.some(({ factory }) => factory === name)) this.#single.set(name, contractId);
    const ownerField = singleTemplates.get(name);
    if (ownerField !== undefined) this.#single.set(`${name}${textAt(payload, ownerField)}`, contractId);
    this.#roundsOf(name)?.push({ contractId, number: Number(textAt(payload, 'round', 'number')) });
    this.#idsOf(name)?.push(contractId);
    if (name === names.memberTraffic) keep(this.traffic, textAt(payload, 'memberId'), createdEvent);
    const collector = collectors.get(name);
    if (collector === undefined) return;
    keep(this.coupons, textAt(payload, 'beneficiary') || textAt(payload, collector), createdEvent);
  }

  #roundsOf(name: string): KnownRound[] | undefined {
    if (name === names.openRound) return this.rounds;
    if (name === names.summarizingRound) return this.summarizing;
    if (name === names.issuingRound) return this.issuing;
    return name === names.closedRound ? this.closedRounds : undefined;
  }

  #idsOf(name: string): string[] | undefined {
    if (name === names.activityMarker) return this.markers;
    if (name === names.calculateRewards) return this.calculations;
    return name === names.processRewards ? this.rewardBatches : undefined;
  }

  #consumed(contractId: string): void {
    this.wallets.remove(contractId);
    for (const rounds of [this.rounds, this.summarizing, this.issuing, this.closedRounds]) {
      const index = rounds.findIndex((round) => round.contractId === contractId);
      if (index !== -1) rounds.splice(index, 1);
    }
    for (const ids of [this.markers, this.calculations, this.rewardBatches]) {
      const index = ids.indexOf(contractId);
      if (index !== -1) ids.splice(index, 1);
    }
  }
}

function keep(contractsByName: Map<string, CreatedEvent[]>, owner: string, createdEvent: CreatedEvent): void {
  contractsByName.set(owner, [...(contractsByName.get(owner) ?? []), createdEvent]);
}
