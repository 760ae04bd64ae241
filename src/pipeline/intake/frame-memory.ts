/**
 * Memory for frames that wait. A frame as it comes from the socket is an allocation of its own outside the heap; waiting
 * makes the collector take it for long-lived, and then it is given back late or never. So waiting frames are copied into
 * a few large pieces of memory that are used again and again.
 */
import { Utf8 } from '../../model/utf8.ts';

const blockBytes = 1024 * 1024;
/** Free blocks kept for later; what a flood needed beyond them is given back. */
const spareBlocks = 8;

interface Block {
  readonly memory: Buffer;
  /** Where the next frame goes. */
  at: number;
  /** Frames in it that nobody has released yet. */
  held: number;
}

/** A frame in a block; of use until it is released. */
export interface KeptFrame {
  readonly block: Block;
  readonly start: number;
  readonly end: number;
}

/** The frame where it lies. */
export function textOf({ block, start, end }: KeptFrame): Utf8 {
  return new Utf8(block.memory, start, end);
}

/** A copy of the frame's bytes. */
export function bytesOf({ block, start, end }: KeptFrame): Buffer {
  return Buffer.from(block.memory.subarray(start, end));
}

export class FrameMemory {
  #current: Block | undefined;
  #spare: Block[] = [];

  /** Copies a frame; one larger than a block has memory of its own already, and stays there. */
  keep(frame: Buffer): KeptFrame {
    if (frame.length > blockBytes) {
      return { block: { memory: frame, at: frame.length, held: 1 }, start: 0, end: frame.length };
    }
    const block = this.#withRoom(frame.length);
    const start = block.at;
    block.at += frame.copy(block.memory, start);
    block.held += 1;
    return { block, start, end: block.at };
  }

  /** The frames are not looked at any more. */
  release(frames: readonly KeptFrame[]): void {
    for (const { block } of frames) {
      block.held -= 1;
      if (block.held > 0) continue;
      block.at = 0;
      const ordinary = block.memory.length === blockBytes;
      if (block !== this.#current && ordinary && this.#spare.length < spareBlocks) this.#spare.push(block);
    }
  }

  #withRoom(bytes: number): Block {
    const current = this.#current;
    if (current !== undefined && current.memory.length - current.at >= bytes) return current;
    this.#current = this.#spare.pop() ?? { memory: Buffer.allocUnsafeSlow(blockBytes), at: 0, held: 0 };
    return this.#current;
  }
}
