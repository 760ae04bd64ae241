/** Rights that a format requires: to read as every party it names, or as any party if it requests all. */
import type { Need } from './caller.ts';
import { asObject, asTexts } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';

/** The rights for an EventFormat (or a legacy filter). */
export function eventFormatNeeds(format: Json | undefined): Need[] {
  const eventFormat = asObject(format);
  if (eventFormat === undefined) return [];
  const parties = Object.keys(asObject(eventFormat['filtersByParty']) ?? {});
  const any: Need[] = asObject(eventFormat['filtersForAnyParty']) === undefined ? [] : ['read-as-any-party'];
  return [...any, ...parties.map((readAs): Need => ({ readAs }))];
}

function topologyNeeds(format: JsonObject): Need[] {
  const topologyEvents = asObject(format['includeTopologyEvents']);
  const authorizations = asObject(topologyEvents?.['includeParticipantAuthorizationEvents']);
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
