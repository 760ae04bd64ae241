/**
 * WebSocket framing (RFC 6455), as far as a replaying server needs it: it sends unfragmented text and receives small
 * frames.
 */

export const opcodes = { text: 1, close: 8, ping: 9, pong: 10 } as const;

/** The header of an unmasked, final frame. */
export function frameHeader(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | opcode, length]);
  if (length < 65_536) return Buffer.from([0x80 | opcode, 126, length >> 8, length & 0xff]);
  const header = Buffer.alloc(10);
  header[0] = 0x80 | opcode;
  header[1] = 127;
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

/** Number of header bytes before a payload of this length, in a file of frames. */
export function headerLength(frame: Buffer): number {
  const length = (frame[1] ?? 0) & 0x7f;
  return length < 126 ? 2 : length === 126 ? 4 : 10;
}

export interface ClientFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/**
 * Collects bytes of a client and calls back with each complete frame, unmasked. Clients send little, so speed does not
 * matter.
 */
export function clientFrames(onFrame: (frame: ClientFrame) => void): (chunk: Buffer) => void {
  let pendingBytes: Buffer = Buffer.alloc(0);
  return (chunk) => {
    pendingBytes = Buffer.concat([pendingBytes, chunk]);
    for (let end = frameEnd(pendingBytes); end !== undefined; end = frameEnd(pendingBytes)) {
      onFrame(unmaskFrame(pendingBytes.subarray(0, end)));
      pendingBytes = pendingBytes.subarray(end);
    }
  };
}

const maskBytes = 4;

function frameEnd(bytes: Buffer): number | undefined {
  if (bytes.length < 2) return undefined;
  const header = headerLength(bytes);
  if (bytes.length < header) return undefined;
  const shortLength = (bytes[1] ?? 0) & 0x7f;
  const length = header === 2 ? shortLength : header === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const end = header + maskBytes + length;
  return bytes.length < end ? undefined : end;
}

function unmaskFrame(frame: Buffer): ClientFrame {
  const payloadStart = headerLength(frame);
  const mask = frame.subarray(payloadStart, payloadStart + maskBytes);
  const payload = Buffer.from(frame.subarray(payloadStart + maskBytes));
  for (let index = 0; index < payload.length; index += 1) {
    payload[index] = (payload[index] ?? 0) ^ (mask[index % maskBytes] ?? 0);
  }
  return { opcode: (frame[0] ?? 0) & 0x0f, payload };
}
