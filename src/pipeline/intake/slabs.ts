/**
 * Memory for frames that wait. A frame as it comes from the socket is an allocation of its own outside the heap; waiting
 * makes the collector take it for long-lived, and then it is given back late or never. So waiting frames are copied into
 * a few large pieces of memory that are used again and again.
 */

const slabBytes = 1024 * 1024;
/** Free slabs kept for later; what a flood needed beyond them is given back. */
const spareSlabs = 24;

interface Slab {
  readonly memory: Buffer;
  /** Where the next frame goes. */
  at: number;
  /** Frames in it that nobody has released yet. */
  held: number;
}

/** A frame in a slab; of use until it is released. */
export interface KeptFrame {
  readonly slab: Slab;
  readonly start: number;
  readonly end: number;
}

/** The frame as text. */
export function textOf({ slab, start, end }: KeptFrame): string {
  return slab.memory.toString('utf8', start, end);
}

/** A copy of the frame's bytes. */
export function bytesOf({ slab, start, end }: KeptFrame): Buffer {
  return Buffer.from(slab.memory.subarray(start, end));
}

export class Slabs {
  #current: Slab | undefined;
  #spare: Slab[] = [];

  /** Copies a frame. */
  keep(frame: Buffer): KeptFrame {
    const slab = this.#withRoom(frame.length);
    const start = slab.at;
    slab.at += frame.copy(slab.memory, start);
    slab.held += 1;
    return { slab, start, end: slab.at };
  }

  /** The frames are not looked at any more. */
  release(frames: readonly KeptFrame[]): void {
    for (const { slab } of frames) {
      slab.held -= 1;
      if (slab.held > 0) continue;
      slab.at = 0;
      const ordinary = slab.memory.length === slabBytes;
      if (slab !== this.#current && ordinary && this.#spare.length < spareSlabs) this.#spare.push(slab);
    }
  }

  #withRoom(bytes: number): Slab {
    const current = this.#current;
    if (current !== undefined && current.memory.length - current.at >= bytes) return current;
    const next = bytes > slabBytes ? undefined : this.#spare.pop();
    this.#current = next ?? { memory: Buffer.allocUnsafeSlow(Math.max(slabBytes, bytes)), at: 0, held: 0 };
    return this.#current;
  }
}
