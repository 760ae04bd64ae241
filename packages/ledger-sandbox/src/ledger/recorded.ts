/**
 * Reads only as much of recorded frames as needed to insert them into the history and the active contracts. Never
 * changes their text.
 */
import { SandboxError } from '../wire/sandbox-error.ts';
import { asObject, asText, parseJson } from '../wire/json.ts';
import type { JsonObject } from '../wire/json.ts';
import { canonicalUpdate } from '../wire/wire.ts';
import type { CreatedEvent, Update, UpdateInput } from '../wire/wire.ts';

function unreadable(problem: string): SandboxError {
  const remedy = 'pass the complete text of one frame';
  return new SandboxError(`sandbox ledger: ${problem}`, { code: 'SANDBOX_RECORDING', remedy });
}

function parseRecorded(raw: string): JsonObject {
  const body = asObject(parseJson(raw));
  if (body === undefined) throw unreadable('the recorded frame is not a JSON object');
  return body;
}

export interface RecordedUpdate {
  readonly offset: number | undefined;
  readonly updateId: string;
  /** Undefined for a kind that the sandbox does not know. */
  readonly update: Update | undefined;
}

/** Reads the offset, the id and, for known kinds, the update of a recorded `{"update":{…}}` frame. */
export function parseUpdate(raw: string): RecordedUpdate {
  const update = asObject(parseRecorded(raw)['update']);
  const [kind] = Object.keys(update ?? {});
  const value = asObject(asObject(update?.[kind ?? ''])?.['value']);
  if (update === undefined || value === undefined) throw unreadable('the recorded frame has no update');
  const offset = typeof value['offset'] === 'number' ? value['offset'] : undefined;
  const updateId = asText(value['updateId']);
  if (!['Transaction', 'Reassignment', 'TopologyTransaction'].includes(kind ?? ''))
    return { offset, updateId, update: undefined };
  return { offset, updateId, update: canonicalUpdate(update as unknown as UpdateInput) };
}

/** Reads the contract of a recorded active-contracts entry, and the synchronizer on which it is active. */
export function parseAcsEntry(raw: string): { readonly created: CreatedEvent; readonly synchronizerId: string } {
  const entry = asObject(parseRecorded(raw)['contractEntry']);
  const activeEntry = asObject(entry?.['JsActiveContract']) ?? asObject(entry?.['JsIncompleteUnassigned']);
  const incompleteAssigned = asObject(asObject(entry?.['JsIncompleteAssigned'])?.['assignedEvent']);
  const createdEvent = asObject((activeEntry ?? incompleteAssigned)?.['createdEvent']) ?? {};
  const synchronizerId = activeEntry?.['synchronizerId'] ?? incompleteAssigned?.['target'];
  // An entry without a contract (JsEmpty) still has to be served, so it gets an id that no event can archive.
  const contract = { contractId: '', ...createdEvent } as unknown as CreatedEvent;
  return { created: contract, synchronizerId: typeof synchronizerId === 'string' ? synchronizerId : '' };
}
