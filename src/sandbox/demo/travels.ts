/** Updates that no command makes: stable-coins that travel between the synchronizers, and changes of party hosting. */
import { assign, authorize, unassign } from '../reassignments.ts';
import { patience } from './chance.ts';
import type { Floor } from './floor.ts';
import { stableCoin } from './instruments.ts';

/** Medians of the time between leaving and arriving, and of a stay, in seconds. */
const journey = 20;
const stay = 120;

/** A stable-coin leaves for the other synchronizer; it arrives, stays a while and comes back. */
export function travel(floor: Floor, at: number): boolean {
  const { people, random, wallets } = floor;
  const [holding] = wallets.of(people.user(random), stableCoin);
  if (holding === undefined) return false;
  wallets.remove(holding);
  leave(floor, holding, at, true);
  return true;
}

function leave(floor: Floor, holding: string, at: number, outward: boolean): void {
  const reassignmentId = unassign(floor.ledger, holding, at);
  floor.agenda.add(at + patience(floor.random, journey), (then) => arrive(floor, reassignmentId, then, outward));
}

function arrive(floor: Floor, reassignmentId: string, at: number, outward: boolean): boolean {
  const { ledger, agenda, random, wallets } = floor;
  const { created } = ledger.inFlight(reassignmentId);
  assign(ledger, reassignmentId, at);
  if (!outward) {
    wallets.add(created);
    return true;
  }
  agenda.add(at + patience(random, stay), (then) => {
    if (floor.payload(created.contractId) === undefined) return false;
    leave(floor, created.contractId, then, false);
    return true;
  });
  return true;
}

/** Parties become hosted here one by one; later some of them leave and come back. */
export class Hostings {
  readonly #floor: Floor;
  #changes = 0;

  constructor(floor: Floor) {
    this.#floor = floor;
  }

  change(at: number): boolean {
    const { ledger, people, random } = this.#floor;
    const all = [...people.apps, ...people.validators, ...people.users];
    const party = all[this.#changes % all.length] ?? '';
    const revoked = this.#changes >= all.length && random.chance(0.3);
    authorize(ledger, party, !revoked, at);
    this.#changes += 1;
    return true;
  }
}
