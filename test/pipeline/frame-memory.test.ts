/** Frames wait in blocks of memory. They are returned unchanged, even if other frames are released in between. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameMemory, textOf, type StoredFrame } from '../../src/pipeline/intake/frame-memory.ts';
import { expectProperty } from '../support/chance/property.ts';

const frame = fc.oneof(
  { weight: 20, arbitrary: fc.string({ unit: 'grapheme', maxLength: 200 }) },
  { weight: 5, arbitrary: fc.integer({ min: 200_000, max: 900_000 }).map((length) => 'x'.repeat(length)) },
  { weight: 1, arbitrary: fc.integer({ min: 1_000_000, max: 3_000_000 }).map((length) => 'ü'.repeat(length)) },
);

describe('FrameMemory', () => {
  it('returns every frame unchanged until it is released', () => {
    const steps = fc.array(fc.tuple(frame, fc.integer({ min: 0, max: 5 })), { maxLength: 60 });
    expectProperty(
      fc.property(steps, (sequence) => {
        const blocks = new FrameMemory();
        const waitingFrames: { readonly text: string; readonly kept: StoredFrame }[] = [];
        for (const [text, releasedCount] of sequence) {
          waitingFrames.push({ text, kept: blocks.keep(Buffer.from(text)) });
          for (const { text: expected, kept: keptFrame } of waitingFrames)
            expect(textOf(keptFrame).toString() === expected).toBe(true);
          blocks.release(waitingFrames.splice(0, releasedCount).map(({ kept: keptFrame }) => keptFrame));
        }
      }),
      60,
    );
  });

  it('reuses a block after all frames in the block are released', () => {
    const blocks = new FrameMemory();
    const halfBuffer = Buffer.alloc(600_000, 'a');
    const memories = new Set<Buffer>();
    for (let round = 0; round < 100; round += 1) {
      const keptFrame = [blocks.keep(halfBuffer), blocks.keep(halfBuffer), blocks.keep(halfBuffer)];
      for (const { block } of keptFrame) memories.add(block.memory);
      blocks.release(keptFrame);
    }
    expect(memories.size).toBeLessThan(6);
  });
});
