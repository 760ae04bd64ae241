/** Lookups of one contract: its create and archive events, and its payload. */
import { require } from '../identity/caller.ts';
import type { Call, Endpoint } from '../api/endpoint.ts';
import { failure, missingField } from '../wire/failure.ts';
import { parseEventFormat } from '../contracts/format.ts';
import type { EventFormat } from '../contracts/format.ts';
import { asObject, asText, asTexts } from '../wire/json.ts';
import type { ContractEvents } from '../contracts/contract-events.ts';
import type { Participant } from '../api/participant.ts';
import { eventFormatNeeds } from '../identity/read-rights.ts';
import { Renderer } from '../api/render.ts';

/** The events of a contract; undefined if the participant does not return its create any more. */
function contractOrFail({ ledger }: Participant, contractId: string): ContractEvents | undefined {
  if (contractId === '') throw missingField('contract_id');
  const contractEvents = ledger.contract(contractId);
  return contractEvents !== undefined && contractEvents.created.offset <= ledger.ledgerEnd()
    ? contractEvents
    : undefined;
}

/** The visible parts of both events. A create is returned until its archive is pruned, even if its own offset is. */
function visibleEvents(
  participant: Participant,
  contractEvents: ContractEvents,
  format: EventFormat,
): object | undefined {
  const { ledger } = participant;
  const renderer = new Renderer(participant);
  const { created, synchronizerId, archived: archival } = contractEvents;
  const createdEvent = renderer.created(created, format);
  const visibleArchive = archival !== undefined && archival.offset <= ledger.ledgerEnd() ? archival : undefined;
  const archivedEvent =
    visibleArchive === undefined ? undefined : renderer.archived(visibleArchive.event, format, created);
  if (createdEvent === undefined && archivedEvent === undefined) return undefined;
  return {
    created: createdEvent === undefined ? null : { createdEvent, synchronizerId },
    archived: archivedEvent === undefined ? null : { archivedEvent, synchronizerId: visibleArchive?.synchronizerId },
  };
}

function eventsById({ participant, caller, body }: Call): string {
  const contractId = asText(body['contractId']);
  const eventFormat = asObject(body['eventFormat']);
  if (eventFormat === undefined) throw missingField('event_format');
  require(caller, eventFormatNeeds(eventFormat));
  const format = parseEventFormat(eventFormat, participant.ledger.model, participant.release);
  const contractEvents = contractOrFail(participant, contractId);
  const events = contractEvents === undefined ? undefined : visibleEvents(participant, contractEvents, format);
  if (events !== undefined) return JSON.stringify(events);
  const cause = 'Contract events not found, or not visible.';
  throw failure({ code: 'CONTRACT_EVENTS_NOT_FOUND', category: 11, cause, resources: [['CONTRACT_ID', contractId]] });
}

/** Serves the payload. In this response, offset, node id, blob, views and acsDelta carry no information. */
function contractById({ participant, caller, body }: Call): string {
  const contractId = asText(body['contractId']);
  const parties = asTexts(body['queryingParties']);
  require(caller, parties.length === 0 ? ['read-as-any-party'] : parties.map((readAs) => ({ readAs })));
  const contractEvents = contractOrFail(participant, contractId);
  const filtersByParty = Object.fromEntries(parties.map((party) => [party, {}]));
  const eventFormat = parties.length === 0 ? { filtersForAnyParty: {} } : { filtersByParty };
  const format = parseEventFormat(eventFormat, participant.ledger.model, participant.release);
  const createdEvent =
    contractEvents === undefined ? undefined : new Renderer(participant).created(contractEvents.created, format);
  if (createdEvent === undefined) {
    const cause = 'Contract payload not found, or not visible.';
    throw failure({
      code: 'CONTRACT_PAYLOAD_NOT_FOUND',
      category: 11,
      cause,
      resources: [['CONTRACT_ID', contractId]],
    });
  }
  const witnessParties = parties.length === 0 ? [] : createdEvent.witnessParties;
  const representativePackageId = createdEvent.templateId.slice(0, createdEvent.templateId.indexOf(':'));
  const emptyEvent = { offset: 0, nodeId: 0, createdEventBlob: '', interfaceViews: [], acsDelta: false };
  return JSON.stringify({ createdEvent: { ...createdEvent, ...emptyEvent, witnessParties, representativePackageId } });
}

export const contractEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v2/events/events-by-contract-id',
    summary: 'The create and the archive of a contract',
    request: 'GetEventsByContractIdRequest',
    response: 'JsGetEventsByContractIdResponse',
    run: eventsById,
  },
  {
    method: 'POST',
    path: '/v2/contracts/contract-by-id',
    summary: 'The payload of a contract',
    request: 'GetContractRequest',
    response: 'GetContractResponse',
    run: contractById,
  },
];
