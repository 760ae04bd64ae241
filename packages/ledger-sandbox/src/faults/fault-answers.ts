/** The fault script of requests and handshakes: replaces the participant's response to them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { resetNow } from './connection.ts';
import { isFor, spend } from './faults.ts';
import type { Faults } from './faults.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { namedAnswer } from './named-failures.ts';

/** The parts of a request that the script reads. */
export interface FaultContext {
  readonly faults: Faults;
  readonly ledger: Ledger;
  /** The path prefix of every endpoint. */
  readonly pathPrefix: string;
}

type RequestFault = 'answer' | 'slowAnswers' | 'cutAnswers' | 'refuseUpgrade' | 'hangUpgrade';

function pathOf(request: IncomingMessage, prefix: string): string {
  const [path = ''] = (request.url ?? '').split('?');
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}

/** The fault, if it applies to the path. Counts one occurrence. */
function take<K extends RequestFault>(faults: Faults, name: K, path: string): Faults[K] | undefined {
  const fault = faults[name];
  if (fault === undefined || !isFor(fault, path)) return undefined;
  spend(faults, name);
  return fault;
}

function isMute({ neverAnswer }: Faults, path: string): boolean {
  return neverAnswer === true || (typeof neverAnswer === 'object' && isFor(neverAnswer, path));
}

/**
 * Waits, responds or does not respond, as the script specifies.
 * @returns whether the request is done, so that the participant must not respond
 */
export async function misbehave(
  request: IncomingMessage,
  response: ServerResponse,
  { faults, ledger, pathPrefix }: FaultContext,
): Promise<boolean> {
  const path = pathOf(request, pathPrefix);
  if (isMute(faults, path)) return true;
  const slow = take(faults, 'slowAnswers', path);
  if (slow !== undefined) await sleep(slow.delayMs);
  if (take(faults, 'cutAnswers', path) !== undefined) {
    const started = '{"offset":';
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 * started.length });
    response.write(started, () => response.destroy());
    return true;
  }
  const answer = take(faults, 'answer', path);
  if (answer === undefined) return false;
  const { status, type, content } = namedAnswer(answer.as, ledger);
  response.writeHead(status, { 'content-type': type }).end(content);
  return true;
}

/**
 * The same for a handshake.
 * @returns whether the handshake must not be served
 */
export function misbehaveAtUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  { faults, ledger, pathPrefix }: FaultContext,
): boolean {
  const path = pathOf(request, pathPrefix);
  if (take(faults, 'hangUpgrade', path) !== undefined) return true;
  const refused = take(faults, 'refuseUpgrade', path);
  if (refused === undefined) return false;
  const { status, type, content } = namedAnswer(refused.as, ledger);
  const headers = `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(content)}\r\nConnection: close`;
  socket.end(`HTTP/1.1 ${status} Refused\r\n${headers}\r\n\r\n${content}`);
  return true;
}

/** Resets a new TCP connection if the script requires it. */
export function misbehaveAtConnect(socket: Duplex, { faults }: FaultContext): void {
  if (faults.refuseConnections === true) resetNow(socket);
}
