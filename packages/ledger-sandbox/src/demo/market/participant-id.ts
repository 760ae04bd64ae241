/** Who the demo's ledger says it is. */
import { partyId } from '../../wire/random.ts';

/** Of every demo, and of a sandbox ledger that is given no other. */
export const demoParticipantId = partyId('participant1', 'participant1');

/** A participant of the same network that hosts some of the demo's parties as well. */
export const otherParticipantId = partyId('participant2', 'participant2');

/** The participants of the other validators. */
export const otherParticipants = [otherParticipantId, partyId('participant3', 'participant3')];
