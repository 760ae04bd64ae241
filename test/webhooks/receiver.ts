/** A receiver of webhooks in the test process. It accepts only events that a third-party verifier accepts. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { pause } from '../support/wait-for.ts';

export interface Received {
  readonly id: string;
  readonly type: string;
  /** `offset-node` of the event in history. */
  readonly place: string;
  readonly contract: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The body as it was received. */
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A status with optional headers, or `silent` for no response. */
export type Reply = { readonly status: number; readonly headers?: Readonly<Record<string, string>> } | 'silent';

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** All signed events in order of arrival, whatever the response was. */
  readonly heard: Received[];
  /** Events to which the receiver responded with 2xx. */
  readonly taken: Received[];
  /** Bodies that the verifier rejected. */
  readonly forged: string[];
  /** Returns the response to an event; 204 by default. */
  reply: (received: Received) => Reply;
  /** Delay between an event and its response, in milliseconds. */
  delayMs: number;
  /** Secret as `webhook add` printed it. Without it, the receiver does not respond. */
  secret: string;
  /** Last part of the path on which the receiver listens. */
  name: string;
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const receiver: Receiver = {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hooks`,
    heard: [],
    taken: [],
    forged: [],
    reply: () => ({ status: 204 }),
    delayMs: 0,
    secret: '',
    name: '',
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    request.setEncoding('utf8');
    for await (const text of request) body += String(text);
    if (request.url !== `/hooks/${receiver.name}`) {
      response.writeHead(404).end();
      return;
    }
    while (receiver.secret === '') await pause(5);
    let receivedEvent: Received;
    try {
      receivedEvent = receivedOf(request, body, receiver.secret);
    } catch {
      receiver.forged.push(body);
      response.writeHead(401).end();
      return;
    }
    receiver.heard.push(receivedEvent);
    if (receiver.delayMs > 0) await pause(receiver.delayMs);
    const reply = receiver.reply(receivedEvent);
    if (reply === 'silent') return;
    if (reply.status < 300) receiver.taken.push(receivedEvent);
    response.writeHead(reply.status, reply.headers).end();
  }
  return receiver;
}

/** @throws WebhookVerificationError */
function receivedOf(request: IncomingMessage, body: string, secret: string): Received {
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const { type, data } = new Webhook(secret).verify(body, headers) as { type: string; data: Received['data'] };
  const contract = typeof data['contract_id'] === 'string' ? data['contract_id'] : '';
  return {
    id: headers['webhook-id'] ?? '',
    type,
    place: `${String(data['offset'])}-${String(data['node_id'])}`,
    contract,
    data,
    body,
    headers,
  };
}

/** Positions of each contract's events in order of first arrival. */
export function groupByContract(
  receivedEvents: readonly Pick<Received, 'id' | 'contract' | 'place'>[],
): ReadonlyMap<string, readonly string[]> {
  const idsByContract = new Map<string, string[]>();
  const seenKeys = new Set<string>();
  for (const { id, contract, place: position } of receivedEvents) {
    if (seenKeys.has(id)) continue;
    seenKeys.add(id);
    idsByContract.set(contract, [...(idsByContract.get(contract) ?? []), position]);
  }
  return idsByContract;
}

/** Sorts positions in the order of history. */
export function sortPlaces(positions: readonly string[]): readonly string[] {
  const numbers = (position: string): readonly number[] => position.split('-').map(Number);
  return positions.toSorted((firstPlace, otherPlace) => {
    const [[a = 0, b = 0], [c = 0, d = 0]] = [numbers(firstPlace), numbers(otherPlace)];
    return a - c || b - d;
  });
}
