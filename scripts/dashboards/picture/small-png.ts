/**
 * Makes the PNG of a screenshot small: drawings have few colours, so each pixel becomes a number into a palette of 256.
 * Understands what Chromium writes: 8 bits, RGB or RGBA, not interlaced.
 */
import { deflateSync, inflateSync } from 'node:zlib';

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** 0xRRGGBB of each. */
  readonly colours: Uint32Array;
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** @throws Error when it is no such PNG */
export function smallPng(png: Buffer): Buffer {
  const { width, height, colours } = decode(png);
  const palette = commonest(colours);
  const numbers = new Map(palette.map((colour, number) => [colour, number]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0, from = 0, to = 0; y < height; y += 1) {
    rows[to++] = 0;
    for (let x = 0; x < width; x += 1) {
      const colour = colours[from++] ?? 0;
      let number = numbers.get(colour);
      if (number === undefined) {
        number = nearest(palette, colour);
        numbers.set(colour, number);
      }
      rows[to++] = number;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const table = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const parts = [chunk('IHDR', header), chunk('PLTE', table), chunk('IDAT', deflateSync(rows, { level: 9 }))];
  return Buffer.concat([signature, ...parts, chunk('IEND', Buffer.alloc(0))]);
}

function decode(png: Buffer): Pixels {
  const chunks = chunksOf(png);
  const header = chunks.find(({ type }) => type === 'IHDR')?.data;
  if (header === undefined || !png.subarray(0, 8).equals(signature)) throw new Error('this is no PNG');
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const size = { 2: 3, 6: 4 }[header[9] ?? 0];
  if (header[8] !== 8 || size === undefined || header[12] !== 0) throw new Error('a PNG of another kind');
  const raw = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)));
  const stride = width * size;
  const colours = new Uint32Array(width * height);
  let above = new Uint8Array(stride);
  for (let y = 0; y < height; y += 1) {
    const row = Uint8Array.from(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    unfilter(row, above, raw[y * (stride + 1)] ?? 0, size);
    for (let x = 0; x < width; x += 1) {
      const at = x * size;
      colours[y * width + x] = ((row[at] ?? 0) << 16) | ((row[at + 1] ?? 0) << 8) | (row[at + 2] ?? 0);
    }
    above = row;
  }
  return { width, height, colours };
}

/** The five filters of PNG: none, left, up, average, Paeth. */
function unfilter(row: Uint8Array, above: Uint8Array, filter: number, size: number): void {
  for (let at = 0; at < row.length; at += 1) {
    const left = row[at - size] ?? 0;
    const up = above[at] ?? 0;
    const corner = above[at - size] ?? 0;
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
    row[at] = ((row[at] ?? 0) + guess) & 255;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function commonest(colours: Uint32Array): readonly number[] {
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const common = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  // The commonest of each kind comes first: a rare colour must not become a common one that only resembles it.
  const kinds = new Map(common.toReversed().map((colour) => [colour & 0xe0e0e0, colour]));
  return [...new Set([...kinds.values(), ...common])].slice(0, 256);
}

function nearest(palette: readonly number[], colour: number): number {
  let best = 0;
  let least = Infinity;
  palette.forEach((candidate, number) => {
    const red = (candidate >> 16) - (colour >> 16);
    const green = ((candidate >> 8) & 255) - ((colour >> 8) & 255);
    const blue = (candidate & 255) - (colour & 255);
    const distance = red * red + green * green + blue * blue;
    if (distance < least) [least, best] = [distance, number];
  });
  return best;
}

function chunksOf(png: Buffer): readonly { readonly type: string; readonly data: Buffer }[] {
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = signature.length; at + 8 <= png.length;) {
    const length = png.readUInt32BE(at);
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return chunks;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [before, after] = [Buffer.alloc(4), Buffer.alloc(4)];
  before.writeUInt32BE(data.length);
  after.writeUInt32BE(checksum(body));
  return Buffer.concat([before, body, after]);
}

/** CRC-32 as PNG wants it; zlib of Node 20 has none to call. */
function checksum(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
