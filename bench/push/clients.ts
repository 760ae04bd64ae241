/**
 * Clients of `/changes` that count: `clients.js OPTIONS`, a {@link ClientsPlan} as JSON. Listens with all of them, says so, and tells
 * what they have seen once each was sent the last event, or when it is asked.
 */
import { Agent, get, type IncomingMessage } from 'node:http';

export interface ClientsPlan {
  readonly url: string;
  readonly clients: number;
  /** The place that all begin behind. */
  readonly after: number;
  /** The last offset that is sent. */
  readonly last: number;
  /** Events behind `after` up to `last`: what each is to be sent. */
  readonly events: number;
}

export interface ClientsSeen {
  readonly kind: 'seen';
  /** Of all clients. */
  readonly events: number;
  /** Events whose id was not above the one before: out of order, or sent twice. */
  readonly reordered: number;
  /** Streams that ended, or never began, with what the first of them was told. */
  readonly ended: number;
  readonly problem: string | undefined;
  /** When the last event of an update was read, by client and update: nanoseconds of the system-wide clock after `from`. 0: never. */
  readonly from: bigint;
  readonly arrivals: Float64Array;
}

export type ClientsMessage = { readonly kind: 'listening' } | ClientsSeen;

/** Connections that are being made at once: the queue of a listening socket is not endless. */
const connectingAtOnce = 100;
/** No event has more nodes. */
const nodesOfAnOffset = 1_000_000;

const plan = JSON.parse(process.argv[2] ?? '{}') as ClientsPlan;
const updates = plan.last - plan.after;
const from = process.hrtime.bigint();
const arrivals = new Float64Array(plan.clients * updates);
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
let [events, reordered, ended, done] = [0, 0, 0, 0];
let problem: string | undefined;

function tell(message: ClientsMessage): void {
  process.send?.(message);
}

function tellSeen(): void {
  tell({ kind: 'seen', events, reordered, ended, problem, from, arrivals });
}

function failed(reason: string): void {
  ended += 1;
  problem ??= reason;
}

/** Notes the ids in what one client is sent: `id: OFFSET-NODE` at the begin of a line. */
function countIds(client: number): (chunk: Buffer) => void {
  let [rest, newest, seen] = ['', 0, 0];
  return (chunk) => {
    const at = Number(process.hrtime.bigint() - from);
    const text = rest + chunk.toString('latin1');
    const end = text.lastIndexOf('\n') + 1;
    // Data lines are long: what is looked for is the line in front of them.
    for (let found = idLine(text, 0); found !== -1 && found < end; found = idLine(text, found + 1)) {
      const [offset = 0, node = 0] = text
        .slice(found + 4, text.indexOf('\n', found))
        .split('-')
        .map(Number);
      const place = offset * nodesOfAnOffset + node;
      if (place <= newest) reordered += 1;
      newest = place;
      seen += 1;
      events += 1;
      arrivals[client * updates + offset - plan.after - 1] = at;
      if (seen === plan.events && (done += 1) === plan.clients) tellSeen();
    }
    // A line that is not whole yet; of a long one its begin is enough, which is no id.
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
        else failed(`answered ${String(response.statusCode)}`);
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

process.on('message', tellSeen);
process.on('disconnect', () => process.exit());
process.on('SIGINT', () => undefined);
const waiting = Array.from({ length: plan.clients }, (_, client) => client);
const connecting = Array.from({ length: connectingAtOnce }, async () => {
  for (let client = waiting.pop(); client !== undefined; client = waiting.pop()) await listen(client);
});
await Promise.all(connecting);
tell({ kind: 'listening' });
