/** Participant ids of the demo's network. */
import { partyId } from '../../wire/random.ts';

/** Id of the participant of every demo, and the default id of a sandbox ledger. */
export const demoParticipantId = partyId('participant1', 'participant1');

/** Id of a participant of the same network that also hosts some of the demo's parties. */
export const otherParticipantId = partyId('participant2', 'participant2');

/** Ids of the participants of the other validators. */
export const otherParticipants = [otherParticipantId, partyId('participant3', 'participant3')];
