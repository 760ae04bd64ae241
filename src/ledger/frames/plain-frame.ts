/**
 * Reads frames of the ledger for comparison, by a plain traversal of `JSON.parse`. It does not use the decoder that
 * feeds the writer, because a bug there must not hide itself. Only frames with numbers in payloads, or with content
 * that jsonb cannot store, are read by the scanner, which leaves payloads as text.
 */
import { comparedRow, type ComparableRow } from '../../model/compared-rows.ts';
import { printJsonText, printJsonValue } from '../../model/printed-json.ts';
import { type JsonObject, undecodable } from './field.ts';
import { sourceTextOf, RawJson, scanFrame } from './raw-json.ts';
import {
  escapedTextOrNull,
  inexactFrame,
  micros,
  objectField,
  parts,
  textOrNull,
  set,
  integerText,
} from './plain-field.ts';

/** An update as rows. */
export interface LedgerUpdate {
  readonly offset: number;
  /** Empty for an OffsetCheckpoint. */
  readonly synchronizerId: string;
  /** Empty for an OffsetCheckpoint, which has no rows. */
  readonly rows: readonly ComparableRow[];
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
  return { template: textOrNull(event['templateId']), packageName: textOrNull(event['packageName']) };
}

/** Reads the rows of a frame of `/v2/updates`. @throws IndexerError UPDATE_UNDECODABLE */
export function ledgerUpdateOf(text: string): LedgerUpdate {
  return readWithFallback(text, updateRows);
}

/** Converts a payload to the text that the tables print; null if there is none. */
export type PrintValue = (value: unknown) => string | null;

/**
 * Reads a frame with `JSON.parse`, and again with the scanner if that is not exact.
 * @throws IndexerError UPDATE_UNDECODABLE
 */
export function readWithFallback<T>(text: string, convert: (frame: JsonObject, print: PrintValue) => T): T {
  let frame: JsonObject;
  try {
    frame = JSON.parse(text) as JsonObject;
  } catch {
    throw undecodable('frame', 'a JSON object', text);
  }
  try {
    return convert(frame, printQuickly);
  } catch (thrown) {
    if (thrown !== inexactFrame) throw undecodable('frame', 'an update or an active contract', frame);
    return convert(scanFrame(text) as JsonObject, printExactly);
  }
}

const printQuickly: PrintValue = (value) => {
  if (value === null || value === undefined) return null;
  const text = printJsonValue(value);
  if (text === undefined) throw inexactFrame;
  return text;
};

const printExactly: PrintValue = (value) => {
  if (value === null || value === undefined) return null;
  if (!(value instanceof RawJson)) throw new RangeError('no payload');
  return printJsonText(value.text);
};

/** A part of a frame in its original text. Only the scanner knows the text of an object. */
export function sourceText(value: JsonObject): string {
  const text = sourceTextOf(value);
  if (text === undefined) throw inexactFrame;
  return text;
}

const kinds: Readonly<Record<string, string>> = {
  Transaction: 'transaction',
  Reassignment: 'reassignment',
  TopologyTransaction: 'topology',
};

function updateRows(frame: JsonObject, print: PrintValue): LedgerUpdate {
  const update = objectField(frame, 'update');
  const name = Object.keys(update)[0] ?? '';
  const value = objectField(objectField(update, name), 'value');
  const offset = Number(value['offset']);
  if (name === '' || !Number.isSafeInteger(offset)) throw new RangeError('no offset');
  if (name === 'OffsetCheckpoint') return { offset, synchronizerId: '', rows: [], names: [] };
  const kind = kinds[name];
  const events = kind === undefined ? [] : parts(value, 'events');
  const trace = objectField(value, 'traceContext');
  const transaction = kind === 'transaction' ? value : {};
  const header = comparedRow('update', 'update', {
    kind: kind ?? 'unknown',
    update_id: textOrNull(value['updateId']),
    synchronizer: textOrNull(value['synchronizerId']) ?? '',
    command_id: escapedTextOrNull(value['commandId']),
    workflow_id: escapedTextOrNull(value['workflowId']),
    effective_at: micros(transaction['effectiveAt']),
    record_time: micros(value['recordTime']),
    trace_parent: escapedTextOrNull(trace['traceparent']),
    trace_state: escapedTextOrNull(trace['tracestate']),
    external_transaction_hash: textOrNull(transaction['externalTransactionHash']),
    transaction_hash: textOrNull(transaction['transactionHash']),
    paid_traffic_cost: integerText(value['paidTrafficCost']),
    event_count: String(events.length),
    raw: kind === undefined ? sourceText(update) : null,
  });
  const synchronizer = textOrNull(value['synchronizerId']) ?? '';
  const rows = events.flatMap((event, index) => eventRows(event, index, synchronizer, print));
  return { offset, synchronizerId: synchronizer, rows: [header, ...rows], names: events.map(nameOf) };
}

function nameOf(event: JsonObject): PackageName {
  const name = Object.keys(event)[0] ?? '';
  const value = objectField(event, name);
  if (name === 'JsAssignmentEvent') return packageName(objectField(value, 'createdEvent'));
  return packageName(name === 'JsUnassignedEvent' ? objectField(value, 'value') : value);
}

function eventRows(
  event: JsonObject,
  index: number,
  synchronizer: string,
  print: PrintValue,
): readonly ComparableRow[] {
  const name = Object.keys(event)[0] ?? '';
  const value = objectField(event, name);
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
      return [unassignRow(objectField(value, 'value'), index)];
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

function contractRows(
  created: JsonObject,
  index: number,
  arrival: Arrival,
  print: PrintValue,
): readonly ComparableRow[] {
  const id = textOrNull(created['contractId']) ?? '';
  const contract = comparedRow('contract', `contract ${id}`, {
    node_id: integerText(created['nodeId']) ?? String(index),
    origin: arrival.origin,
    synchronizer: arrival.synchronizer,
    template: textOrNull(created['templateId']),
    representative_package_id: textOrNull(created['representativePackageId']),
    payload: print(created['createArgument']),
    contract_key: print(created['contractKey']),
    contract_key_hash: textOrNull(created['contractKeyHash']),
    signatories: set(created['signatories']),
    observers: set(created['observers']),
    witness_parties: set(created['witnessParties']),
    created_event_blob: textOrNull(created['createdEventBlob']),
    created_at: micros(created['createdAt']),
    acs_delta: textOrNull(created['acsDelta']),
    reassignment_counter: arrival.counter,
  });
  return [contract, ...parts(created, 'interfaceViews').map((view) => viewRow(id, view, print))];
}

function viewRow(contractId: string, view: JsonObject, print: PrintValue): ComparableRow {
  const status = objectField(view, 'viewStatus');
  const details = print(status['details']);
  return comparedRow('view', `view ${contractId} ${textOrNull(view['interfaceId']) ?? ''}`, {
    view: print(view['viewValue']),
    status_code: integerText(status['code']) ?? '0',
    status_message: escapedTextOrNull(status['message']),
    status_details: details === '[]' ? null : details,
    implementation_package_id: textOrNull(view['implementationPackageId']),
  });
}

function exerciseRow(event: JsonObject, index: number, print: PrintValue): ComparableRow {
  return comparedRow('exercise', `exercise ${integerText(event['nodeId']) ?? String(index)}`, {
    contract_id: textOrNull(event['contractId']),
    template: textOrNull(event['templateId']),
    interface: textOrNull(event['interfaceId']),
    choice: textOrNull(event['choice']),
    argument: print(event['choiceArgument']),
    result: print(event['exerciseResult']),
    acting_parties: set(event['actingParties']),
    witness_parties: set(event['witnessParties']),
    consuming: textOrNull(event['consuming']) ?? 'false',
    last_descendant_node_id: integerText(event['lastDescendantNodeId']),
    implemented_interfaces: set(event['implementedInterfaces']),
    acs_delta: textOrNull(event['acsDelta']),
  });
}

function archiveRow(event: JsonObject, index: number): ComparableRow {
  return comparedRow('archive', `archive ${integerText(event['nodeId']) ?? String(index)}`, {
    contract_id: textOrNull(event['contractId']),
    template: textOrNull(event['templateId']),
    witness_parties: set(event['witnessParties']),
    implemented_interfaces: set(event['implementedInterfaces']),
  });
}

function assignRows(
  event: JsonObject,
  index: number,
  synchronizer: string,
  print: PrintValue,
): readonly ComparableRow[] {
  const created = objectField(event, 'createdEvent');
  const counter = integerText(event['reassignmentCounter']);
  return [
    ...contractRows(created, index, { origin: 'assign', synchronizer, counter }, print),
    reassignmentRow('assign', event, created, index, null),
  ];
}

function unassignRow(event: JsonObject, index: number): ComparableRow {
  return reassignmentRow('unassign', event, event, index, micros(event['assignmentExclusivity']));
}

function reassignmentRow(
  kind: 'assign' | 'unassign',
  event: JsonObject,
  contract: JsonObject,
  index: number,
  exclusivity: string | null,
): ComparableRow {
  return comparedRow(
    'reassignment',
    `${kind} ${textOrNull(contract['contractId']) ?? ''}`,
    reassignmentFields(event, contract, index, exclusivity),
  );
}

/** @param contract the object that names the contract: the reassignment half itself, or its created event */
export function reassignmentFields(event: JsonObject, contract: JsonObject, index: number, exclusivity: string | null) {
  return {
    node_id: integerText(contract['nodeId']) ?? String(index),
    template: textOrNull(contract['templateId']),
    reassignment_id: textOrNull(event['reassignmentId']) ?? '',
    source: textOrNull(event['source']) ?? '',
    target: textOrNull(event['target']) ?? '',
    submitter: escapedTextOrNull(event['submitter']),
    reassignment_counter: integerText(event['reassignmentCounter']),
    assignment_exclusivity: exclusivity,
    witness_parties: set(contract['witnessParties']),
  };
}

const authorizations = /^ParticipantAuthorization(?:Added|Changed|Onboarding|Revoked)$/;

function topologyRow(variants: JsonObject, index: number): ComparableRow {
  const name = Object.keys(variants)[0] ?? '';
  const isAuthorization = authorizations.test(name);
  const value = isAuthorization ? objectField(objectField(variants, name), 'value') : {};
  return comparedRow('topology', `topology ${String(index)}`, {
    kind: escapedTextOrNull(name),
    raw: isAuthorization ? null : sourceText(variants),
    party_id: textOrNull(value['partyId']),
    participant_id: textOrNull(value['participantId']),
    participant_permission: textOrNull(value['participantPermission']),
  });
}
