/**
 * Counting clients of `/changes`: `clients.js OPTIONS`, with a {@link ClientPlan} as JSON. Opens all streams and
 * reports that. Reports the received events once each client has the last one, or on request.
 */
import { Agent, get, type IncomingMessage } from 'node:http';

export interface ClientPlan {
  readonly url: string;
  readonly clients: number;
  /** The cursor after which all streams begin. */
  readonly after: number;
  /** The last offset that is sent. */
  readonly last: number;
  /** Number of events after `after` and up to `last`, all of which each client must receive. */
  readonly events: number;
}

export interface ClientResult {
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

export type ClientMessage = { readonly kind: 'listening' } | ClientResult;

/** Number of connections that are opened concurrently, because the queue of a listening socket is limited. */
const concurrentConnects = 100;
/** Limit above the number of nodes of every update. */
const nodesOfAnOffset = 1_000_000;

const plan = JSON.parse(process.argv[2] ?? '{}') as ClientPlan;
const updates = plan.last - plan.after;
const from = process.hrtime.bigint();
const arrivalTimes = new Float64Array(plan.clients * updates);
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
let [events, reorderedCount, endedClients, doneClients] = [0, 0, 0, 0];
let problem: string | undefined;

function send(message: ClientMessage): void {
  process.send?.(message);
}

function sendResult(): void {
  send({ kind: 'seen', events, reordered: reorderedCount, ended: endedClients, problem, from, arrivals: arrivalTimes });
}

function recordFailure(reason: string): void {
  endedClients += 1;
  problem ??= reason;
}

/** Collects the ids that one client receives: `id: OFFSET-NODE` at the beginning of a line. */
function countIds(client: number): (chunk: Buffer) => void {
  let [bufferedText, newestOffset, seenOffset] = ['', 0, 0];
  return (chunk) => {
    const elapsedNanos = Number(process.hrtime.bigint() - from);
    const text = bufferedText + chunk.toString('latin1');
    const end = text.lastIndexOf('\n') + 1;
    // Data lines are long, so it searches for the line before them.
    for (
      let linePosition = idLine(text, 0);
      linePosition !== -1 && linePosition < end;
      linePosition = idLine(text, linePosition + 1)
    ) {
      const [offset = 0, node = 0] = text
        .slice(linePosition + 4, text.indexOf('\n', linePosition))
        .split('-')
        .map(Number);
      const position = offset * nodesOfAnOffset + node;
      if (position <= newestOffset) reorderedCount += 1;
      newestOffset = position;
      seenOffset += 1;
      events += 1;
      arrivalTimes[client * updates + offset - plan.after - 1] = elapsedNanos;
      if (seenOffset === plan.events && (doneClients += 1) === plan.clients) sendResult();
    }
    // Keeps an incomplete line. If it is long, only its beginning is kept, which is not an id.
    bufferedText = text.length - end > 100 ? text.slice(end, end + 8) : text.slice(end);
    if (end > 0) bufferedText = `\n${bufferedText}`;
  };
}

function idLine(text: string, startIndex: number): number {
  const linePosition = text.indexOf('\nid: ', startIndex);
  return linePosition === -1 ? -1 : linePosition + 1;
}

async function listen(client: number): Promise<void> {
  const headers = { accept: 'text/event-stream' };
  await new Promise<void>((resolve) => {
    const request = get(
      `${plan.url}/changes?after=${String(plan.after)}`,
      { agent, headers },
      (response: IncomingMessage) => {
        if (response.statusCode === 200) response.on('data', countIds(client));
        else recordFailure(`status ${String(response.statusCode)}`);
        response.once('close', () => recordFailure('a stream ended'));
        resolve();
      },
    );
    request.once('error', (error) => {
      recordFailure(error.message);
      resolve();
    });
  });
}

process.on('message', sendResult);
process.on('disconnect', () => process.exit());
process.on('SIGINT', () => undefined);
const pendingClients = Array.from({ length: plan.clients }, (_, client) => client);
const connecting = Array.from({ length: concurrentConnects }, async () => {
  for (let client = pendingClients.pop(); client !== undefined; client = pendingClients.pop()) await listen(client);
});
await Promise.all(connecting);
send({ kind: 'listening' });
