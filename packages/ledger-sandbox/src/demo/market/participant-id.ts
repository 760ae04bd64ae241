/** Participant ids of the demo's network. */
import { partyId } from '../../wire/random.ts';

/** Participant of every demo, and of a sandbox ledger without a given id. */
export const demoParticipantId = partyId('participant1', 'participant1');

/** A participant of the same network that also hosts some of the demo's parties. */
export const otherParticipantId = partyId('participant2', 'participant2');

/** The participants of the other validators. */
export const otherParticipants = [otherParticipantId, partyId('participant3', 'participant3')];
