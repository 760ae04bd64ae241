/**
 * Simulates a participant of a future release with a proxy. To every message of a participant, it adds fields, events,
 * kinds of updates and error codes that no release has. Shares no code with the sandbox or the client.
 */
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Message = Readonly<Record<string, Json>>;

/** Fields whose contents belong to a contract, a choice or an error, and are not changed. */
const contentFields: ReadonlySet<string> = new Set([
  'createArgument',
  'contractKey',
  'choiceArgument',
  'exerciseResult',
  'viewValue',
  'details',
]);

const updates = '/v2/updates';

/** Names that no release uses, one per kind of name, so that they can be counted. */
export const novelField = {
  field: 'novelty',
  event: 'PartyRenamed',
  update: 'Prophecy',
  code: 'PARTICIPANT_DREAMING',
} as const;

/** Status codes of a rejection with the unknown error code. */
export interface NovelRefusal {
  readonly status: number;
  readonly grpcCodeValue: number;
}

export class NewerParticipant implements AsyncDisposable {
  /** Rejection of the first request for each path; undefined: none is rejected. */
  firstRefusal: NovelRefusal | undefined;
  /** Rejection of every stream of updates; undefined: none is rejected. */
  updatesRefusal: NovelRefusal | undefined;
  /** Offsets at which an update of an unknown kind was sent. */
  readonly prophecies = new Set<number>();
  /** Requested paths, without parameters. */
  readonly paths = new Set<string>();
  readonly #target: string;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: () => 'daml.ws.auth',
  });
  #objects = 0;

  private constructor(target: string, server: Server) {
    this.#target = target;
    this.#server = server;
    server.on('request', (request, response) => void this.#answer(request, response));
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** @param target base URL of the participant */
  static async before(target: string): Promise<NewerParticipant> {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new NewerParticipant(target, server);
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #refusalOf(url: string, method: string): NovelRefusal | undefined {
    const path = `${method} ${url.replace(/\?.*$/, '')}`;
    const first = !this.paths.has(path);
    this.paths.add(path);
    if (method === 'WS' && url === updates && this.updatesRefusal !== undefined) return this.updatesRefusal;
    return first ? this.firstRefusal : undefined;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', headers, url = '/' } = request;
    const refusal = this.#refusalOf(url, method);
    if (refusal !== undefined) {
      request.resume();
      response.writeHead(refusal.status, { 'content-type': 'application/json' }).end(this.#refused(refusal));
      return;
    }
    const upstreamRequest = forward(
      `${this.#target}${url}`,
      { method, headers },
      (upstream) => void this.#pass(upstream, response),
    );
    upstreamRequest.on('error', () => response.destroy());
    request.pipe(upstreamRequest);
  }

  async #pass(upstream: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of upstream as AsyncIterable<Buffer>) chunks.push(chunk);
    const { 'content-length': _contentLength, ...headers } = upstream.headers;
    response.writeHead(upstream.statusCode ?? 502, headers);
    const isJson = upstream.headers['content-type']?.startsWith('application/json') === true;
    response.end(isJson ? this.#extendedText(Buffer.concat(chunks).toString()) : Buffer.concat(chunks));
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { url = '/' } = request;
    const upstream = new WebSocket(`${this.#target.replace('http', 'ws')}${url}`, ['daml.ws.auth']);
    upstream.on('error', () => socket.destroy());
    // A release may not have the path.
    upstream.on('unexpected-response', (_request, { statusCode = 502 }) => {
      socket.end(`HTTP/1.1 ${String(statusCode)} Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    });
    upstream.on('open', () => {
      this.#sockets.handleUpgrade(request, socket, head, (clientSocket) => {
        clientSocket.on('error', () => undefined);
        clientSocket.on('close', () => upstream.close());
        upstream.on('close', (code) => (code === 1006 ? clientSocket.terminate() : clientSocket.close(code)));
        clientSocket.once('message', (text: Buffer) => this.#relay(url, clientSocket, upstream, text.toString()));
      });
    });
  }

  #relay(url: string, clientSocket: WebSocket, upstream: WebSocket, requestText: string): void {
    const refusal = this.#refusalOf(url, 'WS');
    if (refusal !== undefined) {
      clientSocket.send(this.#refused(refusal));
      clientSocket.close(1000);
      return;
    }
    let last = requestedOffset(requestText);
    upstream.on('message', (text: Buffer) => {
      if (clientSocket.readyState !== clientSocket.OPEN) return;
      const frame = JSON.parse(text.toString()) as Message;
      const offset = url === updates ? offsetOf(frame) : undefined;
      // An offset between two updates belongs to a rejected command, so it is free for an update of an unknown kind.
      if (offset !== undefined && last !== undefined && offset > last + 1)
        clientSocket.send(this.#prophecy(last + 1, frame));
      last = offset ?? last;
      clientSocket.send(JSON.stringify(this.#extended(withNovelEvent(frame))));
    });
    upstream.send(requestText);
  }

  #prophecy(offset: number, previousMessage: Message): string {
    this.prophecies.add(offset);
    const synchronizerId = updateOf(previousMessage)?.[1]['synchronizerId'] ?? null;
    const value = { synchronizerId, offset, updateId: `1220${String(offset)}`, means: [{ to: null }] };
    return JSON.stringify({ update: { [novelField.update]: { value } } });
  }

  #refused({ status, grpcCodeValue }: NovelRefusal): string {
    const body = { code: novelField.code, cause: 'not now', context: {}, correlationId: null, traceId: null };
    return JSON.stringify(this.#extended({ ...body, errorCategory: 900 + (status % 100), grpcCodeValue }));
  }

  #extendedText(text: string): string {
    return text === '' ? text : JSON.stringify(this.#extended(JSON.parse(text) as Json));
  }

  /** The value with an additional field in every object outside of contents, before or after the other fields. */
  #extended(value: Json): Json {
    if (isList(value)) return value.map((entry) => this.#extended(entry));
    if (typeof value !== 'object' || value === null) return value;
    const fields = Object.entries(value).map(([key, nestedValue]): [string, Json] => [
      key,
      contentFields.has(key) ? nestedValue : this.#extended(nestedValue),
    ]);
    // In every release, an object with the name of a kind has only this key.
    if (fields.length === 1 && /^[A-Z]/.test(fields[0]?.[0] ?? '')) return Object.fromEntries(fields);
    const novelEntry: [string, Json] = [novelField.field, novelValues[this.#objects % novelValues.length] ?? null];
    this.#objects += 1;
    return Object.fromEntries(this.#objects % 3 === 0 ? [novelEntry, ...fields] : [...fields, novelEntry]);
  }
}

const novelValues: readonly Json[] = [
  null,
  true,
  1.5e300,
  '"}]\\ \u0000 \u{1f480}',
  [],
  [[{ offset: 1 }], null],
  {},
  { value: { CreatedEvent: { offset: '00' } } },
];

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isMessage(value: Json | undefined): value is Message {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function requestedOffset(requestText: string): number | undefined {
  const { beginExclusive } = JSON.parse(requestText) as Message;
  return typeof beginExclusive === 'number' ? beginExclusive : undefined;
}

/** The kind of an update, and its message. */
function updateOf(frame: Message): [string, Message] | undefined {
  if (!isMessage(frame['update'])) return undefined;
  const [[kind, wrapper] = ['', null]] = Object.entries(frame['update']);
  return isMessage(wrapper) && isMessage(wrapper['value']) ? [kind, wrapper['value']] : undefined;
}

function offsetOf(frame: Message): number | undefined {
  const offset = updateOf(frame)?.[1]['offset'];
  return typeof offset === 'number' ? offset : undefined;
}

/** Adds an event of an unknown kind to topology transactions. */
function withNovelEvent(frame: Message): Message {
  const [kind, message] = updateOf(frame) ?? ['', {}];
  const events = message['events'] ?? null;
  if (kind !== 'TopologyTransaction' || !isList(events)) return frame;
  const event = { event: { [novelField.event]: { value: { partyId: 'a::1220', to: 'b' } } } };
  return { ...frame, update: { [kind]: { value: { ...message, events: [...events, event] } } } };
}
