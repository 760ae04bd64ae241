/** Extracts text frames from the bytes of a WebSocket server (RFC 6455, unmasked), for the recorder. */

const textOpcode = 1;

interface Head {
  readonly opcode: number;
  readonly start: number;
  readonly end: number;
}

/** The header of the first frame; undefined while it is incomplete. */
function headOf(bytes: Buffer): Head | undefined {
  if (bytes.length < 2) return undefined;
  const opcode = bytes.readUInt8(0) & 0x0f;
  const shortLength = bytes.readUInt8(1) & 0x7f;
  const start = shortLength === 127 ? 10 : shortLength === 126 ? 4 : 2;
  if (bytes.length < start) return undefined;
  const length =
    shortLength === 127 ? Number(bytes.readBigUInt64BE(2)) : shortLength === 126 ? bytes.readUInt16BE(2) : shortLength;
  return { opcode, start, end: start + length };
}

/**
 * Returns a function that receives chunks and calls `onText` for every complete text frame. Fragmented frames, which
 * the ledger never sends, are not supported.
 */
export function textFrames(onText: (text: string) => void): (chunk: Buffer) => void {
  let bufferedBytes = Buffer.alloc(0);
  return (chunk) => {
    bufferedBytes = Buffer.concat([bufferedBytes, chunk]);
    for (
      let head = headOf(bufferedBytes);
      head !== undefined && bufferedBytes.length >= head.end;
      head = headOf(bufferedBytes)
    ) {
      if (head.opcode === textOpcode) onText(bufferedBytes.toString('utf8', head.start, head.end));
      bufferedBytes = bufferedBytes.subarray(head.end);
    }
  };
}
