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
const mostNearest = 3;
/** Maximum number of the participant's parties that are compared. */
const mostCompared = 1_000;

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
  const unknown: UnknownParty[] = [];
  for (const party of parties.slice(0, maxPartyLookups)) {
    if ((await calls.get(party)) !== undefined) continue;
    unknown.push({ party, nearest: await nearestParties(calls, party) });
  }
  return unknown;
}

async function nearestParties(calls: Calls, party: string): Promise<readonly string[]> {
  const hint = party.slice(0, party.indexOf('::') + 2);
  const sameHint = await calls.list({ filterParty: hint, pageSize: mostNearest });
  if (sameHint.partyDetails.length > 0) return names(sameHint.partyDetails).slice(0, mostNearest);
  const { partyDetails } = await calls.list({ pageSize: mostCompared });
  const known = names(partyDetails).slice(0, mostCompared);
  const otherCapitals = known.filter((each) => each.toLowerCase().startsWith(hint.toLowerCase()));
  if (otherCapitals.length > 0) return otherCapitals.slice(0, mostNearest);
  // Hints are compared, not ids: all parties of a namespace share the long fingerprint.
  const hintOf = (each: string): string => each.slice(0, each.indexOf('::'));
  const hints = nearestNames(hintOf(party), known.map(hintOf), mostNearest);
  const similar = hints.flatMap((similarHint) => known.filter((each) => hintOf(each) === similarHint));
  const sameNamespace = known.filter((each) => each.endsWith(party.slice(hint.length - 2)));
  return [...new Set([...similar, ...sameNamespace])].slice(0, mostNearest);
}

function names(details: readonly { readonly party: string }[]): readonly string[] {
  return details.map(({ party }) => party);
}

/** The unknown party and its nearest ones, as a sentence. */
export function inWords({ party, nearest }: UnknownParty): string {
  return `the participant knows no party ${party}${nearest.length === 0 ? '' : ` (nearest: ${nearest.join(', ')})`}`;
}
