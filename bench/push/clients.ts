/**
 * Counting clients of `/changes`: `clients.js OPTIONS`, with a {@link ClientsPlan} as JSON. Opens all streams and
 * reports that. Reports the received events once each client has the last one, or on request.
 */
import { Agent, get, type IncomingMessage } from 'node:http';

export interface ClientsPlan {
  readonly url: string;
  readonly clients: number;
  /** The cursor after which all streams begin. */
  readonly after: number;
  /** The last offset that is sent. */
  readonly last: number;
  /** Number of events after `after` and up to `last`, all of which each client must receive. */
  readonly events: number;
}

export interface ClientsSeen {
  readonly kind: 'seen';
  /** Number of events received by all clients together. */
  readonly events: number;
  /** Number of events whose id was not above the previous one: out of order, or sent twice. */
  readonly reordered: number;
  /** Number of streams that ended or never began; the next field is the reason for the first one. */
  readonly ended: number;
  readonly problem: string | undefined;
  /**
   * Start of the times in `arrivals`. These are the times at which the last event of an update was read, by client and
   * update: nanoseconds of the system-wide clock after `from`; 0 if it was never read.
   */
  readonly from: bigint;
  readonly arrivals: Float64Array;
}

export type ClientsMessage = { readonly kind: 'listening' } | ClientsSeen;

/** Number of connections that are opened concurrently, because the queue of a listening socket is limited. */
const connectingAtOnce = 100;
/** Limit above the number of nodes of every update. */
const nodesOfAnOffset = 1_000_000;

const plan = JSON.parse(process.argv[2] ?? '{}') as ClientsPlan;
const updates = plan.last - plan.after;
const from = process.hrtime.bigint();
const arrivals = new Float64Array(plan.clients * updates);
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
let [events, reordered, ended, done] = [0, 0, 0, 0];
let problem: string | undefined;

function send(message: ClientsMessage): void {
  process.send?.(message);
}

function sendSeen(): void {
  send({ kind: 'seen', events, reordered, ended, problem, from, arrivals });
}

function failed(reason: string): void {
  ended += 1;
  problem ??= reason;
}

/** Collects the ids that one client receives: `id: OFFSET-NODE` at the beginning of a line. */
function countIds(client: number): (chunk: Buffer) => void {
  let [rest, newest, seen] = ['', 0, 0];
  return (chunk) => {
    const at = Number(process.hrtime.bigint() - from);
    const text = rest + chunk.toString('latin1');
    const end = text.lastIndexOf('\n') + 1;
    // Data lines are long, so it searches for the line before them.
    for (let found = idLine(text, 0); found !== -1 && found < end; found = idLine(text, found + 1)) {
      const [offset = 0, node = 0] = text
        .slice(found + 4, text.indexOf('\n', found))
        .split('-')
        .map(Number);
      const position = offset * nodesOfAnOffset + node;
      if (position <= newest) reordered += 1;
      newest = position;
      seen += 1;
      events += 1;
      arrivals[client * updates + offset - plan.after - 1] = at;
      if (seen === plan.events && (done += 1) === plan.clients) sendSeen();
    }
    // Keeps an incomplete line. If it is long, only its beginning is kept, which is not an id.
    rest = text.length - end > 100 ? text.slice(end, end + 8) : text.slice(end);
    if (end > 0) rest = `\n${rest}`;
  };
}

function idLine(text: string, begin: number): number {
  const found = text.indexOf('\nid: ', begin);
  return found === -1 ? -1 : found + 1;
}

async function listen(client: number): Promise<void> {
  const headers = { accept: 'text/event-stream' };
  await new Promise<void>((resolve) => {
    const request = get(
      `${plan.url}/changes?after=${String(plan.after)}`,
      { agent, headers },
      (response: IncomingMessage) => {
        if (response.statusCode === 200) response.on('data', countIds(client));
        else failed(`status ${String(response.statusCode)}`);
        response.once('close', () => failed('a stream ended'));
        resolve();
      },
    );
    request.once('error', (error) => {
      failed(error.message);
      resolve();
    });
  });
}

process.on('message', sendSeen);
process.on('disconnect', () => process.exit());
process.on('SIGINT', () => undefined);
const waiting = Array.from({ length: plan.clients }, (_, client) => client);
const connecting = Array.from({ length: connectingAtOnce }, async () => {
  for (let client = waiting.pop(); client !== undefined; client = waiting.pop()) await listen(client);
});
await Promise.all(connecting);
send({ kind: 'listening' });
