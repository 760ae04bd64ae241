/**
 * A participant that replays one recording: it streams the recorded frames, byte for byte. It shares no code with the
 * indexer or the sandbox, and rejects requests for less than was recorded.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { activeAt, type Entry, type Frame, type Recording, type Shape } from './recording.ts';

export interface ReplayServer extends AsyncDisposable {
  readonly url: string;
  /** Sets the ledger end. Open streams receive the new frames. */
  growTo(offset: number): void;
  /** Limits each list of active contracts to the first `count` entries. Later calls raise the limit. */
  showEntries(count: number): void;
}

interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** Messages to be sent on a socket. `next` sends one, and returns whether it was the last. */
interface SendingStream {
  readonly socket: WebSocket;
  next(): boolean;
}

const interfaces = [
  '#splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding',
  '#splice-api-token-holding-v2:Splice.Api.Token.HoldingV2:Holding',
];
/** Configuration of an indexer that requests exactly the recorded data. */
export const recordedFilter = { LEDGER_CREATED_EVENT_BLOBS: 'true', LEDGER_INTERFACES: interfaces.join(',') } as const;

export async function startReplay(recording: Recording, end: number): Promise<ReplayServer> {
  const participant = new Participant(recording, end);
  const server = createServer((request, response) => void respond(participant, request, response));
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'daml.ws.auth' });
  sockets.on('connection', (socket, request) => {
    socket.once('message', (data: Buffer) => {
      participant.stream(socket, pathOf(request), JSON.parse(data.toString()) as Request);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    growTo: (offset) => {
      participant.end = offset;
      participant.push();
    },
    showEntries: (count) => {
      participant.entryLimit = count;
      participant.push();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface EventFormat {
  readonly filtersForAnyParty?: { readonly cumulative?: readonly { readonly identifierFilter?: object }[] };
}

interface Request {
  readonly beginExclusive?: number;
  readonly endInclusive?: number | null;
  readonly activeAtOffset?: number;
  readonly streamContinuationToken?: string | null;
  readonly eventFormat?: EventFormat;
  readonly offset?: number;
  readonly updateId?: string;
  readonly contractId?: string;
  readonly updateFormat?: {
    readonly includeTransactions?: { readonly eventFormat?: EventFormat; readonly transactionShape?: string };
    readonly includeReassignments?: EventFormat;
    readonly includeTopologyEvents?: object;
  };
}

class Participant {
  end: number;
  entryLimit = Number.POSITIVE_INFINITY;
  readonly #recording: Recording;
  #sendings: SendingStream[] = [];

  constructor(recording: Recording, end: number) {
    this.#recording = recording;
    this.end = end;
  }

  push(): void {
    this.#sendings = this.#sendings.filter((sending) => {
      const { socket } = sending;
      if (socket.readyState !== socket.OPEN) return false;
      const isFinished = sending.next();
      if (isFinished) socket.close(1000);
      return !isFinished;
    });
  }

  stream(socket: WebSocket, path: string, request: Request): void {
    const next =
      path === '/v2/updates'
        ? this.#updates(socket, request)
        : path === '/v2/state/active-contracts'
          ? this.#contracts(socket, request)
          : refusal(404, 'NOT_FOUND', `no stream ${path}`, 11, 5);
    if (typeof next === 'function') this.#sendings.push({ socket, next });
    else {
      socket.send(next.body);
      socket.close(1000);
    }
    this.push();
  }

  #updates(socket: WebSocket, request: Request): SendingStream['next'] | Refusal {
    const { beginExclusive = 0, endInclusive } = request;
    const shape = shapeOf(request);
    if (shape === undefined) return unrecordedRefusal();
    if (Math.max(beginExclusive, endInclusive ?? 0) > this.end) return afterEnd('Begin', beginExclusive, this.end);
    const untilOffset = endInclusive ?? Number.POSITIVE_INFINITY;
    let lastOffset = beginExclusive;
    return () => {
      const lastVisible = Math.min(this.end, untilOffset);
      for (const { offset, text } of this.#recording.updates[shape]) {
        if (offset > lastOffset && offset <= lastVisible) socket.send(text);
      }
      lastOffset = Math.max(lastOffset, lastVisible);
      return lastOffset >= untilOffset;
    };
  }

  #contracts(socket: WebSocket, request: Request): SendingStream['next'] | Refusal {
    const entries = this.#entriesOf(request);
    if ('status' in entries) return entries;
    const activeEntries = activeAt(this.#recording, request.activeAtOffset ?? 0).length - entries.length;
    let next = 0;
    return () => {
      const limit = this.entryLimit - activeEntries;
      for (; next < entries.length && next < limit; next += 1) socket.send(entries[next]?.text ?? '');
      return next === entries.length;
    };
  }

  #entriesOf({ activeAtOffset = 0, streamContinuationToken: token, eventFormat }: Request): readonly Entry[] | Refusal {
    if (!includesEverything(eventFormat)) return unrecordedRefusal();
    if (activeAtOffset > this.end) return afterEnd('active_at_offset', activeAtOffset, this.end);
    const entries = activeAt(this.#recording, activeAtOffset);
    if (token === undefined || token === null || token === '') return entries;
    const last = entries.findIndex((entry: Entry) => entry.token === token);
    return last === -1
      ? refusal(400, 'INVALID_CONTINUATION_TOKEN', 'the token is not of this list', 8, 3)
      : entries.slice(last + 1);
  }

  /** The list of active contracts over HTTP. */
  list(request: Request, limit: number): string | Refusal {
    // An indexer checks each interface separately for whether the ledger knows it.
    if (limit === 1 && isSingleInterface(request.eventFormat)) return '[]';
    const entries = this.#entriesOf(request);
    return 'status' in entries ? entries : listOf(entries, limit);
  }

  /** The updates of an offset range over HTTP. */
  listUpdates(request: Request, limit: number): string | Refusal {
    const { beginExclusive = 0, endInclusive } = request;
    const shape = shapeOf(request);
    if (shape === undefined) return unrecordedRefusal();
    const untilOffset = Math.min(this.end, endInclusive ?? this.end);
    const frames = this.#recording.updates[shape].filter(
      ({ offset }) => offset > beginExclusive && offset <= untilOffset,
    );
    return listOf(frames, limit);
  }

  /** The update that matches a query for a single update. */
  lookUp(request: Request, isMatch: (frame: Frame) => boolean): string | Refusal {
    const shape = shapeOf(request);
    if (shape === undefined) return unrecordedRefusal();
    const matchedFrame = this.#recording.updates[shape].find((frame) => frame.offset <= this.end && isMatch(frame));
    return matchedFrame?.text ?? refusal(404, 'UPDATE_NOT_FOUND', 'Update not found, or not visible.', 11, 5);
  }

  get(path: string): string | Refusal {
    if (path.startsWith('/v2/packages/')) return refusal(404, 'PACKAGE_NOT_FOUND', 'Could not find package.', 11, 5);
    switch (path) {
      case '/v2/version':
        return this.#recording.version;
      case '/v2/parties/participant-id':
        return JSON.stringify({ participantId: this.#recording.participantId });
      case '/v2/parties':
        return '{"partyDetails":[],"nextPageToken":""}';
      case '/v2/packages':
        return '{"packageIds":[]}';
      case '/v2/state/ledger-end':
        return JSON.stringify({ offset: this.end });
      case '/v2/state/latest-pruned-offsets':
        return '{"participantPrunedUpToInclusive":0,"allDivulgedContractsPrunedUpToInclusive":0}';
      case '/v2/state/connected-synchronizers':
        return '{"connectedSynchronizers":[]}';
      default:
        return refusal(404, 'NOT_FOUND', `nothing at ${path}`, 11, 5);
    }
  }
}

function listOf(entries: readonly { readonly text: string }[], limit: number): string {
  const texts = entries.slice(0, limit).map(({ text }) => text);
  return `[${texts.join(',')}]`;
}

/** Undefined if the request is for less than was recorded. */
function shapeOf({ updateFormat }: Request): Shape | undefined {
  const { includeTransactions, includeReassignments, includeTopologyEvents } = updateFormat ?? {};
  const isUnfiltered = includesEverything(includeTransactions?.eventFormat) && includesEverything(includeReassignments);
  if (!isUnfiltered || includeTopologyEvents === undefined) return undefined;
  return includeTransactions?.transactionShape === 'TRANSACTION_SHAPE_ACS_DELTA' ? 'ACS_DELTA' : 'LEDGER_EFFECTS';
}

function includesEverything(format: EventFormat | undefined): boolean {
  const requestedFilters = JSON.stringify(format?.filtersForAnyParty?.cumulative ?? []);
  const view = (interfaceId: string): boolean =>
    requestedFilters.includes(`"interfaceId":"${interfaceId}","includeInterfaceView":true`);
  return (
    requestedFilters.includes('{"WildcardFilter":{"value":{"includeCreatedEventBlob":true}}}') && interfaces.every(view)
  );
}

function isSingleInterface(format: EventFormat | undefined): boolean {
  const [filter, ...extraFilters] = format?.filtersForAnyParty?.cumulative ?? [];
  const requestedFilter = JSON.stringify(filter?.identifierFilter ?? {});
  return extraFilters.length === 0 && interfaces.some((id) => requestedFilter.includes(`"interfaceId":"${id}"`));
}

const unrecordedRefusal = (): Refusal => refusal(400, 'INVALID_ARGUMENT', 'this request was not recorded', 8, 3);
const afterEnd = (subject: string, offset: number, end: number): Refusal =>
  refusal(
    400,
    'OFFSET_AFTER_LEDGER_END',
    `${subject} offset (${String(offset)}) is after ledger end (${String(end)})`,
    12,
    11,
  );

function refusal(status: number, code: string, cause: string, errorCategory: number, grpcCodeValue: number): Refusal {
  const context = { participant: "'sandbox'", definite_answer: 'false', category: String(errorCategory) };
  const emptyErrorFields = { correlationId: null, traceId: null, resources: [], retryInfo: null, definiteAnswer: null };
  return { status, body: JSON.stringify({ code, cause, context, errorCategory, grpcCodeValue, ...emptyErrorFields }) };
}

const urlOf = (request: IncomingMessage): URL => new URL(request.url ?? '/', 'http://ledger');
const pathOf = (request: IncomingMessage): string => urlOf(request).pathname;

async function respond(participant: Participant, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const result = responseTo(participant, urlOf(request), Buffer.concat(chunks).toString());
  const { status, body } = typeof result === 'string' ? { status: 200, body: result } : result;
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}

function responseTo(participant: Participant, { pathname: path, searchParams }: URL, body: string): string | Refusal {
  if (body === '') return participant.get(path);
  const request = JSON.parse(body) as Request;
  if (path === '/v2/updates/update-by-offset')
    return participant.lookUp(request, ({ offset }) => offset === request.offset);
  if (path === '/v2/updates/update-by-id') {
    return participant.lookUp(request, ({ value }) => value.fields.get('updateId') === request.updateId);
  }
  const limit = Number(searchParams.get('limit') ?? 200);
  if (path === '/v2/state/active-contracts') return participant.list(request, limit);
  if (path === '/v2/updates') return participant.listUpdates(request, limit);
  return refusal(404, 'NOT_FOUND', `nothing at ${path}`, 11, 5);
}
