/** Who the demo's ledger says it is. */
import { partyId } from '../random.ts';

/** Of every demo, and of a sandbox ledger that is given no other. */
export const demoParticipantId = partyId('participant1', 'participant1');
