/** Runs the planned steps of the demo. Each run appends one update; a step that needs two updates is run twice. */
import { Random } from '../../wire/random.ts';
import type { MarketState } from '../market/market-state.ts';
import { allocate, endLock, escrow, offer, takeBack } from './escrow-steps.ts';
import {
  aggregateLock,
  commit,
  governanceExpire,
  governanceLock,
  governanceUnlock,
  governanceVesting,
  governanceWithdraw,
  iterate,
  unlock,
  vestingLock,
  withdraw,
} from './lock-steps.ts';
import { buyTraffic, expireName, mergeTraffic, register, renewName } from './network-steps.ts';
import { Plan } from './plan.ts';
import type { SavedPlan } from './plan.ts';
import { plannedSteps } from './schedule.ts';
import type { PlannedStep, StepOf } from './step.ts';

type StepHandlers = { readonly [Kind in PlannedStep['do']]: (step: StepOf<Kind>, at: number) => boolean };

/** Time between two planned steps of the live traffic, microseconds. */
const liveGap = 300_000_000;
/** How long an escrow of the live traffic lasts, microseconds. */
const escrowMicros = 450_000_000;
const coin = 10n ** 10n;

export class Plans {
  readonly #plan: Plan;
  readonly #liveFrom: number;
  readonly #handlers: StepHandlers;

  /** @param liveFrom begin of the live traffic, microseconds since 1970 */
  constructor(state: MarketState, seed: number, liveFrom: number) {
    this.#plan = new Plan(state, new Random(seed));
    this.#liveFrom = liveFrom;
    this.#handlers = handlersOf(this.#plan);
  }

  save(): SavedPlan {
    return this.#plan.save();
  }

  load(saved: SavedPlan): void {
    this.#plan.load(saved);
  }

  /** Plans all steps. @param at time of the opening of the first rounds, microseconds since 1970 */
  begin(at: number): void {
    const end = Math.max(at, this.#liveFrom);
    for (const [time, step] of plannedSteps(this.#plan.state.people, at, end)) this.#plan.later(time, step);
    this.#plan.later(end + liveGap / 5, { do: 'live', turn: 0 });
  }

  /** Appends an update and returns true; returns false if a contract of the step is no longer active. */
  run(step: PlannedStep, at: number): boolean {
    const handler = this.#handlers[step.do] as (step: PlannedStep, at: number) => boolean;
    return handler(step, at);
  }
}

function handlersOf(plan: Plan): StepHandlers {
  return {
    'aggregate-lock': (step, at) => aggregateLock(plan, step, at),
    unlock: (step, at) => unlock(plan, step, at),
    'vesting-lock': (step, at) => vestingLock(plan, step, at),
    withdraw: (step, at) => withdraw(plan, step, at),
    'governance-lock': (step, at) => governanceLock(plan, step, at),
    'governance-unlock': (step, at) => governanceUnlock(plan, step, at),
    'governance-vesting': (step, at) => governanceVesting(plan, step, at),
    'governance-withdraw': (step, at) => governanceWithdraw(plan, step, at),
    'governance-expire': (step, at) => governanceExpire(plan, step, at),
    allocate: (step, at) => allocate(plan, step, at),
    offer: (step, at) => offer(plan, step, at),
    commit: (step, at) => commit(plan, step, at),
    iterate: (step, at) => iterate(plan, step, at),
    'take-back': (step, at) => takeBack(plan, step, at),
    escrow: (step, at) => escrow(plan, step, at),
    'end-lock': (step, at) => endLock(plan, step, at),
    name: (step, at) => register(plan, step, at),
    'renew-name': (step, at) => renewName(plan, step, at),
    'expire-name': (step, at) => expireName(plan, step, at),
    'buy-traffic': (step, at) => buyTraffic(plan, step, at),
    'merge-traffic': (_, at) => mergeTraffic(plan, at),
    live: ({ turn }, at) => live(plan, turn, at),
  };
}

/** The steps of live traffic take turns. They end what they begin, so that the number of contracts does not grow. */
function live(plan: Plan, turn: number, at: number): boolean {
  plan.later(at + liveGap, { do: 'live', turn: turn + 1 });
  const { users, venue } = plan.state.people;
  const [alice = '', , , , , , goran = ''] = users;
  const round = Math.floor(turn / 3);
  if (turn % 3 === 0) return buyTraffic(plan, { do: 'buy-traffic', by: round % 2 === 0 ? 'rules' : 'transfer' }, at);
  if (turn % 3 === 1) return withdraw(plan, { do: 'withdraw', key: 'vesting-alice', actors: [alice] }, at);
  const key = 'escrow-live';
  const end = Math.floor((at + escrowMicros) / 1_000_000) * 1_000_000;
  plan.later(end + 1_000_000, { do: 'end-lock', key, owner: goran });
  const context = `goods of order ${String(8_000 + round)} in escrow`;
  return escrow(plan, { do: 'escrow', key, owner: goran, units: 100n * coin, holder: venue, context, end }, at);
}
