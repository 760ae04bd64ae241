/** The fault script of requests and handshakes: replaces the participant's response to them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { resetNow } from './connection.ts';
import { matchesPath, consumeFault } from './faults.ts';
import type { Faults } from './faults.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { namedResponse } from './named-failures.ts';

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
function takeFault<K extends RequestFault>(faults: Faults, name: K, path: string): Faults[K] | undefined {
  const fault = faults[name];
  if (fault === undefined || !matchesPath(fault, path)) return undefined;
  consumeFault(faults, name);
  return fault;
}

function isUnresponsive({ neverAnswer }: Faults, path: string): boolean {
  return neverAnswer === true || (typeof neverAnswer === 'object' && matchesPath(neverAnswer, path));
}

/**
 * Waits, responds or does not respond, as the script specifies.
 * @returns whether the request is done, so that the participant must not respond
 */
export async function applyRequestFaults(
  request: IncomingMessage,
  response: ServerResponse,
  { faults, ledger, pathPrefix }: FaultContext,
): Promise<boolean> {
  const path = pathOf(request, pathPrefix);
  if (isUnresponsive(faults, path)) return true;
  const slowFault = takeFault(faults, 'slowAnswers', path);
  if (slowFault !== undefined) await sleep(slowFault.delayMs);
  if (takeFault(faults, 'cutAnswers', path) !== undefined) {
    const partialJson = '{"offset":';
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 * partialJson.length });
    response.write(partialJson, () => response.destroy());
    return true;
  }
  const fault = takeFault(faults, 'answer', path);
  if (fault === undefined) return false;
  const { status, type, content } = namedResponse(fault.as, ledger);
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
  if (takeFault(faults, 'hangUpgrade', path) !== undefined) return true;
  const refusal = takeFault(faults, 'refuseUpgrade', path);
  if (refusal === undefined) return false;
  const { status, type, content } = namedResponse(refusal.as, ledger);
  const headers = `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(content)}\r\nConnection: close`;
  socket.end(`HTTP/1.1 ${status} Refused\r\n${headers}\r\n\r\n${content}`);
  return true;
}

/** Resets a new TCP connection if the script requires it. */
export function misbehaveAtConnect(socket: Duplex, { faults }: FaultContext): void {
  if (faults.refuseConnections === true) resetNow(socket);
}
