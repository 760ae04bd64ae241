/** GET /v2/state/connected-synchronizers: the synchronizers, or the hosting of a party on each. */
import { permissionDenied } from '../wire/failure.ts';
import type { Call } from './endpoint.ts';

/** Administrators may query any party. Other users may query the parties that they act, read or execute for. */
function checkRights({ caller, query }: Call, party: string): void {
  const administer = query.get('identityProviderId') ?? '';
  const isAllowed = caller.may({ administer }) || caller.may({ readAs: party }) || caller.may({ executeAs: party });
  if (!isAllowed) throw permissionDenied();
}

/**
 * A GetConnectedSynchronizersResponse. If the request names a party, it lists only the synchronizers on which this
 * participant hosts it.
 */
export function connectedSynchronizers(call: Call): string {
  const { ledger, parties } = call.participant;
  const party = call.query.get('party') ?? '';
  const participantId = call.query.get('participantId') ?? '';
  if (party !== '') checkRights(call, party);
  const isThisParticipant = participantId === '' || participantId === ledger.participantId;
  const permissions = isThisParticipant ? parties.permissions(party) : undefined;
  const connected = ledger.synchronizers
    .filter(({ id }) => party === '' || permissions?.has(id) === true)
    .map(({ alias, id }) => ({
      synchronizerAlias: alias,
      synchronizerId: id,
      permission: (party === '' ? undefined : permissions?.get(id)) ?? 'PARTICIPANT_PERMISSION_UNSPECIFIED',
    }));
  return JSON.stringify({ connectedSynchronizers: connected });
}
