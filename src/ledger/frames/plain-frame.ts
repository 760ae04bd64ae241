/**
 * Reads frames of the ledger for comparison, by a plain traversal of `JSON.parse`. It does not use the decoder that
 * feeds the writer, because a bug there must not hide itself. Only frames with numbers in payloads, or with content
 * that jsonb cannot store, are read by the scanner, which leaves payloads as text.
 */
import { comparedRow, type ComparedRow } from '../../model/compared-rows.ts';
import { printedText, printedValue } from '../../model/printed-json.ts';
import { type JsonObject, undecodable } from './field.ts';
import { partText, RawJson, scanFrame } from './raw-json.ts';
import { free, inexact, micros, part, parts, plain, set, integerText } from './plain-field.ts';

/** An update as rows. */
export interface PlainUpdate {
  readonly offset: number;
  /** Empty for an OffsetCheckpoint. */
  readonly synchronizerId: string;
  /** Empty for an OffsetCheckpoint, which has no rows. */
  readonly rows: readonly ComparedRow[];
  readonly names: readonly PackageName[];
}

/** Package name of an event's template. */
export interface PackageName {
  readonly template: string | null;
  /** Null if the ledger does not send it. */
  readonly packageName: string | null;
}

/** The package name of an event's template. */
export function packageName(event: JsonObject): PackageName {
  return { template: plain(event['templateId']), packageName: plain(event['packageName']) };
}

/** Reads the rows of a frame of `/v2/updates`. @throws IndexerError UPDATE_UNDECODABLE */
export function plainUpdate(text: string): PlainUpdate {
  return plainly(text, updateRows);
}

/** Converts a payload to the text that the tables print; null if there is none. */
export type Print = (value: unknown) => string | null;

/**
 * Reads a frame with `JSON.parse`, and again with the scanner if that is not exact.
 * @throws IndexerError UPDATE_UNDECODABLE
 */
export function plainly<T>(text: string, walk: (frame: JsonObject, print: Print) => T): T {
  let frame: JsonObject;
  try {
    frame = JSON.parse(text) as JsonObject;
  } catch {
    throw undecodable('frame', 'a JSON object', text);
  }
  try {
    return walk(frame, quickly);
  } catch (thrown) {
    if (thrown !== inexact) throw undecodable('frame', 'an update or an active contract', frame);
    return walk(scanFrame(text) as JsonObject, exactly);
  }
}

const quickly: Print = (value) => {
  if (value === null || value === undefined) return null;
  const text = printedValue(value);
  if (text === undefined) throw inexact;
  return text;
};

const exactly: Print = (value) => {
  if (value === null || value === undefined) return null;
  if (!(value instanceof RawJson)) throw new RangeError('no payload');
  return printedText(value.text);
};

/** A part of a frame in its original text. Only the scanner knows the text of an object. */
export function asSent(value: JsonObject): string {
  const text = partText(value);
  if (text === undefined) throw inexact;
  return text;
}

const kinds: Readonly<Record<string, string>> = {
  Transaction: 'transaction',
  Reassignment: 'reassignment',
  TopologyTransaction: 'topology',
};

function updateRows(frame: JsonObject, print: Print): PlainUpdate {
  const update = part(frame, 'update');
  const name = Object.keys(update)[0] ?? '';
  const value = part(part(update, name), 'value');
  const offset = Number(value['offset']);
  if (name === '' || !Number.isSafeInteger(offset)) throw new RangeError('no offset');
  if (name === 'OffsetCheckpoint') return { offset, synchronizerId: '', rows: [], names: [] };
  const kind = kinds[name];
  const events = kind === undefined ? [] : parts(value, 'events');
  const trace = part(value, 'traceContext');
  const transaction = kind === 'transaction' ? value : {};
  const header = comparedRow('update', 'update', {
    kind: kind ?? 'unknown',
    update_id: plain(value['updateId']),
    synchronizer: plain(value['synchronizerId']) ?? '',
    command_id: free(value['commandId']),
    workflow_id: free(value['workflowId']),
    effective_at: micros(transaction['effectiveAt']),
    record_time: micros(value['recordTime']),
    trace_parent: free(trace['traceparent']),
    trace_state: free(trace['tracestate']),
    external_transaction_hash: plain(transaction['externalTransactionHash']),
    transaction_hash: plain(transaction['transactionHash']),
    paid_traffic_cost: integerText(value['paidTrafficCost']),
    event_count: String(events.length),
    raw: kind === undefined ? asSent(update) : null,
  });
  const synchronizer = plain(value['synchronizerId']) ?? '';
  const rows = events.flatMap((event, index) => eventRows(event, index, synchronizer, print));
  return { offset, synchronizerId: synchronizer, rows: [header, ...rows], names: events.map(nameOf) };
}

function nameOf(event: JsonObject): PackageName {
  const name = Object.keys(event)[0] ?? '';
  const value = part(event, name);
  if (name === 'JsAssignmentEvent') return packageName(part(value, 'createdEvent'));
  return packageName(name === 'JsUnassignedEvent' ? part(value, 'value') : value);
}

function eventRows(event: JsonObject, index: number, synchronizer: string, print: Print): readonly ComparedRow[] {
  const name = Object.keys(event)[0] ?? '';
  const value = part(event, name);
  switch (name) {
    case 'CreatedEvent':
      return contractRows(value, index, { origin: 'create', synchronizer, counter: null }, print);
    case 'ExercisedEvent':
      return [exerciseRow(value, index, print)];
    case 'ArchivedEvent':
      return [archiveRow(value, index)];
    case 'JsAssignmentEvent':
      return assignRows(value, index, synchronizer, print);
    case 'JsUnassignedEvent':
      return [unassignRow(part(value, 'value'), index)];
    case 'event':
      return [topologyRow(value, index)];
    default:
      throw new RangeError('an event of no known kind');
  }
}

interface Arrival {
  readonly origin: string;
  readonly synchronizer: string;
  readonly counter: string | null;
}

function contractRows(created: JsonObject, index: number, arrival: Arrival, print: Print): readonly ComparedRow[] {
  const id = plain(created['contractId']) ?? '';
  const contract = comparedRow('contract', `contract ${id}`, {
    node_id: integerText(created['nodeId']) ?? String(index),
    origin: arrival.origin,
    synchronizer: arrival.synchronizer,
    template: plain(created['templateId']),
    representative_package_id: plain(created['representativePackageId']),
    payload: print(created['createArgument']),
    contract_key: print(created['contractKey']),
    contract_key_hash: plain(created['contractKeyHash']),
    signatories: set(created['signatories']),
    observers: set(created['observers']),
    witness_parties: set(created['witnessParties']),
    created_event_blob: plain(created['createdEventBlob']),
    created_at: micros(created['createdAt']),
    acs_delta: plain(created['acsDelta']),
    reassignment_counter: arrival.counter,
  });
  return [contract, ...parts(created, 'interfaceViews').map((view) => viewRow(id, view, print))];
}

function viewRow(contractId: string, view: JsonObject, print: Print): ComparedRow {
  const status = part(view, 'viewStatus');
  const details = print(status['details']);
  return comparedRow('view', `view ${contractId} ${plain(view['interfaceId']) ?? ''}`, {
    view: print(view['viewValue']),
    status_code: integerText(status['code']) ?? '0',
    status_message: free(status['message']),
    status_details: details === '[]' ? null : details,
    implementation_package_id: plain(view['implementationPackageId']),
  });
}

function exerciseRow(event: JsonObject, index: number, print: Print): ComparedRow {
  return comparedRow('exercise', `exercise ${integerText(event['nodeId']) ?? String(index)}`, {
    contract_id: plain(event['contractId']),
    template: plain(event['templateId']),
    interface: plain(event['interfaceId']),
    choice: plain(event['choice']),
    argument: print(event['choiceArgument']),
    result: print(event['exerciseResult']),
    acting_parties: set(event['actingParties']),
    witness_parties: set(event['witnessParties']),
    consuming: plain(event['consuming']) ?? 'false',
    last_descendant_node_id: integerText(event['lastDescendantNodeId']),
    implemented_interfaces: set(event['implementedInterfaces']),
    acs_delta: plain(event['acsDelta']),
  });
}

function archiveRow(event: JsonObject, index: number): ComparedRow {
  return comparedRow('archive', `archive ${integerText(event['nodeId']) ?? String(index)}`, {
    contract_id: plain(event['contractId']),
    template: plain(event['templateId']),
    witness_parties: set(event['witnessParties']),
    implemented_interfaces: set(event['implementedInterfaces']),
  });
}

function assignRows(half: JsonObject, index: number, synchronizer: string, print: Print): readonly ComparedRow[] {
  const created = part(half, 'createdEvent');
  const counter = integerText(half['reassignmentCounter']);
  return [
    ...contractRows(created, index, { origin: 'assign', synchronizer, counter }, print),
    halfRow('assign', half, created, index, null),
  ];
}

function unassignRow(half: JsonObject, index: number): ComparedRow {
  return halfRow('unassign', half, half, index, micros(half['assignmentExclusivity']));
}

function halfRow(
  kind: 'assign' | 'unassign',
  half: JsonObject,
  contract: JsonObject,
  index: number,
  exclusivity: string | null,
): ComparedRow {
  return comparedRow(
    'reassignment',
    `${kind} ${plain(contract['contractId']) ?? ''}`,
    halfFields(half, contract, index, exclusivity),
  );
}

/** @param contract the object that names the contract: the reassignment half itself, or its created event */
export function halfFields(half: JsonObject, contract: JsonObject, index: number, exclusivity: string | null) {
  return {
    node_id: integerText(contract['nodeId']) ?? String(index),
    template: plain(contract['templateId']),
    reassignment_id: plain(half['reassignmentId']) ?? '',
    source: plain(half['source']) ?? '',
    target: plain(half['target']) ?? '',
    submitter: free(half['submitter']),
    reassignment_counter: integerText(half['reassignmentCounter']),
    assignment_exclusivity: exclusivity,
    witness_parties: set(contract['witnessParties']),
  };
}

const authorizations = /^ParticipantAuthorization(?:Added|Changed|Onboarding|Revoked)$/;

function topologyRow(variants: JsonObject, index: number): ComparedRow {
  const name = Object.keys(variants)[0] ?? '';
  const known = authorizations.test(name);
  const value = known ? part(part(variants, name), 'value') : {};
  return comparedRow('topology', `topology ${String(index)}`, {
    kind: free(name),
    raw: known ? null : asSent(variants),
    party_id: plain(value['partyId']),
    participant_id: plain(value['participantId']),
    participant_permission: plain(value['participantPermission']),
  });
}
