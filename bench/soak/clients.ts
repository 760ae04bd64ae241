/**
 * SSE clients of `/changes` that stay connected: `clients.js PLAN`, with a {@link ClientsPlan} as JSON. After a lost
 * connection each client resumes with `Last-Event-ID`, as a browser does.
 */
import { readFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { addToDigest, emptyDigest, type ClientGroup, type SequenceDigest } from './groups.ts';

export interface ClientsPlan {
  readonly url: string;
  readonly groups: readonly ClientGroup[];
  /** The offset after which new clients begin. */
  readonly after: number;
  /** File with the positions of an earlier piece, as {@link ClientState}s; absent at the beginning. */
  readonly positions?: string;
}

export interface ClientState {
  readonly group: string;
  /** The last id, with or without a change. */
  lastId: string;
  /** Offset and node of the last change. */
  lastOffset: number;
  lastNode: number;
  readonly digest: SequenceDigest;
  /** Number of changes whose id was not above the previous one: sent twice, or out of order. */
  repeated: number;
}

export interface ClientsReport {
  readonly kind: 'report';
  readonly connected: number;
  readonly events: number;
  readonly bytes: number;
  readonly reconnects: number;
  /** Statuses other than 200, and ends of streams that the client did not expect, with their numbers. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly clients: readonly ClientState[];
}

const reconnectMs = [300, 900] as const;
const plan = JSON.parse(process.argv[2] ?? '{}') as ClientsPlan;
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
let [connected, events, bytes, reconnects] = [0, 0, 0, 0];
const refusals: Record<string, number> = {};

function newClients(): ClientState[] {
  return plan.groups.flatMap(({ name, clients }) =>
    Array.from({ length: clients }, () => ({
      group: name,
      lastId: '',
      lastOffset: 0,
      lastNode: 0,
      digest: emptyDigest(),
      repeated: 0,
    })),
  );
}

const clients =
  plan.positions === undefined ? newClients() : (JSON.parse(readFileSync(plan.positions, 'utf8')) as ClientState[]);

/** During a restart, a client may get 503, or 500 if the database ends in the middle of its request. */
function isTransient(status: number | undefined): boolean {
  return status === 500 || status === 503;
}

function refuse(reason: string): void {
  refusals[reason] = (refusals[reason] ?? 0) + 1;
}

/** Reads lines. A change is `id`, `event: change` and `data`; an id without a change only moves the position. */
function readEvents(client: ClientState): (chunk: Buffer) => void {
  let [buffered, id, name, data] = ['', '', '', ''];
  const readLine = (line: string): void => {
    if (line.startsWith('id: ')) id = line.slice(4);
    else if (line.startsWith('event: ')) name = line.slice(7);
    else if (line.startsWith('data: ')) data = line.slice(6);
    else if (line === '') {
      // An event counts once it is complete.
      if (name === 'change') receive(client, id);
      else if (name === 'end') refuse(`event: end for ${client.group}: ${data}`);
      if (id !== '') client.lastId = id;
      [id, name, data] = ['', '', ''];
    }
  };
  return (chunk) => {
    bytes += chunk.length;
    const text = buffered + chunk.toString('latin1');
    let begin = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', begin)) {
      readLine(text.slice(begin, Math.min(end, begin + 60)));
      begin = end + 1;
    }
    buffered = text.slice(begin);
  };
}

function receive(client: ClientState, id: string): void {
  const [offset = 0, node = 0] = id.split('-').map(Number);
  if (offset < client.lastOffset || (offset === client.lastOffset && node <= client.lastNode)) client.repeated += 1;
  client.lastOffset = offset;
  client.lastNode = node;
  addToDigest(client.digest, offset, node);
  events += 1;
}

function connect(client: ClientState, group: ClientGroup): void {
  const query = new URLSearchParams({ after: String(plan.after), unseen: 'allow' });
  if (group.eventType !== undefined) query.set('event_type', group.eventType);
  if (group.template !== undefined) query.set('template', group.template);
  const headers = {
    accept: 'text/event-stream',
    ...(client.lastId === '' ? {} : { 'last-event-id': client.lastId }),
  };
  let isOver = false;
  const retry = (): void => {
    if (isOver) return;
    isOver = true;
    reconnects += 1;
    const [least, most] = reconnectMs;
    setTimeout(() => connect(client, group), least + ((reconnects * 37) % (most - least)));
  };
  get(`${plan.url}/changes?${query.toString()}`, { agent, headers }, (response: IncomingMessage) => {
    if (response.statusCode !== 200) {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      return response.once('close', () => {
        const text = isTransient(response.statusCode)
          ? ''
          : ` for ${group.name}: ${String(Buffer.concat(chunks)).slice(0, 300)}`;
        refuse(`status ${String(response.statusCode)}${text}`);
        retry();
      });
    }
    connected += 1;
    response.on('data', readEvents(client));
    return response.once('close', () => {
      connected -= 1;
      retry();
    });
  }).once('error', retry);
}

process.on('message', () => {
  process.send?.({ kind: 'report', connected, events, bytes, reconnects, refusals, clients } satisfies ClientsReport);
});
process.on('disconnect', () => process.exit());
process.on('SIGINT', () => undefined);
const groupByName = new Map(plan.groups.map((group) => [group.name, group]));
for (const client of clients) {
  const group = groupByName.get(client.group);
  if (group !== undefined) connect(client, group);
}
