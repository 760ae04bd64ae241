/** Updates without a command: reassignments of stable-coins between the synchronizers, and changes of party hosting. */
import { assign, authorize, unassign } from '../../ledger/reassignments.ts';
import { drawDelayMicros } from './chance.ts';
import type { ErrandOf } from './errand.ts';
import type { MarketState } from './market-state.ts';
import { stableCoin } from '../templates/instruments.ts';
import { otherParticipantId } from './participant-id.ts';

/** Median time between unassign and assign, in seconds. The next constant is the median duration of a stay. */
const travelSeconds = 20;
const staySeconds = 120;

/** A stable-coin leaves for the other synchronizer, arrives, remains a while and returns. */
export function travel(state: MarketState, at: number): boolean {
  const { people, random, wallets } = state;
  const [holding] = wallets.of(people.user(random), stableCoin);
  if (holding === undefined) return false;
  wallets.remove(holding);
  unassignHolding(state, holding, at, true);
  return true;
}

function unassignHolding(state: MarketState, holding: string, at: number, isOutward: boolean): void {
  const reassignmentId = unassign(state.ledger, holding, at);
  state.agenda.add(at + drawDelayMicros(state.random, travelSeconds), {
    what: 'arrive',
    reassignmentId,
    outward: isOutward,
  });
}

/** A stable-coin arrives. On the other synchronizer it remains a while. */
export function arrive(
  state: MarketState,
  { reassignmentId, outward: isOutward }: ErrandOf<'arrive'>,
  at: number,
): boolean {
  const { ledger, agenda, random, wallets } = state;
  const { created } = ledger.inFlight(reassignmentId);
  assign(ledger, reassignmentId, at);
  if (!isOutward) {
    wallets.add(created);
    return true;
  }
  agenda.add(at + drawDelayMicros(random, staySeconds), { what: 'return', holding: created.contractId });
  return true;
}

/** A stable-coin leaves for its home synchronizer. */
export function returnHolding(state: MarketState, holding: string, at: number): boolean {
  if (state.payload(holding) === undefined) return false;
  unassignHolding(state, holding, at, false);
  return true;
}

/** Parties become hosted here one by one, then on another participant as well; some of them leave it and return. */
export class Hostings {
  readonly #state: MarketState;
  /** Number of hosting changes. */
  changes = 0;

  constructor(state: MarketState) {
    this.#state = state;
  }

  change(at: number): boolean {
    const { ledger, people, random } = this.#state;
    const allParties = [...people.apps, ...people.validators, ...people.users];
    const party = allParties[this.changes % allParties.length] ?? '';
    const isLastTravel = this.changes >= allParties.length;
    const isRevoked = isLastTravel && random.chance(0.3);
    authorize(ledger, party, !isRevoked, at, isLastTravel ? { participantId: otherParticipantId } : {});
    this.changes += 1;
    return true;
  }
}
