/** Reads entries of the active contracts for comparison, by the same plain traversal as updates. */
import { comparedRow, partyLists, type ComparedRow, type FieldTexts } from '../../model/compared-rows.ts';
import { printedText } from '../../model/printed-json.ts';
import type { JsonObject } from './field.ts';
import { asSent, halfFields, packageName, type PackageName, plainly, type Print } from './plain-frame.ts';
import { free, micros, part, plain, set, integerText } from './plain-field.ts';

/** A contract that is active on the ledger. */
export interface PlainActive {
  readonly kind: 'active';
  readonly contractId: string;
  readonly synchronizerId: string;
  /** Offset at which the contract became active. */
  readonly offset: number;
  readonly row: ComparedRow;
  readonly name: PackageName;
}

/** Half of a reassignment whose other half is still to come. */
export interface PlainInFlight {
  readonly kind: 'in_flight';
  readonly half: 'unassign' | 'assign';
  readonly contractId: string;
  readonly offset: number;
  readonly row: ComparedRow;
  /** For an unassign, the contract that was active before it; the unassign has no counter of its own. */
  readonly contract: PlainActive | undefined;
}

/** Whether a seed found the contract that became active on a synchronizer at this offset of the participant. */
export type IsSeeded = (offset: number, synchronizerId: string) => boolean;

/**
 * Reads a frame of `/v2/state/active-contracts`; undefined for an empty one.
 * @throws IndexerError UPDATE_UNDECODABLE
 */
export function plainEntry(text: string, isSeeded: IsSeeded): PlainActive | PlainInFlight | undefined {
  return plainly(text, (frame, print) => entryOf(frame, isSeeded, print));
}

function entryOf(frame: JsonObject, isSeeded: IsSeeded, print: Print): PlainActive | PlainInFlight | undefined {
  const entry = part(frame, 'contractEntry');
  const workflowId = free(frame['workflowId']);
  if ('JsActiveContract' in entry) {
    const active = part(entry, 'JsActiveContract');
    const { synchronizerId, reassignmentCounter } = active;
    const stay = {
      synchronizer: plain(synchronizerId) ?? '',
      counter: integerText(reassignmentCounter) ?? '0',
      workflowId,
    };
    return activeEntry(part(active, 'createdEvent'), stay, isSeeded, print);
  }
  if ('JsIncompleteUnassigned' in entry) {
    const left = part(entry, 'JsIncompleteUnassigned');
    const half = part(left, 'unassignedEvent');
    const stay = { synchronizer: plain(half['source']) ?? '', counter: '0', workflowId };
    const contract = activeEntry(part(left, 'createdEvent'), stay, isSeeded, print);
    const fields = halfFields(half, half, 0, micros(half['assignmentExclusivity']));
    return inFlight('unassign', half, { ...fields, created_event: null, workflow_id: null }, contract);
  }
  if (!('JsIncompleteAssigned' in entry)) return undefined;
  const half = part(part(entry, 'JsIncompleteAssigned'), 'assignedEvent');
  const created = part(half, 'createdEvent');
  const came = {
    created_event: partyLists.reduce(withSet(created), printedText(asSent(created))),
    workflow_id: workflowId,
  };
  return inFlight('assign', created, { ...halfFields(half, created, 0, null), ...came }, undefined);
}

/**
 * Replaces a list of parties in the text of a create by the same list in fixed order, because participants list parties
 * in any order.
 */
function withSet(created: JsonObject): (text: string, list: string) => string {
  return (text, list) => {
    const parties = created[list];
    if (!Array.isArray(parties)) return text;
    const asCame = `[${parties.map((party) => JSON.stringify(party)).join(', ')}]`;
    return text.replaceAll(`"${list}": ${asCame}`, `"${list}": ${set(parties)}`);
  };
}

interface Stay {
  readonly synchronizer: string;
  readonly counter: string;
  readonly workflowId: string | null;
}

function activeEntry(created: JsonObject, stay: Stay, isSeeded: IsSeeded, print: Print): PlainActive {
  const contractId = idOf(created);
  const offset = Number(integerText(created['offset']) ?? '0');
  const fields = activeFields(created, stay, print);
  return {
    kind: 'active',
    contractId,
    synchronizerId: stay.synchronizer,
    offset,
    row: isSeeded(offset, stay.synchronizer)
      ? comparedRow('seeded', contractId, { ...fields, ...seededFields(created, stay) })
      : comparedRow('active', contractId, fields),
    name: packageName(created),
  };
}

function idOf(event: JsonObject): string {
  const contractId = plain(event['contractId']);
  if (contractId === null) throw new RangeError('no contract id');
  return contractId;
}

function activeFields(created: JsonObject, { synchronizer, counter }: Stay, print: Print): FieldTexts<'active'> {
  return {
    synchronizer,
    offset: integerText(created['offset']) ?? '0',
    template: plain(created['templateId']),
    payload: print(created['createArgument']),
    contract_key: print(created['contractKey']),
    signatories: set(created['signatories']),
    observers: set(created['observers']),
    created_at: micros(created['createdAt']),
    reassignment_counter: counter,
  };
}

function seededFields(created: JsonObject, { workflowId }: Stay) {
  const [packageId = null] = plain(created['templateId'])?.split(':') ?? [];
  return {
    node_id: integerText(created['nodeId']) ?? '0',
    representative_package_id: plain(created['representativePackageId']) ?? packageId,
    contract_key_hash: plain(created['contractKeyHash']),
    witness_parties: set(created['witnessParties']),
    created_event_blob: plain(created['createdEventBlob']),
    acs_delta: plain(created['acsDelta']) ?? 'true',
    workflow_id: workflowId,
  };
}

function inFlight(
  half: PlainInFlight['half'],
  event: JsonObject,
  fields: FieldTexts<'in_flight'>,
  contract: PlainActive | undefined,
): PlainInFlight {
  const contractId = idOf(event);
  const row = comparedRow('in_flight', `${half} ${contractId}`, fields);
  return { kind: 'in_flight', half, contractId, offset: Number(integerText(event['offset']) ?? '0'), row, contract };
}
