/**
 * Splits a top-level JSON array into its elements as the bytes arrive, so that a response of any length needs the
 * memory of one element. Elements are delimited, not validated; the parser of an element detects whether it is JSON.
 * Works on bytes, because no byte of a longer UTF-8 sequence looks like a bracket, a comma, a quote or a backslash.
 */
import { isUtf8 } from 'node:buffer';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';

const quote = 0x22;
const comma = 0x2c;
const openArray = 0x5b;
const backslash = 0x5c;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function stripWhitespace(bytes: Buffer): Buffer {
  let start = 0;
  let end = bytes.length;
  while (start < end && isBlank(bytes[start] ?? 0)) start += 1;
  while (end > start && isBlank(bytes[end - 1] ?? 0)) end -= 1;
  return bytes.subarray(start, end);
}

/**
 * Can be retried, because the next response may be complete: a proxy or a connection breaks an array, hardly ever the
 * ledger.
 */
function invalidArrayError(actual: string): IndexerError {
  return ledgerError('LEDGER_UNDECODABLE', `expected a JSON array of the ledger, found ${actual}`, { retry: 'retry' });
}

class ArrayScanner {
  readonly #maxElementBytes: number;
  /** Parts of an element that began in an earlier chunk. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #state: 'before' | 'inside' | 'after' = 'before';
  /** Number of brackets open inside the current element. */
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Whether a byte of the current element that is not blank has been seen. */
  #begun = false;
  #count = 0;

  constructor(maxElementBytes: number) {
    this.#maxElementBytes = maxElementBytes;
  }

  /** Yields the elements that are complete with this chunk. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] ?? 0;
      if (this.#inString) this.#string(byte);
      else if (isBlank(byte)) continue;
      else if (this.#state !== 'inside') {
        this.#outside(byte);
        start = index + 1;
      } else if (this.#endsElement(byte)) {
        const element = this.#element(chunk.subarray(start, index), byte);
        if (element !== undefined) yield element;
        start = index + 1;
      } else this.#structure(byte);
    }
    if (this.#state === 'inside') this.#hold(chunk.subarray(start));
  }

  /** Checks that the received bytes were one complete array. */
  finish(): void {
    if (this.#state === 'before') throw notArrayError();
    if (this.#state === 'inside') throw invalidArrayError(`one that ends after ${this.#count} elements`);
  }

  #outside(byte: number): void {
    if (this.#state === 'after') throw invalidArrayError('more text after its end');
    if (byte !== openArray) throw notArrayError();
    this.#state = 'inside';
  }

  #string(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === backslash) this.#escaped = true;
    else if (byte === quote) this.#inString = false;
  }

  #endsElement(byte: number): boolean {
    return this.#depth === 0 && (byte === comma || byte === closeArray);
  }

  #structure(byte: number): void {
    this.#begun = true;
    if (byte === quote) this.#inString = true;
    else if (byte === openObject || byte === openArray) this.#depth += 1;
    else if (byte === closeObject || byte === closeArray) this.#depth -= 1;
    if (this.#depth < 0) throw invalidArrayError('a bracket that closes nothing');
  }

  #hold(bytes: Buffer): void {
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > this.#maxElementBytes) {
      throw ledgerError('LEDGER_FRAME_TOO_LARGE', `an element of a list is larger than ${this.#maxElementBytes} bytes`);
    }
    if (bytes.length > 0) this.#held.push(bytes);
  }

  /** The text of the element that `bytes` completes; undefined for the empty text in `[]`. */
  #element(bytes: Buffer, end: number): string | undefined {
    this.#hold(bytes);
    const element = Buffer.concat(this.#held, this.#heldBytes);
    const elementStart = this.#begun;
    this.#held = [];
    this.#heldBytes = 0;
    this.#begun = false;
    if (end === closeArray) this.#state = 'after';
    if (!elementStart) {
      if (end === closeArray && this.#count === 0) return undefined;
      throw invalidArrayError('a comma without an element');
    }
    if (!isUtf8(element)) throw invalidArrayError('bytes that are not UTF-8');
    this.#count += 1;
    return stripWhitespace(element).toString('utf8');
  }
}

/** Some gateways put this mark before JSON. */
const byteOrderMark = Buffer.from('\uFEFF');

function notArrayError(): IndexerError {
  return ledgerError('LEDGER_NOT_A_LEDGER', 'expected a JSON array of the ledger, found other content');
}

/**
 * The JSON text of each element, in order, as soon as the comma or bracket after it has arrived. The next chunk is
 * requested only when all elements of the last one are taken.
 * @param maxElementBytes size limit of an element; above it, the array is refused with LEDGER_FRAME_TOO_LARGE
 * @throws IndexerError LEDGER_NOT_A_LEDGER when the text does not begin as an array; LEDGER_UNDECODABLE when the array
 *   is truncated, has text after its end, or contains bytes that are not UTF-8
 */
export async function* jsonArrayElements(
  chunks: AsyncIterable<Buffer>,
  maxElementBytes: number,
): AsyncGenerator<string, void, undefined> {
  const scanner = new ArrayScanner(maxElementBytes);
  for await (const chunk of withoutByteOrderMark(chunks)) yield* scanner.push(chunk);
  scanner.finish();
}

/** The chunks without a byte order mark, which may be split over the first chunks. */
async function* withoutByteOrderMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    const isPart = head.length < byteOrderMark.length && byteOrderMark.subarray(0, head.length).equals(head);
    if (isPart) continue;
    yield head.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? head.subarray(byteOrderMark.length) : head;
    head = undefined;
  }
  if (head !== undefined) yield head;
}
