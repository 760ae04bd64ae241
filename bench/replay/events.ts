/**
 * Frames of `/v2/updates` and `/v2/state/active-contracts` as JSON text, with keys in the order of the ledger (compact,
 * absent options as null). Written by hand on purpose, without code of the indexer.
 */
import { parties, synchronizerId, updateId, type Random, type TemplateName } from './names.ts';

export interface Contract {
  readonly id: string;
  readonly template: TemplateName;
}

/** Position of an event. */
export interface EventPosition {
  readonly offset: number;
  readonly nodeId: number;
}

const firstRecordTime = Date.UTC(2026, 0, 5, 8);
const millisecondsPerUpdate = 100;

/** ISO-8601 UTC with microseconds. Each offset is 100 ms after the previous one. */
export function timeAt(offset: number, microseconds: number): string {
  const isoTime = new Date(firstRecordTime + offset * millisecondsPerUpdate).toISOString();
  return `${isoTime.slice(0, -1)}${String(microseconds % 1000).padStart(3, '0')}Z`;
}

function party(random: Random): string {
  return parties[random(parties.length)] ?? '';
}

const asciiNotes = ['Payload for \\"Phillip\\"', 'C:\\\\ledger\\\\in', 'line one\\nline two', 'settled', 'as agreed'];
const nonAsciiNote = 'Zürich → 東京 🚚';

/**
 * One note in fifty is not Latin-1, because of which the engine represents the complete frame as a string with two
 * bytes per character.
 */
function randomNote(random: Random): string {
  return random(50) === 0 ? nonAsciiNote : (asciiNotes[random(asciiNotes.length)] ?? '');
}

/** A nested create argument of about `bytes` bytes. Int64 and Numeric are texts. */
export function payload(random: Random, bytes: number): string {
  if (bytes < 100) return `{"label":"n${String(random(1_000_000))}","amount":"${String(random(1000))}.0000000000"}`;
  const head =
    `{"operator":"${party(random)}","owner":"${party(random)}","instrument":{"source":"${party(random)}",` +
    `"id":"LOAD${String(random(100))}","scheme":{"tag":"RegistrarInternalScheme","value":{}}},` +
    `"amount":"${String(random(1_000_000))}.0000000000","round":"${String(random(100_000))}",` +
    `"note":"${randomNote(random)}","lock":null,"meta":{"values":[`;
  const items: string[] = [];
  for (let length = head.length + 4; length < bytes || items.length === 0;) {
    const item = `{"key":"splice.org/reason-${String(items.length)}","value":"${random(0x7fffffff).toString(36)}"}`;
    items.push(item);
    length += item.length + 1;
  }
  return `${head}${items.join(',')}]}}`;
}

/** The fields of a CreatedEvent without its envelope. `bytes` is the size of its argument. */
function createdFields(position: EventPosition, contract: Contract, random: Random, bytes: number): string {
  const { template } = contract;
  const signatory = party(random);
  const observer = party(random);
  return (
    `{"offset":${String(position.offset)},"nodeId":${String(position.nodeId)},"contractId":"${contract.id}",` +
    `"templateId":"${template.id}","contractKey":null,"contractKeyHash":"",` +
    `"createArgument":${payload(random, bytes)},"createdEventBlob":"","interfaceViews":[],` +
    `"witnessParties":["${signatory}","${observer}"],"signatories":["${signatory}"],"observers":["${observer}"],` +
    `"createdAt":"${timeAt(position.offset, 0)}","packageName":"${template.packageName}",` +
    `"representativePackageId":"${template.packageId}","acsDelta":true}`
  );
}

/** `{"CreatedEvent":…}`. */
export function createdEvent(position: EventPosition, contract: Contract, random: Random, bytes: number): string {
  return `{"CreatedEvent":${createdFields(position, contract, random, bytes)}}`;
}

/** `{"ExercisedEvent":…}`. A consuming one archives the contract and names its successor in the result. */
export function exercisedEvent(
  position: EventPosition,
  contract: Contract,
  random: Random,
  successor?: Contract,
): string {
  const { template } = contract;
  const consuming = successor !== undefined;
  const includesExercises = party(random);
  const argument =
    `{"context":{"values":{"utility.org/fee":{"tag":"AV_Decimal","value":"0.${String(random(10_000))}"}}},` +
    `"requestedAt":"${timeAt(position.offset, 0)}","requestedBy":"${includesExercises}","reference":"${String(random(0x7fffffff))}"}`;
  const result = consuming
    ? `{"holdingCid":"${successor.id}","meta":{"values":{"splice.org/tx-kind":"transfer"}}}`
    : '{"meta":{"values":{}}}';
  return (
    `{"ExercisedEvent":{"offset":${String(position.offset)},"nodeId":${String(position.nodeId)},` +
    `"contractId":"${contract.id}","templateId":"${template.id}","interfaceId":null,` +
    `"choice":"${template.choices[consuming ? 1 : 0]}","choiceArgument":${argument},"actingParties":["${includesExercises}"],` +
    `"consuming":${String(consuming)},"witnessParties":["${includesExercises}","${party(random)}"],` +
    `"lastDescendantNodeId":${String(position.nodeId + (consuming ? 1 : 0))},"exerciseResult":${result},` +
    `"packageName":"${template.packageName}","implementedInterfaces":[],"acsDelta":${String(consuming)}}}`
  );
}

/** One frame of `/v2/updates`. */
export function transactionFrame(offset: number, events: readonly string[], random: Random): string {
  const id = updateId(offset);
  return (
    `{"update":{"Transaction":{"value":{"updateId":"${id}","commandId":"command-${String(random(0x7fffffff))}",` +
    `"workflowId":"","effectiveAt":"${timeAt(offset, 0)}","events":[${events.join(',')}],"offset":${String(offset)},` +
    `"synchronizerId":"${synchronizerId}","traceContext":{"traceparent":"00-${id.slice(4, 36)}-${id.slice(36, 52)}-01",` +
    `"tracestate":null},"recordTime":"${timeAt(offset, offset)}","externalTransactionHash":null,` +
    `"paidTrafficCost":${String(random(20_000))}}}}}`
  );
}

/** One frame of `/v2/state/active-contracts`. */
export function activeContractFrame(
  position: EventPosition,
  contract: Contract,
  random: Random,
  bytes: number,
): string {
  return (
    `{"workflowId":"","contractEntry":{"JsActiveContract":{"createdEvent":` +
    `${createdFields(position, contract, random, bytes)},"synchronizerId":"${synchronizerId}","reassignmentCounter":0}},` +
    `"streamContinuationToken":"${Buffer.from(`entry ${String(position.offset)}`).toString('base64')}"}`
  );
}
