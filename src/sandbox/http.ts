/**
 * The HTTP half of the interface: compact JSON, the participant's key order, its refusals with their status, its 404.
 * One handler per path; everything not listed here is unknown to the sandbox.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { authorized } from './authorization.ts';
import { parseSubmission } from './commands.ts';
import { LedgerFailure, failure, listTooLong, missingField, unauthenticated } from './failure.ts';
import { parseUpdateFormat } from './format.ts';
import type { UpdateFormat } from './format.ts';
import type { StoredUpdate } from './history.ts';
import { asObject, asText, parseJson } from './json.ts';
import type { JsonObject } from './json.ts';
import type { Ledger } from './ledger.ts';
import { UpdatesReader, activeContracts } from './reader.ts';
import { Renderer } from './render.ts';
import { parseActiveContractsRequest, parseUpdatesRequest } from './requests.ts';
import type { Transaction } from './wire.ts';

const listLimit = 200;
const listIdleMs = 500;
const maxBodyBytes = 8 * 1024 * 1024;

/** Body of an answer, already JSON text. */
type Answer = string;
type Handler = (ledger: Ledger, body: JsonObject, query: URLSearchParams) => Answer | Promise<Answer>;

/** What /v2/version says the sandbox is. */
const version = {
  version: '3.5.10',
  features: {
    experimental: { staticTime: { supported: false }, commandInspectionService: { supported: true } },
    userManagement: { supported: true, maxRightsPerUser: 1000, maxUsersPageSize: 1000 },
    partyManagement: { maxPartiesPageSize: 10_000 },
    offsetCheckpoint: {
      maxOffsetCheckpointEmissionDelay: { seconds: 75, nanos: 0, unknownFields: { fields: {} } },
    },
    packageFeature: { maxVettedPackagesPageSize: 100 },
  },
};

function parties(ledger: Ledger): Answer {
  const partyDetails = [...ledger.localParties()].sort().map((party) => ({
    party,
    isLocal: true,
    localMetadata: { resourceVersion: '', annotations: {} },
    identityProviderId: '',
  }));
  return JSON.stringify({ partyDetails, nextPageToken: '' });
}

function connectedSynchronizers(ledger: Ledger): Answer {
  const permission = 'PARTICIPANT_PERMISSION_UNSPECIFIED';
  const connected = ledger.synchronizers.map(({ alias, id }) => ({
    synchronizerAlias: alias,
    synchronizerId: id,
    permission,
  }));
  return JSON.stringify({ connectedSynchronizers: connected });
}

function limitOf(query: URLSearchParams): number {
  const limit = query.get('limit');
  return Math.min(limit === null ? Infinity : Number(limit), listLimit + 1);
}

function asArray(elements: readonly string[]): Answer {
  if (elements.length > listLimit) throw listTooLong(listLimit);
  return `[${elements.join()}]`;
}

const listContracts: Handler = (ledger, body, query) => {
  const limit = limitOf(query);
  const entries: string[] = [];
  for (const entry of activeContracts(ledger, parseActiveContractsRequest(body, ledger))) {
    if (entries.length >= limit) break;
    entries.push(entry);
  }
  return asArray(entries);
};

/** Resolves with true when the ledger changed within the milliseconds. */
function changed(ledger: Ledger, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (result: boolean): void => {
      clearTimeout(timer);
      unsubscribe();
      resolve(result);
    };
    const timer = setTimeout(() => settle(false), milliseconds);
    const unsubscribe = ledger.onChange(() => settle(true));
  });
}

const listUpdates: Handler = async (ledger, body, query) => {
  const request = parseUpdatesRequest(body, ledger);
  const idleMs = Number(query.get('stream_idle_timeout_ms') ?? listIdleMs);
  const limit = limitOf(query);
  const reader = new UpdatesReader(ledger, request);
  const frames: string[] = [];
  while (frames.length < limit && !reader.finished) {
    frames.push(...reader.read());
    if (request.endInclusive === undefined && reader.caughtUp && !(await changed(ledger, idleMs))) break;
  }
  return asArray(frames.slice(0, limit));
};

function lookUp(ledger: Ledger, body: JsonObject, key: string, matches: (stored: StoredUpdate) => boolean): Answer {
  const formatBody = asObject(body['updateFormat']);
  if (formatBody === undefined) throw missingField('update_format');
  const format: UpdateFormat = parseUpdateFormat(formatBody, ledger.model);
  const stored = ledger.findUpdate(matches);
  const answer = stored === undefined ? undefined : new Renderer(ledger.model).update(stored, format);
  if (answer !== undefined) return answer;
  const cause = 'Update not found, or not visible.';
  throw failure({ code: 'UPDATE_NOT_FOUND', category: 11, cause, resources: [['TRANSACTION_ID', key]] });
}

const updateByOffset: Handler = (ledger, body) =>
  lookUp(ledger, body, JSON.stringify(body['offset'] ?? 0), (stored) => stored.offset === body['offset']);

const updateById: Handler = (ledger, body) => {
  const id = asText(body['updateId']);
  const needle = `"updateId":${JSON.stringify(id)}`;
  return lookUp(ledger, body, id, ({ raw, update }) => (raw ?? JSON.stringify(update)).includes(needle));
};

const submitAndWait: Handler = (ledger, body) => {
  const { updateId, offset } = ledger.submitJournaled(parseSubmission(body));
  return JSON.stringify({ updateId, completionOffset: offset });
};

const submitForTransaction: Handler = (ledger, body) => {
  const submission = parseSubmission(asObject(body['commands']) ?? {});
  const submitted = ledger.submitJournaled(submission);
  const asked = asObject(body['transactionFormat']);
  const filtersByParty = Object.fromEntries(submission.actAs.map((party) => [party, {}]));
  const transactionShape = 'TRANSACTION_SHAPE_ACS_DELTA';
  const includeTransactions = asked ?? { eventFormat: { filtersByParty }, transactionShape };
  const { transactions } = parseUpdateFormat({ includeTransactions }, ledger.model);
  const [stored] = ledger.range(submitted.offset - 1, submitted.offset, 1);
  const visible = new Renderer(ledger.model).transaction(submitted, stored?.archived, transactions);
  const transaction: Transaction = visible ?? { ...submitted, events: [] };
  return JSON.stringify({ transaction });
};

const handlers: Readonly<Record<string, Handler>> = {
  'GET /v2/version': () => JSON.stringify(version),
  'GET /v2/state/ledger-end': (ledger) => JSON.stringify({ offset: ledger.ledgerEnd() }),
  'GET /v2/state/latest-pruned-offsets': (ledger) => {
    const pruned = ledger.prunedTo();
    return JSON.stringify({
      participantPrunedUpToInclusive: pruned,
      allDivulgedContractsPrunedUpToInclusive: pruned,
    });
  },
  'GET /v2/state/connected-synchronizers': connectedSynchronizers,
  'GET /v2/parties/participant-id': ({ participantId }) => JSON.stringify({ participantId }),
  'GET /v2/parties': parties,
  'GET /v2/packages': (ledger) => JSON.stringify({ packageIds: ledger.model.packageIds() }),
  'POST /v2/state/active-contracts': listContracts,
  'POST /v2/updates': listUpdates,
  'POST /v2/updates/update-by-offset': updateByOffset,
  'POST /v2/updates/update-by-id': updateById,
  'POST /v2/commands/submit-and-wait': submitAndWait,
  'POST /v2/commands/submit-and-wait-for-transaction': submitForTransaction,
  'POST /v2/commands/async/submit': (ledger, body) => {
    ledger.submitJournaled(parseSubmission(body));
    return '{}';
  },
};

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function answer(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(text);
}

const ready = '[+] ledger ok (SERVING)\nreadyz check passed\n';

/** Answers one HTTP request. Never throws: refusals and defects become answers. */
export async function serveHttp(
  request: IncomingMessage,
  response: ServerResponse,
  ledger: Ledger,
  token: string | undefined,
): Promise<void> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host ?? 'localhost'}`);
  const route = `${request.method ?? 'GET'} ${url.pathname}`;
  if (route === 'GET /livez') return answer(response, 200, '', '');
  if (route === 'GET /readyz') return answer(response, 200, 'text/plain; charset=UTF-8', ready);
  const handler = Object.hasOwn(handlers, route) ? handlers[route] : undefined;
  if (handler === undefined) {
    const errors = [`HttpMethod(${request.method ?? 'GET'}), uri: ${url.href}`];
    return answer(response, 404, 'application/json', JSON.stringify({ errors, status: 404 }));
  }
  try {
    if (route !== 'GET /v2/version' && !authorized(request, token)) throw unauthenticated();
    const text = request.method === 'POST' ? await bodyOf(request) : '{}';
    if (text === undefined) return answer(response, 413, 'text/plain; charset=UTF-8', 'Payload Too Large');
    const body = asObject(parseJson(text));
    if (body === undefined) return answer(response, 400, 'text/plain; charset=UTF-8', 'Invalid value for: body');
    answer(response, 200, 'application/json', await handler(ledger, body, url.searchParams));
  } catch (thrown) {
    const refusal =
      thrown instanceof LedgerFailure
        ? thrown
        : failure({ code: 'LEDGER_API_INTERNAL_ERROR', category: 4, cause: 'the sandbox failed on this request' });
    answer(response, refusal.status, 'application/json', JSON.stringify(refusal.body));
  }
}
