/**
 * Splits the bytes of a connection into the units of its protocol: messages of Postgres, frames of a WebSocket, and the
 * HTTP around them. A unit is complete, so a connection can be ended exactly before, within or after it.
 */

/** `up`: from the indexer to the server. */
export type Direction = 'up' | 'down';

export interface Unit {
  readonly direction: Direction;
  /** Postgres: the type byte of the message, or `startup` for the first one. Ledger: `http` or `frame`. */
  readonly type: string;
  readonly bytes: Buffer;
}

export type Splitter = (chunk: Buffer) => Unit[];

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
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const units: Unit[] = [];
    for (;;) {
      const found = next(rest);
      if (found === undefined || rest.length < found.length) return units;
      units.push({ direction, type: found.type, bytes: rest.subarray(0, found.length) });
      rest = rest.subarray(found.length);
    }
  };
}

function postgresSplitter(direction: Direction): Splitter {
  let started = direction === 'down';
  return splitter(direction, (buffer) => {
    if (!started) {
      if (buffer.length < 4) return undefined;
      const length = buffer.readUInt32BE(0);
      if (buffer.length >= length) started = true;
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
  const short = (buffer[1] ?? 0) & 0x7f;
  if (short < 126) return { type: 'frame', length: 2 + masked + short };
  if (short === 126) {
    return buffer.length < 4 ? undefined : { type: 'frame', length: 4 + masked + buffer.readUInt16BE(2) };
  }
  return buffer.length < 10 ? undefined : { type: 'frame', length: 10 + masked + Number(buffer.readBigUInt64BE(2)) };
}
