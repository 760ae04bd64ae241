/** Updates without a command: reassignments of stable-coins between the synchronizers, and changes of party hosting. */
import { assign, authorize, unassign } from '../../ledger/reassignments.ts';
import { drawDelayMicros } from './chance.ts';
import type { ErrandOf } from './errand.ts';
import type { MarketState } from './market-state.ts';
import { stableCoin } from '../templates/instruments.ts';
import { otherParticipantId } from './participant-id.ts';

/** Median time between unassign and assign, in seconds. The next constant is the median duration of a stay. */
const journey = 20;
const stay = 120;

/** A stable-coin leaves for the other synchronizer, arrives, remains a while and returns. */
export function travel(state: MarketState, at: number): boolean {
  const { people, random, wallets } = state;
  const [holding] = wallets.of(people.user(random), stableCoin);
  if (holding === undefined) return false;
  wallets.remove(holding);
  leave(state, holding, at, true);
  return true;
}

function leave(state: MarketState, holding: string, at: number, outward: boolean): void {
  const reassignmentId = unassign(state.ledger, holding, at);
  state.agenda.add(at + drawDelayMicros(state.random, journey), { what: 'arrive', reassignmentId, outward });
}

/** A stable-coin arrives. On the other synchronizer it remains a while. */
export function arrive(state: MarketState, { reassignmentId, outward }: ErrandOf<'arrive'>, at: number): boolean {
  const { ledger, agenda, random, wallets } = state;
  const { created } = ledger.inFlight(reassignmentId);
  assign(ledger, reassignmentId, at);
  if (!outward) {
    wallets.add(created);
    return true;
  }
  agenda.add(at + drawDelayMicros(random, stay), { what: 'return', holding: created.contractId });
  return true;
}

/** A stable-coin leaves for its home synchronizer. */
export function comeBack(state: MarketState, holding: string, at: number): boolean {
  if (state.payload(holding) === undefined) return false;
  leave(state, holding, at, false);
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
    const all = [...people.apps, ...people.validators, ...people.users];
    const party = all[this.changes % all.length] ?? '';
    const elsewhere = this.changes >= all.length;
    const revoked = elsewhere && random.chance(0.3);
    authorize(ledger, party, !revoked, at, elsewhere ? { participantId: otherParticipantId } : {});
    this.changes += 1;
    return true;
  }
}
