/** Reads entries of the active contracts for comparison, by the same plain traversal as updates. */
import { comparedRow, partyListNames, type ComparableRow, type FieldTexts } from '../../model/compared-rows.ts';
import { printJsonText } from '../../model/printed-json.ts';
import type { JsonObject } from './field.ts';
import {
  sourceText,
  reassignmentFields,
  packageName,
  type PackageName,
  readWithFallback,
  type PrintValue,
} from './plain-frame.ts';
import { escapedTextOrNull, micros, objectField, textOrNull, set, integerText } from './plain-field.ts';

/** A contract that is active on the ledger. */
export interface LedgerActive {
  readonly kind: 'active';
  readonly contractId: string;
  readonly synchronizerId: string;
  /** Offset at which the contract became active. */
  readonly offset: number;
  readonly row: ComparableRow;
  readonly name: PackageName;
}

/** Half of a reassignment whose other half is still to come. */
export interface LedgerInFlight {
  readonly kind: 'in_flight';
  readonly half: 'unassign' | 'assign';
  readonly contractId: string;
  readonly offset: number;
  readonly row: ComparableRow;
  /** For an unassign, the contract that was active before it; the unassign has no counter of its own. */
  readonly contract: LedgerActive | undefined;
}

/** Whether a seed found the contract that became active on a synchronizer at this offset of the participant. */
export type SeedPredicate = (offset: number, synchronizerId: string) => boolean;

/**
 * Reads a frame of `/v2/state/active-contracts`; undefined for an empty one.
 * @throws IndexerError UPDATE_UNDECODABLE
 */
export function activeOrInFlight(text: string, isSeeded: SeedPredicate): LedgerActive | LedgerInFlight | undefined {
  return readWithFallback(text, (frame, print) => entryOf(frame, isSeeded, print));
}

function entryOf(
  frame: JsonObject,
  isSeeded: SeedPredicate,
  print: PrintValue,
): LedgerActive | LedgerInFlight | undefined {
  const entry = objectField(frame, 'contractEntry');
  const workflowId = escapedTextOrNull(frame['workflowId']);
  if ('JsActiveContract' in entry) {
    const active = objectField(entry, 'JsActiveContract');
    const { synchronizerId, reassignmentCounter } = active;
    const assignment = {
      synchronizer: textOrNull(synchronizerId) ?? '',
      counter: integerText(reassignmentCounter) ?? '0',
      workflowId,
    };
    return activeEntry(objectField(active, 'createdEvent'), assignment, isSeeded, print);
  }
  if ('JsIncompleteUnassigned' in entry) {
    const incomplete = objectField(entry, 'JsIncompleteUnassigned');
    const unassignedEvent = objectField(incomplete, 'unassignedEvent');
    const assignment = { synchronizer: textOrNull(unassignedEvent['source']) ?? '', counter: '0', workflowId };
    const contract = activeEntry(objectField(incomplete, 'createdEvent'), assignment, isSeeded, print);
    const fields = reassignmentFields(
      unassignedEvent,
      unassignedEvent,
      0,
      micros(unassignedEvent['assignmentExclusivity']),
    );
    return inFlight('unassign', unassignedEvent, { ...fields, created_event: null, workflow_id: null }, contract);
  }
  if (!('JsIncompleteAssigned' in entry)) return undefined;
  const assignedEvent = objectField(objectField(entry, 'JsIncompleteAssigned'), 'assignedEvent');
  const created = objectField(assignedEvent, 'createdEvent');
  const storedFields = {
    created_event: partyListNames.reduce(partyListSorter(created), printJsonText(sourceText(created))),
    workflow_id: workflowId,
  };
  return inFlight(
    'assign',
    created,
    { ...reassignmentFields(assignedEvent, created, 0, null), ...storedFields },
    undefined,
  );
}

/**
 * Replaces a list of parties in the text of a create by the same list in fixed order, because participants list parties
 * in any order.
 */
function partyListSorter(created: JsonObject): (text: string, list: string) => string {
  return (text, list) => {
    const parties = created[list];
    if (!Array.isArray(parties)) return text;
    const originalList = `[${parties.map((party) => JSON.stringify(party)).join(', ')}]`;
    return text.replaceAll(`"${list}": ${originalList}`, `"${list}": ${set(parties)}`);
  };
}

interface AssignmentFields {
  readonly synchronizer: string;
  readonly counter: string;
  readonly workflowId: string | null;
}

function activeEntry(
  created: JsonObject,
  assignment: AssignmentFields,
  isSeeded: SeedPredicate,
  print: PrintValue,
): LedgerActive {
  const contractId = idOf(created);
  const offset = Number(integerText(created['offset']) ?? '0');
  const fields = activeFields(created, assignment, print);
  return {
    kind: 'active',
    contractId,
    synchronizerId: assignment.synchronizer,
    offset,
    row: isSeeded(offset, assignment.synchronizer)
      ? comparedRow('seeded', contractId, { ...fields, ...seededFields(created, assignment) })
      : comparedRow('active', contractId, fields),
    name: packageName(created),
  };
}

function idOf(event: JsonObject): string {
  const contractId = textOrNull(event['contractId']);
  if (contractId === null) throw new RangeError('no contract id');
  return contractId;
}

function activeFields(
  created: JsonObject,
  { synchronizer, counter }: AssignmentFields,
  print: PrintValue,
): FieldTexts<'active'> {
  return {
    synchronizer,
    offset: integerText(created['offset']) ?? '0',
    template: textOrNull(created['templateId']),
    payload: print(created['createArgument']),
    contract_key: print(created['contractKey']),
    signatories: set(created['signatories']),
    observers: set(created['observers']),
    created_at: micros(created['createdAt']),
    reassignment_counter: counter,
  };
}

function seededFields(created: JsonObject, { workflowId }: AssignmentFields) {
  const [packageId = null] = textOrNull(created['templateId'])?.split(':') ?? [];
  return {
    node_id: integerText(created['nodeId']) ?? '0',
    representative_package_id: textOrNull(created['representativePackageId']) ?? packageId,
    contract_key_hash: textOrNull(created['contractKeyHash']),
    witness_parties: set(created['witnessParties']),
    created_event_blob: textOrNull(created['createdEventBlob']),
    acs_delta: textOrNull(created['acsDelta']) ?? 'true',
    workflow_id: workflowId,
  };
}

function inFlight(
  side: LedgerInFlight['half'],
  event: JsonObject,
  fields: FieldTexts<'in_flight'>,
  contract: LedgerActive | undefined,
): LedgerInFlight {
  const contractId = idOf(event);
  const row = comparedRow('in_flight', `${side} ${contractId}`, fields);
  return {
    kind: 'in_flight',
    half: side,
    contractId,
    offset: Number(integerText(event['offset']) ?? '0'),
    row,
    contract,
  };
}
