/**
 * Actors of the demo: one DSO, three validators, four applications, a bank and about fifty users with very different
 * activity.
 */
import type { JsonObject } from '../../wire/json.ts';
import { partyId } from '../../wire/random.ts';
import type { Random } from '../../wire/random.ts';
import { basicAccount } from '../registry/accounts.ts';
import { zipf } from './chance.ts';
import type { Weights } from './chance.ts';

const firstNames = ['alice', 'bob', 'carol', 'dora', 'emil', 'fatima', 'goran', 'hana', 'ivan', 'june', 'kofi', 'lena'];
/** Exponent of the distribution of activity over the users. */
const zipfExponent = 1.1;
/** Share of the users whose submissions go through this participant. */
const localShare = 0.6;
/** One user in this many has its deposits at a custodian. */
const custodyEvery = 4;

function userName(index: number): string {
  const name = firstNames[index % firstNames.length] ?? 'user';
  return index < firstNames.length ? name : `${name}-${Math.floor(index / firstNames.length)}`;
}

export class Population {
  readonly dso = partyId('DSO', 'DSO');
  readonly validators = [1, 2, 3].map((index) => partyId(`validator-${index}`, `validator ${index}`));
  readonly registrar = partyId('harbor-registrar', 'harbor-registrar');
  readonly bondAgent = partyId('meridian-agent', 'meridian-agent');
  readonly bank = partyId('tidewater-bank', 'tidewater-bank');
  readonly venue = partyId('otc-venue', 'otc-venue');
  readonly licensor = partyId('pebble-licensing', 'pebble-licensing');
  readonly apps = [this.registrar, this.bondAgent, this.venue, this.licensor];
  /** Applications that are featured. */
  readonly featured = this.apps.slice(0, 2);
  readonly users: readonly string[];
  readonly #activity: Weights;
  readonly #local: ReadonlySet<string>;

  /** @param users number of users */
  constructor(users: number) {
    this.users = Array.from({ length: users }, (_, index) => partyId(userName(index), `namespace ${index % 5}`));
    this.#activity = zipf(this.users.length, zipfExponent);
    const localUsers = this.users.filter((_, index) => (index * 7) % 10 < localShare * 10);
    this.#local = new Set([...this.apps, this.bank, ...this.validators.slice(0, 1), ...localUsers]);
  }

  /** Whether the party submits through this participant. Other parties are only visible here. */
  isLocal(party: string): boolean {
    return this.#local.has(party);
  }

  /** A random user, weighted by activity. */
  user(random: Random): string {
    return this.users[this.#activity.draw(random)] ?? '';
  }

  /** A random user other than this one. */
  otherThan(party: string, random: Random): string {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const user = this.user(random);
      if (user !== party) return user;
    }
    return this.users.find((user) => user !== party) ?? party;
  }

  /** The party that issues an instrument. */
  adminOf(instrument: string): string {
    if (instrument === 'Amulet') return this.dso;
    if (instrument.startsWith('TW')) return this.bank;
    return instrument === 'EURX' ? this.registrar : this.bondAgent;
  }

  /**
   * The account for the deposits of a party. Some users have a custodian and an account name that the bank assigned.
   */
  accountOf(party: string): JsonObject {
    const index = this.users.indexOf(party);
    if (index % custodyEvery !== 1) return basicAccount(party);
    const provider = this.validators[index % this.validators.length] ?? '';
    return { owner: party, provider, id: `custody-${1_000 + 7 * index}` };
  }
}
