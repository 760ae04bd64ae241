/** Rights that a format needs: reading as every party it names, or as any party if it requests all. */
import type { Need } from './caller.ts';
import { asObject, asTexts } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';

/** The rights for an EventFormat (or a legacy filter). */
export function eventFormatNeeds(format: Json | undefined): Need[] {
  const given = asObject(format);
  if (given === undefined) return [];
  const parties = Object.keys(asObject(given['filtersByParty']) ?? {});
  const any: Need[] = asObject(given['filtersForAnyParty']) === undefined ? [] : ['read-as-any-party'];
  return [...any, ...parties.map((readAs): Need => ({ readAs }))];
}

function topologyNeeds(format: JsonObject): Need[] {
  const asked = asObject(format['includeTopologyEvents']);
  const authorizations = asObject(asked?.['includeParticipantAuthorizationEvents']);
  if (authorizations === undefined) return [];
  const parties = asTexts(authorizations['parties']);
  return parties.length === 0 ? ['read-as-any-party'] : parties.map((readAs) => ({ readAs }));
}

/** The rights for an UpdateFormat. */
export function updateFormatNeeds(format: JsonObject): Need[] {
  const transactions = asObject(format['includeTransactions']);
  return [
    ...eventFormatNeeds(transactions?.['eventFormat']),
    ...eventFormatNeeds(format['includeReassignments']),
    ...topologyNeeds(format),
  ];
}
