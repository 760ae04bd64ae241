/** The answer of whoever refuses a handshake: a ledger's error as JSON, or the page of a proxy. */
import type { IncomingMessage } from 'node:http';

const refusalBytes = 64 * 1024;

/** What comes of the body in time, as JSON where it is that; whoever sends it byte by byte is not listened to for ever. */
export async function readRefusal(response: IncomingMessage, limitMs: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const limit = setTimeout(response.destroy.bind(response), limitMs);
  try {
    for await (const chunk of response) {
      if (!Buffer.isBuffer(chunk)) continue;
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > refusalBytes) break;
    }
  } catch {
    // Cut off, by them or by us: the status and what has come have to explain it.
  } finally {
    clearTimeout(limit);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
