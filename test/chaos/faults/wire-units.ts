/**
 * Splits the bytes of a connection into the units of its protocol: messages of Postgres, frames of a WebSocket, and the
 * HTTP around them. A unit is complete, so a connection can be ended exactly before, within or after it.
 */

/** `up`: from the indexer to the server. */
export type Direction = 'up' | 'down';

export interface WireUnit {
  readonly direction: Direction;
  /** Postgres: the type byte of the message, or `startup` for the first one. Ledger: `http` or `frame`. */
  readonly type: string;
  readonly bytes: Buffer;
}

export type Splitter = (chunk: Buffer) => WireUnit[];

export type Protocol = 'postgres' | 'ledger';

/** One splitter per direction of a connection. */
export function splitters(protocol: Protocol): Readonly<Record<Direction, Splitter>> {
  if (protocol === 'postgres') return { up: postgresSplitter('up'), down: postgresSplitter('down') };
  return { up: ledgerSplitter('up'), down: ledgerSplitter('down') };
}

/** Returns complete units, as long as `lengthOf` returns the length of the next one. */
function splitter(
  direction: Direction,
  next: (buffer: Buffer) => { type: string; length: number } | undefined,
): Splitter {
  let bufferedBytes: Buffer = Buffer.alloc(0);
  return (chunk) => {
    bufferedBytes = bufferedBytes.length === 0 ? chunk : Buffer.concat([bufferedBytes, chunk]);
    const units: WireUnit[] = [];
    for (;;) {
      const nextUnit = next(bufferedBytes);
      if (nextUnit === undefined || bufferedBytes.length < nextUnit.length) return units;
      units.push({ direction, type: nextUnit.type, bytes: bufferedBytes.subarray(0, nextUnit.length) });
      bufferedBytes = bufferedBytes.subarray(nextUnit.length);
    }
  };
}

function postgresSplitter(direction: Direction): Splitter {
  let isStarted = direction === 'down';
  return splitter(direction, (buffer) => {
    if (!isStarted) {
      if (buffer.length < 4) return undefined;
      const length = buffer.readUInt32BE(0);
      if (buffer.length >= length) isStarted = true;
      return { type: 'startup', length };
    }
    if (buffer.length < 5) return undefined;
    return { type: String.fromCharCode(buffer[0] ?? 0), length: 1 + buffer.readUInt32BE(1) };
  });
}

function ledgerSplitter(direction: Direction): Splitter {
  let socket = false;
  return splitter(direction, (buffer) => {
    if (socket) return frameLength(buffer);
    if (buffer.length === 0) return undefined;
    const head = buffer.indexOf('\r\n\r\n');
    const text = buffer.toString('latin1', 0, Math.max(0, head));
    const upgrades = direction === 'up' ? /^upgrade: *websocket/im.test(text) : text.startsWith('HTTP/1.1 101');
    if (!upgrades) return { type: 'http', length: buffer.length };
    socket = true;
    return { type: 'http', length: head + 4 };
  });
}

function frameLength(buffer: Buffer): { type: string; length: number } | undefined {
  if (buffer.length < 2) return undefined;
  const masked = ((buffer[1] ?? 0) & 0x80) !== 0 ? 4 : 0;
  const shortLength = (buffer[1] ?? 0) & 0x7f;
  if (shortLength < 126) return { type: 'frame', length: 2 + masked + shortLength };
  if (shortLength === 126) {
    return buffer.length < 4 ? undefined : { type: 'frame', length: 4 + masked + buffer.readUInt16BE(2) };
  }
  return buffer.length < 10 ? undefined : { type: 'frame', length: 10 + masked + Number(buffer.readBigUInt64BE(2)) };
}
