/**
 * Memory for waiting frames. Each frame from the socket is a separate allocation outside the heap. If a frame waits,
 * the garbage collector considers it long-lived and frees it late or never. Therefore, waiting frames are copied into a
 * few large blocks that are reused.
 */
import { Utf8 } from '../../model/utf8.ts';

const blockBytes = 1024 * 1024;
/** Number of free blocks that are kept for later. Additional blocks that were needed for a burst are released. */
const maxSpareBlocks = 8;

interface Block {
  readonly memory: Buffer;
  /** Write position of the next frame. */
  at: number;
  /** Number of frames in the block that are not released yet. */
  held: number;
}

/** A frame in a block; valid until it is released. */
export interface StoredFrame {
  readonly block: Block;
  readonly start: number;
  readonly end: number;
}

/** The bytes of the frame in place, without a copy. */
export function textOf({ block, start, end }: StoredFrame): Utf8 {
  return new Utf8(block.memory, start, end);
}

/** A copy of the frame's bytes. */
export function bytesOf({ block, start, end }: StoredFrame): Buffer {
  return Buffer.from(block.memory.subarray(start, end));
}

export class FrameMemory {
  #current: Block | undefined;
  #spare: Block[] = [];

  /** Copies a frame into a block. A frame that is larger than a block already has its own memory and is not copied. */
  keep(frame: Buffer): StoredFrame {
    if (frame.length > blockBytes) {
      return { block: { memory: frame, at: frame.length, held: 1 }, start: 0, end: frame.length };
    }
    const block = this.#withRoom(frame.length);
    const start = block.at;
    block.at += frame.copy(block.memory, start);
    block.held += 1;
    return { block, start, end: block.at };
  }

  /** Releases frames that will not be read any more. */
  release(frames: readonly StoredFrame[]): void {
    for (const { block } of frames) {
      block.held -= 1;
      if (block.held > 0) continue;
      block.at = 0;
      const isStandardSize = block.memory.length === blockBytes;
      if (block !== this.#current && isStandardSize && this.#spare.length < maxSpareBlocks) this.#spare.push(block);
    }
  }

  #withRoom(bytes: number): Block {
    const current = this.#current;
    if (current !== undefined && current.memory.length - current.at >= bytes) return current;
    this.#current = this.#spare.pop() ?? { memory: Buffer.allocUnsafeSlow(blockBytes), at: 0, held: 0 };
    return this.#current;
  }
}
