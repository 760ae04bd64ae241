/**
 * The market decides the next action of the demo on a ledger. Every step appends exactly one update. The same seed,
 * options and times result in the same steps.
 */
import type { Ledger } from '../../ledger/ledger.ts';
import { Random } from '../../wire/random.ts';
import { Weights } from './chance.ts';
import type { Errand, ErrandOf } from './errand.ts';
import { MarketState } from './market-state.ts';
import type { SavedMarketState } from './market-state.ts';
import { instrumentsV1 } from '../templates/instruments.ts';
import { agreeExchange, allocateExchange, concludeExchange, leaveExchange } from './exchanges.ts';
import { burn, buyTraffic, collectRewards, mergeTraffic, mint, payCoupon } from './issuance.ts';
import { Licenses } from './licenses.ts';
import type { SavedLicences } from './licenses.ts';
import { upgradeLicensing } from '../templates/licensing-templates.ts';
import { names } from '../templates/names.ts';
import type { Prices } from '../prices.ts';
import { Plans } from '../plans/plans.ts';
import type { SavedPlan } from '../plans/plan.ts';
import { Population } from './population.ts';
import { advance, distributeRewards, openRounds } from './rounds.ts';
import { accept, allocate, conclude, abandon, initiate, propose, withdrawAllocations } from './settlements.ts';
import { liveGaps } from './tempo.ts';
import type { GapSchedule } from './tempo.ts';
import { randomInstrument, endTransfer, mergeSplit, transfer } from './transfers.ts';
import { arrive, returnHolding, Hostings, travel } from './travels.ts';
import { recordLiveness, license, markActivity } from './validators.ts';

export interface MarketOptions {
  readonly seed: number;
  /** Number of users that trade. Default 50. */
  readonly users?: number;
  readonly tempo?: GapSchedule;
  /** Prices of an Amulet. Default: always the same. */
  readonly prices?: Prices;
  /** Locks, names and purchases of traffic at times of their own, in addition. Default none. */
  readonly plans?: {
    /** Begin of the live traffic, microseconds since 1970. */
    readonly liveFrom: number;
  };
}

/** A market as stored in a snapshot. */
export interface SavedMarket {
  readonly state: SavedMarketState;
  readonly licenses: SavedLicences;
  readonly hostings: number;
  readonly plan: SavedPlan | undefined;
  /** Number of opening actions that are still to be made. */
  readonly openings: number;
}

/**
 * Appends exactly one update and returns true; returns false if there is nothing to do. `at`: microseconds since 1970.
 */
type Action = (at: number) => boolean;

type ErrandHandlers = { readonly [Kind in Errand['what']]: (errand: ErrandOf<Kind>, at: number) => boolean };

/** Frequency of each spontaneous action, in percent. */
const habits = {
  transfer: 78,
  mergeSplit: 6,
  propose: 4,
  exchange: 2,
  mint: 2,
  burn: 2,
  travel: 2,
  host: 1,
  coupon: 1,
  traffic: 2,
};
const defaultUsers = 50;
/** Offset of the random seed of the planned steps from that of the market. */
const planSeed = 101;

export class Market {
  readonly #state: MarketState;
  readonly #licenses: Licenses;
  readonly #hostings: Hostings;
  readonly #openings: Action[];
  readonly #doings: ErrandHandlers;
  readonly #actions: readonly Action[];
  readonly #weights = new Weights(Object.values(habits));
  readonly #plans: Plans | undefined;

  constructor(ledger: Ledger, options: MarketOptions) {
    const state = new MarketState(
      ledger,
      new Random(options.seed),
      new Population(options.users ?? defaultUsers),
      options.prices,
    );
    const gapsAt = options.tempo ?? (() => liveGaps);
    const { plans, seed } = options;
    const ownPlans = plans === undefined ? undefined : new Plans(state, seed + planSeed, plans.liveFrom);
    this.#state = state;
    this.#plans = ownPlans;
    this.#licenses = new Licenses(state, gapsAt);
    this.#hostings = new Hostings(state);
    this.#openings = openingActions(state, gapsAt, ownPlans);
    this.#doings = errandHandlers(state, gapsAt, this.#licenses, ownPlans);
    this.#actions = actions(state, this.#hostings);
  }

  /** Time of the next planned errand, microseconds since 1970; undefined if there is none. */
  get nextAt(): number | undefined {
    return this.#state.agenda.nextAt;
  }

  save(): SavedMarket {
    const { changes: hostings } = this.#hostings;
    return {
      state: this.#state.save(),
      licenses: this.#licenses.save(),
      hostings,
      plan: this.#plans?.save(),
      openings: this.#openings.length,
    };
  }

  /** Whether the next errand that is due at a time is a planned step. */
  isPlanned(at: number): boolean {
    return this.#openings.length === 0 && this.#state.agenda.isNext('planned', at);
  }

  load({ state, licenses, hostings, plan, openings: remainingOpenings }: SavedMarket): void {
    this.#state.load(state);
    this.#licenses.load(licenses);
    this.#hostings.changes = hostings;
    if (plan !== undefined) this.#plans?.load(plan);
    this.#openings.splice(0, this.#openings.length - remainingOpenings);
  }

  plan(at: number, errand: Errand): void {
    this.#state.agenda.add(at, errand);
  }

  /**
   * Makes the next update.
   * @param at effective time of the update, microseconds since 1970
   */
  step(at: number): void {
    const openingAction = this.#openings.shift();
    if (openingAction !== undefined) {
      openingAction(at);
      return;
    }
    const { agenda, random, people } = this.#state;
    for (let dueErrand = agenda.take(at); dueErrand !== undefined; dueErrand = agenda.take(at))
      if (this.#run(dueErrand, at)) return;
    for (let attempt = 0; attempt < 10; attempt += 1) {
      if (this.#actions[this.#weights.draw(random)]?.(at) === true) return;
    }
    mint(this.#state, randomInstrument(this.#state), people.user(random), at);
  }

  #run(errand: Errand, at: number): boolean {
    const run = this.#doings[errand.what] as (errand: Errand, at: number) => boolean;
    return run(errand, at);
  }
}

/** Actions that users begin spontaneously. */
function actions(state: MarketState, hostings: Hostings): readonly Action[] {
  const actionsByHabit: Record<keyof typeof habits, Action> = {
    transfer: (at) => transfer(state, at),
    mergeSplit: (at) => mergeSplit(state, at),
    propose: (at) => propose(state, at),
    exchange: (at) => agreeExchange(state, at),
    mint: (at) => mint(state, randomInstrument(state), state.people.user(state.random), at),
    burn: (at) => burn(state, at),
    travel: (at) => travel(state, at),
    host: (at) => hostings.change(at),
    coupon: (at) => payCoupon(state, at),
    traffic: (at) => buyTraffic(state, at),
  };
  return (Object.keys(habits) as (keyof typeof habits)[]).map((habit) => actionsByHabit[habit]);
}

/** The action for each kind of errand. */
function errandHandlers(
  state: MarketState,
  gapsAt: GapSchedule,
  licenses: Licenses,
  plans: Plans | undefined,
): ErrandHandlers {
  return {
    planned: ({ step }, at) => plans?.run(step, at) ?? false,
    'advance-rounds': (_, at) => advance(state, gapsAt, at),
    'hand-out-rewards': ({ round }, at) => distributeRewards(state, round, at),
    'collect-rewards': ({ party }, at) => collectRewards(state, party, at),
    'be-there': ({ party }, at) => recordLiveness(state, party, at),
    'mark-activity': ({ party }, at) => markActivity(state, party, at),
    'merge-traffic': ({ member }, at) => mergeTraffic(state, member, at),
    'end-transfer': (end, at) => endTransfer(state, end, at),
    arrive: (errand, at) => arrive(state, errand, at),
    return: ({ holding }, at) => returnHolding(state, holding, at),
    'accept-trade': ({ trade, proposal }, at) => accept(state, trade, proposal, at),
    'initiate-trade': ({ trade, proposal }, at) => initiate(state, trade, proposal, at),
    'allocate-leg': ({ trade, leg }, at) => allocate(state, trade, leg, at),
    'allocate-exchange': ({ trade, leg }, at) => allocateExchange(state, trade, leg, at),
    'conclude-exchange': ({ trade }, at) => concludeExchange(state, trade, at),
    'leave-exchange': ({ trade }, at) => leaveExchange(state, trade, at),
    'conclude-trade': ({ trade }, at) => conclude(state, trade, at),
    'take-back': ({ trade }, at) => withdrawAllocations(state, trade, at),
    'give-up-trade': ({ trade }, at) => abandon(state, trade, at),
    install: (_, at) => licenses.install(at),
    'accept-install': ({ request }, at) => licenses.accept(request, at),
    license: ({ install }, at) => licenses.license(install, at),
    'extra-license': (_, at) => licenses.extraLicence(at),
    renew: (_, at) => licenses.renew(at),
    'renew-all': (_, at) => licenses.renewAll(at),
    'pay-renewal': (errand, at) => licenses.pay(errand, at),
    'complete-renewal': (payment, at) => licenses.complete(payment, at),
    'cancel-renewal': (errand, at) => licenses.cancel(errand, at),
    'upgrade-licensing': (_, at) => {
      upgradeLicensing(state.ledger.model);
      return licenses.extraLicence(at);
    },
  };
}

/** The first actions on an empty ledger: rules, factories and rounds. The last one starts the regular events. */
function openingActions(state: MarketState, gapsAt: GapSchedule, plans: Plans | undefined): Action[] {
  const { people, agenda } = state;
  const create = (party: string, template: string, argument: Record<string, string | boolean>): Action => {
    return (at) => state.create(party, template, argument, { at }).events.length > 0;
  };
  const factories = instrumentsV1.map(({ id, adminField, factory }) => {
    const admin = people.adminOf(id);
    return create(admin, factory, { [adminField]: admin });
  });
  const bank = create(people.bank, names.depositRules, { admin: people.bank });
  const beginRounds: Action = (at) => {
    agenda.add(at + gapsAt(at).roundGap, { what: 'advance-rounds' });
    agenda.add(at + gapsAt(at).installGap / 3, { what: 'install' });
    agenda.add(at + 3 * gapsAt(at).installGap, { what: 'renew-all' });
    plans?.begin(at);
    return openRounds(state, at);
  };
  return [
    create(people.dso, names.amuletRules, { dso: people.dso, isDevNet: true }),
    ...factories,
    bank,
    (at) => license(state, at),
    beginRounds,
  ];
}
