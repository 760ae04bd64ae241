/**
 * The demo's economy: it decides what happens next on a ledger. Every step appends exactly one update; the same seed,
 * options and times make the same steps.
 */
import type { Ledger } from '../ledger.ts';
import { Random } from '../random.ts';
import type { Action } from './agenda.ts';
import { Weights } from './chance.ts';
import { Floor } from './floor.ts';
import { instruments } from './instruments.ts';
import { burn, buyTraffic, mint, payCoupon } from './issuance.ts';
import { Licences } from './licences.ts';
import { names } from './names.ts';
import { Population } from './population.ts';
import { advance, openRounds } from './rounds.ts';
import { propose } from './settlements.ts';
import { live } from './tempo.ts';
import type { Tempo } from './tempo.ts';
import { anyInstrument, mergeSplit, transfer } from './transfers.ts';
import { Hostings, travel } from './travels.ts';

export interface MarketOptions {
  readonly seed: number;
  /** How many users trade. Default 50. */
  readonly users?: number;
  readonly tempo?: Tempo;
}

/** How often users think of each thing, per hundred. */
const habits = { transfer: 81, mergeSplit: 6, propose: 4, mint: 2, burn: 2, travel: 2, host: 1, coupon: 1, traffic: 1 };
const defaultUsers = 50;

export class Market {
  readonly #floor: Floor;
  readonly #tempo: Tempo;
  readonly #licences: Licences;
  readonly #openings: Action[];
  readonly #actions: readonly Action[];
  readonly #weights = new Weights(Object.values(habits));

  constructor(ledger: Ledger, options: MarketOptions) {
    const floor = new Floor(ledger, new Random(options.seed), new Population(options.users ?? defaultUsers));
    this.#floor = floor;
    this.#tempo = options.tempo ?? (() => live);
    this.#licences = new Licences(floor, this.#tempo);
    this.#openings = openings(floor, this.#tempo, this.#licences);
    const hostings = new Hostings(floor);
    const byHabit: Record<keyof typeof habits, Action> = {
      transfer: (at) => transfer(floor, at),
      mergeSplit: (at) => mergeSplit(floor, at),
      propose: (at) => propose(floor, at),
      mint: (at) => mint(floor, anyInstrument(floor), floor.people.user(floor.random), at),
      burn: (at) => burn(floor, at),
      travel: (at) => travel(floor, at),
      host: (at) => hostings.change(at),
      coupon: (at) => payCoupon(floor, at),
      traffic: (at) => buyTraffic(floor, at),
    };
    this.#actions = (Object.keys(habits) as (keyof typeof habits)[]).map((habit) => byHabit[habit]);
  }

  /** When something planned is due, microseconds since 1970; undefined when nothing is. */
  get nextAt(): number | undefined {
    return this.#floor.agenda.nextAt;
  }

  /** Plans an action. */
  plan(at: number, action: Action): void {
    this.#floor.agenda.add(at, action);
  }

  /** Makes a licence with the newest version of its package. */
  readonly extraLicence: Action = (at) => this.#licences.extraLicence(at);

  /** Starts the renewal of a licence. */
  readonly renewal: Action = (at) => this.#licences.renew(at);

  /** Makes the next update happen. @param at its effective time, microseconds since 1970 */
  step(at: number): void {
    const opening = this.#openings.shift();
    if (opening !== undefined) {
      opening(at);
      return;
    }
    const { agenda, random, people } = this.#floor;
    for (let due = agenda.take(at); due !== undefined; due = agenda.take(at)) if (due(at)) return;
    for (let tries = 0; tries < 10; tries += 1) {
      if (this.#actions[this.#weights.draw(random)]?.(at) === true) return;
    }
    mint(this.#floor, anyInstrument(this.#floor), people.user(random), at);
  }
}

/** What comes first on an empty ledger: rules, factories and rounds. The last one starts what happens regularly. */
function openings(floor: Floor, tempo: Tempo, licences: Licences): Action[] {
  const { people, agenda } = floor;
  const create = (party: string, template: string, argument: Record<string, string | boolean>): Action => {
    return (at) => floor.create(party, template, argument, { at }).events.length > 0;
  };
  const factories = instruments.map(({ id, adminField, factory }) => {
    const admin = people.adminOf(id);
    return create(admin, factory, { [adminField]: admin });
  });
  const begin: Action = (at) => {
    agenda.add(at + tempo(at).roundGap, (then) => advance(floor, tempo, then));
    agenda.add(at + tempo(at).installGap / 3, (then) => licences.install(then));
    agenda.add(at + 3 * tempo(at).installGap, (then) => licences.renewAll(then));
    return openRounds(floor, at);
  };
  return [create(people.dso, names.amuletRules, { dso: people.dso, isDevNet: true }), ...factories, begin];
}
