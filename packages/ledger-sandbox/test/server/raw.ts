/** Clients with access to raw frames and bytes: `ws`, `node:http` and plain TCP, without code of the indexer. */
import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { anyParty, updateFormat } from './sockets.ts';
import { pause } from '../../../../test/support/wait-for.ts';

export const updates = '/v2/updates';
export const contracts = '/v2/state/active-contracts';
export const effects = updateFormat('LEDGER_EFFECTS');

/** A request for the updates after an offset, and up to another one if that is passed. */
export const after = (beginExclusive: number, endInclusive?: number): object => ({
  beginExclusive,
  ...(endInclusive === undefined ? {} : { endInclusive }),
  updateFormat: effects,
});

/** A request for the active contracts at an offset. */
export const activeAt = (activeAtOffset: number): object => ({ activeAtOffset, eventFormat: anyParty });

export interface SocketCapture {
  readonly frames: string[];
  readonly binary: boolean[];
  /** Close code; undefined while the socket is open. */
  readonly code: number | undefined;
  /** The error code of the system or the library, or the status of a refused handshake. Undefined without an error. */
  readonly error: string | undefined;
  /** Number of bytes read from TCP. */
  readonly bytes: number;
}

export interface WatchOptions {
  readonly waitMs?: number;
  readonly maxPayload?: number;
  readonly deflate?: boolean;
  readonly opened?: (socket: WebSocket) => void;
  readonly enough?: (frames: readonly string[]) => boolean;
}

/**
 * Opens a stream and sends the request. Returns the frames received until the close, until `enough`, or for `waitMs`.
 */
export async function watch(
  url: string,
  path: string,
  request: unknown,
  options: WatchOptions = {},
): Promise<SocketCapture> {
  const { waitMs = 40_000, maxPayload = 0, deflate = false } = options;
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, ['daml.ws.auth'], {
    perMessageDeflate: deflate,
    maxPayload,
  });
  const frames: string[] = [];
  const binary: boolean[] = [];
  let error: string | undefined;
  let tcp: Socket | undefined;
  socket.on('upgrade', (response) => (tcp = response.socket));
  socket.on('error', (cause: NodeJS.ErrnoException) => (error = cause.code ?? /\d{3}/.exec(cause.message)?.[0]));
  socket.on('open', () => {
    socket.send(JSON.stringify(request));
    options.opened?.(socket);
  });
  const code = await new Promise<number | undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), waitMs);
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      frames.push(data.toString());
      binary.push(isBinary);
      if (options.enough?.(frames) === true) resolve(undefined);
    });
    socket.on('close', resolve);
    socket.on('close', () => clearTimeout(timer));
  });
  socket.terminate();
  return { frames, binary, code, error, bytes: tcp?.bytesRead ?? 0 };
}

function maskedText(text: string): Buffer {
  const payload = Buffer.from(text);
  const mask = Buffer.from([0x9d, 0x07, 0xe1, 0x3b]);
  const header = Buffer.alloc(4);
  header.writeUInt8(0x81);
  header.writeUInt8(0x80 | 126, 1);
  header.writeUInt16BE(payload.length, 2);
  return Buffer.concat([header, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))]);
}

export interface RawSocketCapture {
  /** All bytes after the header of the response to the handshake. */
  readonly bytes: Buffer;
  readonly end: 'fin' | 'rst' | 'none';
}

/** Opens a stream over plain TCP and reads its bytes. `onConnected` runs on the open socket. */
export async function watchBytes(
  url: string,
  path: string,
  request: unknown,
  waitMs: number,
  onConnected: (socket: Socket) => void = () => undefined,
): Promise<RawSocketCapture> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  let end: RawSocketCapture['end'] = 'none';
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('end', () => (end = 'fin'));
  socket.on('error', () => (end = 'rst'));
  const key = randomBytes(16).toString('base64');
  const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n${upgrade}\r\n\r\n`);
  socket.once('data', () => {
    socket.write(maskedText(JSON.stringify(request)));
    onConnected(socket);
  });
  const whenClosed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  await Promise.race([whenClosed, pause(waitMs, undefined, { ref: false })]);
  socket.destroy();
  const allBytes = Buffer.concat(chunks);
  return { bytes: allBytes.subarray(allBytes.indexOf('\r\n\r\n') + 4), end };
}

export interface RawRequest {
  readonly status?: number;
  readonly type?: string;
  readonly body?: string;
  readonly error?: string;
}

/** Sends an HTTP request. `error` is the error code of the system, or `SILENT` if nothing arrived within `waitMs`. */
export function requestJson(
  url: string,
  path: string,
  body?: unknown,
  options: { readonly waitMs?: number; readonly headers?: Record<string, string> } = {},
): Promise<RawRequest> {
  return new Promise((resolve) => {
    const method = body === undefined ? 'GET' : 'POST';
    const request = httpRequest(`${url}${path}`, { method, agent: false, headers: options.headers ?? {} });
    request.setTimeout(options.waitMs ?? 3_000, () => {
      resolve({ error: 'SILENT' });
      request.destroy();
    });
    request.on('error', (cause: NodeJS.ErrnoException) => resolve({ error: cause.code ?? cause.message }));
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (cause: NodeJS.ErrnoException) => resolve({ error: cause.code ?? cause.message }));
      response.on('end', () => {
        const type = response.headers['content-type'] ?? '';
        resolve({ status: response.statusCode ?? 0, type, body: Buffer.concat(chunks).toString() });
      });
    });
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The first offset in a frame. */
export const offsetOf = (frame = ''): number => Number(/"offset":(\d+)/.exec(frame)?.[1]);
