/** Finds parties that a participant does not know. The participant returns nothing about them, and no reason. */
import { nearestNames } from '../../errors/nearest-names.ts';
import type { PartyCalls } from './parties.ts';

export interface UnknownParty {
  readonly party: string;
  /** At most three known parties with the same hint; otherwise with the same fingerprint or a similar id. */
  readonly nearest: readonly string[];
}

/** Maximum number of parties that are looked up, because each one is a request. */
export const maxPartyLookups = 100;
const maxSuggestions = 3;
/** Maximum number of the participant's parties that are compared. */
const maxCompared = 1_000;

type Calls = Pick<PartyCalls, 'get' | 'list'>;

/**
 * The parties that the participant does not know, hosted here or elsewhere. Only the first {@link maxPartyLookups} are
 * looked up.
 * @throws IndexerError LEDGER_PERMISSION_DENIED for a user who is not an administrator of the participant; any other
 *   error of the participant
 */
export async function unknownParties(
  { parties: calls }: { readonly parties: Calls },
  parties: readonly string[],
): Promise<readonly UnknownParty[]> {
  const unknownList: UnknownParty[] = [];
  for (const party of parties.slice(0, maxPartyLookups)) {
    if ((await calls.get(party)) !== undefined) continue;
    unknownList.push({ party, nearest: await nearestParties(calls, party) });
  }
  return unknownList;
}

async function nearestParties(calls: Calls, party: string): Promise<readonly string[]> {
  const hint = party.slice(0, party.indexOf('::') + 2);
  const sameHintParties = await calls.list({ filterParty: hint, pageSize: maxSuggestions });
  if (sameHintParties.partyDetails.length > 0) return names(sameHintParties.partyDetails).slice(0, maxSuggestions);
  const { partyDetails } = await calls.list({ pageSize: maxCompared });
  const knownParties = names(partyDetails).slice(0, maxCompared);
  const otherCaseParties = knownParties.filter((candidate) => candidate.toLowerCase().startsWith(hint.toLowerCase()));
  if (otherCaseParties.length > 0) return otherCaseParties.slice(0, maxSuggestions);
  // Hints are compared, not ids: all parties of a namespace share the long fingerprint.
  const hintOf = (partyId: string): string => partyId.slice(0, partyId.indexOf('::'));
  const hints = nearestNames(hintOf(party), knownParties.map(hintOf), maxSuggestions);
  const partiesWithSimilarHint = hints.flatMap((similarHint) =>
    knownParties.filter((candidate) => hintOf(candidate) === similarHint),
  );
  const namespaceParties = knownParties.filter((candidate) => candidate.endsWith(party.slice(hint.length - 2)));
  return [...new Set([...partiesWithSimilarHint, ...namespaceParties])].slice(0, maxSuggestions);
}

function names(details: readonly { readonly party: string }[]): readonly string[] {
  return details.map(({ party }) => party);
}

/** The unknown party and its nearest ones, as a sentence. */
export function unknownPartySentence({ party, nearest: suggestions }: UnknownParty): string {
  return `the participant knows no party ${party}${suggestions.length === 0 ? '' : ` (nearest: ${suggestions.join(', ')})`}`;
}
