/**
 * The ledger of the measurements, in a process of its own. It responds to the requests of an indexer that connects, and
 * sends recorded frames as raw chunks of a file: as fast as the socket accepts them, or at a given pace. It decodes
 * nothing.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { open, type FileHandle } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { clientFrames, frameHeader, headerLength, opcodes } from './frame.ts';
import { participantId, synchronizerId } from './names.ts';
import { recordingIndex } from './recording.ts';
import type { ReplayMessage, ReplayPlan, ReplayStream } from './replay-plan.ts';

const chunkBytes = 256 * 1024;
const webSocketKey = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const plan = JSON.parse(process.argv[2] ?? '{}') as ReplayPlan;
const indexes = new Map<string, Float64Array>();
const whenReleased = plan.heldAt === undefined ? undefined : once(process, 'message');
/** If the stream is held, this is the last sent offset, because the indexer would probe an end far ahead of it. */
let ledgerEnd = plan.heldAt ?? plan.ledgerEnd;

function send(message: ReplayMessage): void {
  process.send?.(message);
}

function indexOf({ path }: ReplayStream): Float64Array {
  const cachedIndex = indexes.get(path) ?? recordingIndex(path);
  indexes.set(path, cachedIndex);
  return cachedIndex;
}

const position = (index: Float64Array, frame: number): number => index[frame] ?? 0;

async function block(file: FileHandle, index: Float64Array, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(position(index, to) - position(index, from));
  await file.read(buffer, 0, buffer.length, position(index, from));
  return buffer;
}

/** Writes only complete frames, so that a pong between two writes is never inside a frame. */
async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.write(bytes) || socket.destroyed) return;
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
}

async function sendAll(socket: Socket, file: FileHandle, stream: ReplayStream, beginFrame: number): Promise<void> {
  const index = indexOf(stream);
  for (let from = beginFrame; from < stream.frames && !socket.destroyed;) {
    let to = from + 1;
    while (to < stream.frames && position(index, to + 1) - position(index, from) <= chunkBytes) to += 1;
    await write(socket, await block(file, index, from, to));
    from = to;
  }
}

/** Sends frames when they are due, in bursts of a millisecond. Records when each one was handed to the socket. */
async function sendPaced(socket: Socket, file: FileHandle, stream: ReplayStream, beginFrame: number, rate: number) {
  const index = indexOf(stream);
  const microseconds = new Float64Array(stream.frames - beginFrame);
  const startNanos = process.hrtime.bigint();
  const elapsedNanos = (): number => Number(process.hrtime.bigint() - startNanos) / 1_000;
  for (let from = beginFrame; from < stream.frames && !socket.destroyed;) {
    const dueFrames = Math.min(stream.frames, beginFrame + Math.floor((elapsedNanos() * rate) / 1_000_000) + 1);
    if (dueFrames > from) {
      const bytes = await block(file, index, from, dueFrames);
      const sentAt = elapsedNanos();
      await write(socket, bytes);
      microseconds.fill(sentAt, from - beginFrame, dueFrames - beginFrame);
      if (plan.heldAt !== undefined) ledgerEnd = dueFrames;
      from = dueFrames;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  send({ kind: 'first', at: startNanos });
  send({ kind: 'sent', from: beginFrame, microseconds });
}

async function sendUpdates(socket: Socket, beginExclusive: number): Promise<void> {
  const { updates, updatesPerSecond } = plan;
  if (updates === undefined || beginExclusive >= updates.frames) return;
  await whenReleased;
  const file = await open(updates.path);
  try {
    if (updatesPerSecond !== undefined) return await sendPaced(socket, file, updates, beginExclusive, updatesPerSecond);
    send({ kind: 'first', at: process.hrtime.bigint() });
    await sendAll(socket, file, updates, beginExclusive);
    send({ kind: 'last', at: process.hrtime.bigint() });
  } finally {
    await file.close();
  }
}

async function sendActiveContracts(socket: Socket): Promise<void> {
  if (plan.activeContracts !== undefined) {
    const file = await open(plan.activeContracts.path);
    send({ kind: 'first', at: process.hrtime.bigint() });
    await sendAll(socket, file, plan.activeContracts, 0);
    send({ kind: 'last', at: process.hrtime.bigint() });
    await file.close();
  }
  socket.write(Buffer.concat([frameHeader(opcodes.close, 2), Buffer.from([0x03, 0xe8])]));
}

function accept(request: IncomingMessage, socket: Socket): void {
  const key = request.headers['sec-websocket-key'] ?? '';
  const acceptKey = createHash('sha1').update(`${key}${webSocketKey}`).digest('base64');
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${acceptKey}\r\nSec-WebSocket-Protocol: daml.ws.auth\r\n\r\n`,
  );
  let hasRequest = false;
  socket.on(
    'data',
    clientFrames(({ opcode, payload }) => {
      if (opcode === opcodes.ping) socket.write(Buffer.concat([frameHeader(opcodes.pong, payload.length), payload]));
      if (opcode === opcodes.close) socket.end(Buffer.concat([frameHeader(opcodes.close, payload.length), payload]));
      if (opcode !== opcodes.text || hasRequest) return;
      hasRequest = true;
      const { beginExclusive = 0 } = JSON.parse(payload.toString()) as { beginExclusive?: number };
      const updates = request.url?.startsWith('/v2/updates') === true;
      void (updates ? sendUpdates(socket, beginExclusive) : sendActiveContracts(socket));
    }),
  );
}

/** The update at an offset, which the indexer requests to verify the history. */
async function updateAt(offset: number): Promise<string | undefined> {
  const { updates } = plan;
  if (updates === undefined || offset < 1 || offset > updates.frames) return undefined;
  const file = await open(updates.path);
  const frame = await block(file, indexOf(updates), offset - 1, offset);
  await file.close();
  return frame.subarray(headerLength(frame)).toString();
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function responseBodyOf(request: IncomingMessage): Promise<string | undefined> {
  switch (new URL(request.url ?? '/', 'http://ledger').pathname) {
    case '/v2/version':
      return '{"version":"3.5.10","features":{}}';
    case '/v2/parties/participant-id':
      return JSON.stringify({ participantId });
    case '/v2/state/ledger-end':
      return JSON.stringify({ offset: ledgerEnd });
    case '/v2/state/latest-pruned-offsets':
      return '{"participantPrunedUpToInclusive":0,"allDivulgedContractsPrunedUpToInclusive":0}';
    case '/v2/state/connected-synchronizers':
      return JSON.stringify({ connectedSynchronizers: [{ synchronizerAlias: 'global', synchronizerId }] });
    case '/v2/state/active-contracts':
      // There are no entries after the last one, and in the only other list.
      return '[]';
    case '/v2/updates/update-by-offset':
      return await updateAt((JSON.parse(await bodyOf(request)) as { offset: number }).offset);
    default:
      return undefined;
  }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const serverResponse = await responseBodyOf(request);
  response.writeHead(serverResponse === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(serverResponse ?? '{"errors":["not found"],"status":404}');
}

// Read beforehand, so that the first chunk need not wait for the index.
for (const stream of [plan.updates, plan.activeContracts]) if (stream !== undefined) indexOf(stream);
const server = createServer((request, response) => void serve(request, response));
server.on('upgrade', (request, socket) => {
  accept(request, socket as Socket);
});
server.listen(0, '127.0.0.1', () => {
  send({ kind: 'listening', port: (server.address() as AddressInfo).port });
});
// The measuring process has ended, so this process is not needed any more. It ignores Ctrl-C.
process.on('disconnect', () => process.exit());
process.on('SIGINT', () => undefined);
