/** Lookups of one update: by offset, by id, by transaction hash, and the deprecated lookups of one transaction. */
import { require } from '../identity/caller.ts';
import type { Call, Endpoint } from '../api/endpoint.ts';
import { failure, invalidArgument, missingField, nonPositiveOffset } from '../wire/failure.ts';
import { parseUpdateFormat } from '../contracts/format.ts';
import type { UpdateFormat } from '../contracts/format.ts';
import type { StoredUpdate } from '../ledger/history.ts';
import { asObject, asText, asTexts } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { updateFormatNeeds } from '../identity/read-rights.ts';
import { Renderer } from '../api/render.ts';
import { hashOf, int64Of } from '../api/requests.ts';
import { treeOf } from '../api/trees.ts';

/** The key of a lookup, and its name in a refusal. */
interface Key {
  readonly kind: string;
  readonly name: string;
  find(ledger: Ledger): StoredUpdate | undefined;
}

function offsetKey(value: Json | undefined): Key {
  const requestedOffset = int64Of(value) ?? 0;
  if (requestedOffset <= 0) throw nonPositiveOffset(requestedOffset, 'offset');
  const offset = Number(requestedOffset);
  return { kind: 'OFFSET', name: String(requestedOffset), find: (ledger) => ledger.range(offset - 1, offset, 1)[0] };
}

function idKey(updateId: string): Key {
  if (updateId === '') throw missingField('update_id');
  return { kind: 'UPDATE_ID', name: updateId, find: (ledger) => ledger.findUpdate('id', updateId) };
}

function hashKey(base64Hash: string): Key {
  const hash = hashOf(base64Hash);
  return { kind: 'TRANSACTION_HASH', name: hash, find: (ledger) => ledger.findUpdate('hash', hash) };
}

function notFound({ kind, name }: Key): Error {
  const cause = 'Update not found, or not visible.';
  return failure({ code: 'UPDATE_NOT_FOUND', category: 11, cause, resources: [[kind, name]] });
}

/** The update, if the participant still returns it, and the checked format to print it in. */
function lookUp({ participant, caller }: Call, key: Key, updateFormat: JsonObject): [StoredUpdate, UpdateFormat] {
  const { ledger, release } = participant;
  require(caller, updateFormatNeeds(updateFormat));
  const format = parseUpdateFormat(updateFormat, ledger.model, release);
  const storedUpdate = key.find(ledger);
  if (storedUpdate === undefined || storedUpdate.offset > ledger.ledgerEnd()) throw notFound(key);
  return [storedUpdate, format];
}

function update(call: Call, key: Key): string {
  const updateFormat = asObject(call.body['updateFormat']);
  if (updateFormat === undefined) throw missingField('update_format');
  const response = new Renderer(call.participant).update(...lookUp(call, key, updateFormat));
  if (response === undefined) throw notFound(key);
  return response;
}

function wildcards(parties: readonly string[], transactionShape: string): JsonObject {
  const filtersByParty = Object.fromEntries(parties.map((party) => [party, {}]));
  return { eventFormat: { filtersByParty }, transactionShape };
}

/** Serves a lookup with `requestingParties` or `transactionFormat`, but never both. */
function transaction(call: Call, key: Key): string {
  const parties = asTexts(call.body['requestingParties']);
  const format = asObject(call.body['transactionFormat']);
  if (format !== undefined && parties.length > 0) {
    throw invalidArgument('transaction_format and requesting_parties cannot be set at the same time');
  }
  const includeTransactions = format ?? wildcards(parties, 'TRANSACTION_SHAPE_ACS_DELTA');
  const [storedUpdate, { transactions }] = lookUp(call, key, { includeTransactions });
  if (storedUpdate.update === undefined || !('Transaction' in storedUpdate.update)) throw notFound(key);
  const { value } = storedUpdate.update.Transaction;
  const visibleUpdate = new Renderer(call.participant).transaction(value, storedUpdate.archived, transactions);
  if (visibleUpdate === undefined) throw notFound(key);
  return JSON.stringify({ transaction: visibleUpdate });
}

function tree(call: Call, key: Key): string {
  const includeTransactions = wildcards(call.query.getAll('parties'), 'TRANSACTION_SHAPE_LEDGER_EFFECTS');
  const [storedUpdate, format] = lookUp(call, key, { includeTransactions });
  const visibleUpdate = treeOf(new Renderer(call.participant), storedUpdate, format);
  if (visibleUpdate === undefined) throw notFound(key);
  return JSON.stringify({ transaction: visibleUpdate });
}

const until36 = { last: '3.6', deprecatedIn: '3.4' } as const;

export const updateLookupEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v2/updates/update-by-offset',
    summary: 'The update at an offset',
    request: 'GetUpdateByOffsetRequest',
    response: 'JsGetUpdateResponse',
    run: (call) => update(call, offsetKey(call.body['offset'])),
  },
  {
    method: 'POST',
    path: '/v2/updates/update-by-id',
    summary: 'The update with an id',
    request: 'GetUpdateByIdRequest',
    response: 'JsGetUpdateResponse',
    run: (call) => update(call, idKey(asText(call.body['updateId']))),
  },
  {
    method: 'POST',
    path: '/v2/updates/update-by-hash',
    summary: 'The update of the transaction with a hash',
    since: '3.6',
    request: 'GetUpdateByHashRequest',
    response: 'JsGetUpdateResponse',
    run: (call) => update(call, hashKey(asText(call.body['transactionHash']))),
  },
  {
    ...until36,
    method: 'POST',
    path: '/v2/updates/transaction-by-offset',
    summary: 'The transaction at an offset',
    request: 'GetTransactionByOffsetRequest',
    response: 'JsGetTransactionResponse',
    run: (call) => transaction(call, offsetKey(call.body['offset'])),
  },
  {
    ...until36,
    method: 'POST',
    path: '/v2/updates/transaction-by-id',
    summary: 'The transaction with an update id',
    request: 'GetTransactionByIdRequest',
    response: 'JsGetTransactionResponse',
    run: (call) => transaction(call, idKey(asText(call.body['updateId']))),
  },
  {
    ...until36,
    method: 'GET',
    path: '/v2/updates/transaction-tree-by-offset/{offset}',
    summary: 'The transaction at an offset, as a tree',
    query: ['parties'],
    response: 'JsGetTransactionTreeResponse',
    run: (call) => tree(call, offsetKey(call.path['offset'])),
  },
  {
    ...until36,
    method: 'GET',
    path: '/v2/updates/transaction-tree-by-id/{update-id}',
    summary: 'The transaction with an update id, as a tree',
    query: ['parties'],
    response: 'JsGetTransactionTreeResponse',
    run: (call) => tree(call, idKey(call.path['update-id'] ?? '')),
  },
];
