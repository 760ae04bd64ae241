/**
 * Compression of pages. Zstandard is used if this Node supports it (22.15 and later), otherwise gzip. Every engine can
 * read both.
 */
import * as zlib from 'node:zlib';

export interface Codec {
  readonly name: 'ZSTD' | 'GZIP';
  readonly compress: (bytes: Uint8Array) => Uint8Array;
}

type Compress = (bytes: Uint8Array) => Uint8Array;

/** The codec that this Node supports. */
export function lakeCodec(): Codec {
  const zstd: unknown = Reflect.get(zlib, 'zstdCompressSync');
  if (typeof zstd === 'function') return { name: 'ZSTD', compress: zstd as Compress };
  return { name: 'GZIP', compress: (bytes) => zlib.gzipSync(bytes, { level: 6 }) };
}
