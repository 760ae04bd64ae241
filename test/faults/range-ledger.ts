/**
 * A ledger with only three calls. The test sets its ledger end, its updates, and the updates that each stream returns.
 * It was written only from the description of the wire format. It sends no OffsetCheckpoints, like a ledger whose
 * stream reports nothing for a minute.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import { startFakeLedger } from '../ledger/fake-ledger.ts';
import { created, text, transaction } from '../support/frames.ts';

/** May send a substitute for a response; returns whether it did. */
export type ResponseOverride<T> = (value: T) => boolean | Promise<boolean>;

interface Request {
  readonly beginExclusive: number;
  readonly endInclusive?: number;
}

export class RangeLedger implements AsyncDisposable {
  url = '';
  end = 0;
  /** Offsets of updates. */
  readonly updates = new Set<number>();
  /** Offsets of updates that the open stream does not send yet. */
  readonly held = new Set<number>();
  /** Number of requested streams with an end offset. */
  boundedRequestCount = 0;
  /** Number of opened streams without an end offset. */
  opened = 0;
  /** Substitute for streams with an end offset. */
  bounded: ResponseOverride<WebSocket> = () => false;
  /** Number of ledger-end requests. */
  ledgerEndRequestCount = 0;
  /** Substitute for responses to ledger-end requests. */
  endAnswer: ResponseOverride<ServerResponse> = () => false;
  /** Substitute for lists over HTTP. */
  list: ResponseOverride<ServerResponse> = () => false;
  #open: { readonly socket: WebSocket; sent: number } | undefined;
  #stop: () => Promise<void> = () => Promise.resolve();

  static async start(): Promise<RangeLedger> {
    const ledger = new RangeLedger();
    const servedLedger = await startFakeLedger({
      http: (request, response) => void ledger.#answer(request, response),
      socket: (socket, request) => void ledger.#stream(socket, JSON.parse(request) as Request),
    });
    ledger.url = servedLedger.url;
    ledger.#stop = () => servedLedger.stop();
    return ledger;
  }

  /** Moves the ledger end. Of the new offsets, only the given ones have an update. */
  grow(end: number, ...updates: number[]): void {
    this.end = end;
    for (const offset of updates) this.updates.add(offset);
    this.deliver();
  }

  /** Makes the open stream send the updates that are not held. */
  deliver(): void {
    const openSocket = this.#open;
    if (openSocket === undefined) return;
    for (const offset of this.#between(openSocket.sent, this.end)) {
      if (this.held.has(offset)) break;
      openSocket.socket.send(frameOf(offset));
      openSocket.sent = offset;
    }
  }

  /** Makes the open stream send one update out of order. */
  bring(offset: number): void {
    this.#open?.socket.send(frameOf(offset));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }

  #between(beginExclusive: number, endInclusive: number): readonly number[] {
    return [...this.updates]
      .filter((offset) => offset > beginExclusive && offset <= endInclusive)
      .sort((a, b) => a - b);
  }

  async #stream(socket: WebSocket, { beginExclusive, endInclusive }: Request): Promise<void> {
    if (endInclusive === undefined) {
      this.opened += 1;
      this.#open = { socket, sent: beginExclusive };
      this.deliver();
      return;
    }
    this.boundedRequestCount += 1;
    if (await this.bounded(socket)) return;
    for (const offset of this.#between(beginExclusive, endInclusive)) socket.send(frameOf(offset));
    socket.close(1000);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as Partial<Request> & { offset?: number };
    const [path = '', query = ''] = (request.url ?? '').split('?');
    if (path === '/v2/state/ledger-end') {
      this.ledgerEndRequestCount += 1;
      if (await this.endAnswer(response)) return;
    }
    if (path === '/v2/updates' && (await this.list(response))) return;
    const resource = this.#resource(path, body, Number(new URLSearchParams(query).get('limit') ?? 200));
    response.writeHead(resource === undefined ? 404 : 200).end(resource ?? '{}');
  }

  #resource(path: string, body: Partial<Request> & { offset?: number }, limit: number): string | undefined {
    switch (path) {
      case '/v2/parties/participant-id':
        return '{"participantId":"p::1220"}';
      case '/v2/state/ledger-end':
        return `{"offset":${this.end}}`;
      case '/v2/state/latest-pruned-offsets':
        return '{"participantPrunedUpToInclusive":0}';
      case '/v2/updates/update-by-offset':
        return this.updates.has(body.offset ?? 0) ? frameOf(body.offset ?? 0) : undefined;
      case '/v2/updates':
        return `[${this.#between(body.beginExclusive ?? 0, body.endInclusive ?? this.end)
          .slice(0, limit)
          .map(frameOf)
          .join(',')}]`;
      default:
        return undefined;
    }
  }
}

function frameOf(offset: number): string {
  return text(transaction(offset, [{ CreatedEvent: created({ contractId: `00${String(offset)}`, offset }) }]));
}
