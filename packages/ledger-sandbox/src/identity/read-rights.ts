/** Rights that a format requires: to read as every party it names, or as any party if it requests all. */
import type { RequiredRight } from './caller.ts';
import { asObject, asTexts } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';

/** The rights for an EventFormat (or a legacy filter). */
export function eventFormatNeeds(format: Json | undefined): RequiredRight[] {
  const eventFormat = asObject(format);
  if (eventFormat === undefined) return [];
  const parties = Object.keys(asObject(eventFormat['filtersByParty']) ?? {});
  const anyPartyFilter: RequiredRight[] =
    asObject(eventFormat['filtersForAnyParty']) === undefined ? [] : ['read-as-any-party'];
  return [...anyPartyFilter, ...parties.map((readAs): RequiredRight => ({ readAs }))];
}

function topologyNeeds(format: JsonObject): RequiredRight[] {
  const topologyEvents = asObject(format['includeTopologyEvents']);
  const authorizations = asObject(topologyEvents?.['includeParticipantAuthorizationEvents']);
  if (authorizations === undefined) return [];
  const parties = asTexts(authorizations['parties']);
  return parties.length === 0 ? ['read-as-any-party'] : parties.map((readAs) => ({ readAs }));
}

/** The rights for an UpdateFormat. */
export function updateFormatNeeds(format: JsonObject): RequiredRight[] {
  const transactions = asObject(format['includeTransactions']);
  return [
    ...eventFormatNeeds(transactions?.['eventFormat']),
    ...eventFormatNeeds(format['includeReassignments']),
    ...topologyNeeds(format),
  ];
}
