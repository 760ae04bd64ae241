/** Which parties a participant does not know: it shows nothing of them, and does not say why. */
import type { PartyCalls } from './parties.ts';

export interface UnknownParty {
  readonly party: string;
  /** Parties with the same hint, at most three. */
  readonly nearest: readonly string[];
}

/** Of more parties only the first are asked for: each is a request. */
export const mostAsked = 100;

/**
 * Those of the first {@link mostAsked} parties that the participant does not know, hosted here or elsewhere.
 * @throws IndexerError LEDGER_PERMISSION_DENIED for a user who is no administrator of it; whatever else it answers
 */
export async function unknownParties(
  { parties: calls }: { readonly parties: Pick<PartyCalls, 'get' | 'list'> },
  parties: readonly string[],
): Promise<readonly UnknownParty[]> {
  const unknown: UnknownParty[] = [];
  for (const party of parties.slice(0, mostAsked)) {
    if ((await calls.get(party)) !== undefined) continue;
    const { partyDetails } = await calls.list({ filterParty: party.slice(0, party.indexOf('::') + 2), pageSize: 3 });
    unknown.push({ party, nearest: partyDetails.map((details) => details.party).slice(0, 3) });
  }
  return unknown;
}

/** In one sentence. */
export function inWords({ party, nearest }: UnknownParty): string {
  return `the participant knows no party ${party}${nearest.length === 0 ? '' : ` (nearest: ${nearest.join(', ')})`}`;
}
