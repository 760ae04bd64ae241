/**
 * Replays the recorded messages of a participant to the built program, and kills the program in the middle. Postgres
 * must then contain exactly the leaf values of the recorded frames.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Comparison } from './comparison.ts';
import { expectLivesAcrossSynchronizers, expectTreesAsSent } from './explained.ts';
import { countLeaves } from './json.ts';
import { activeAt, entriesAt, readRecording, shapes, type Entry, type Frame, type Recording } from './recording.ts';
import { prepareRun } from './run.ts';

const names = ['core', 'two-synchronizers'];

/** Number of leaves in the frames. The envelope of an update has no leaves. */
function leavesIn(frames: readonly Frame[], entries: readonly Entry[] = []): number {
  const leafCounts = [...frames, ...entries].map(({ json }) => countLeaves(json));
  // The continuation token of an entry is not stored after the seed is published.
  return leafCounts.reduce((sum, leafCount) => sum + leafCount, 0) - entries.length;
}

function expectSame(
  recordingName: string,
  { recorded: recordedCount, compared: comparedCount, differences }: Comparison,
  leafCount: number,
): void {
  console.log(
    `${recordingName}: ${leafCount} recorded leaves, ${comparedCount} values compared, ${differences.length} different`,
  );
  expect(differences.slice(0, 5)).toEqual([]);
  expect(recordedCount).toBe(leafCount);
  expect(comparedCount).toBeGreaterThan(leafCount);
}

/** Offsets of some updates across the history, and the offsets before them. */
function sampled(frames: readonly Frame[]): readonly number[] {
  return frames.filter((_, index) => index % 12 === 3).flatMap(({ offset }) => [offset - 1, offset]);
}

/** The offset at this fraction of the updates. */
function offsetAt(frames: readonly Frame[], share: number): number {
  return frames[Math.floor((frames.length - 1) * share)]?.offset ?? 0;
}

/** The offset after the first third of the updates where the most contracts are in flight. */
function busiestOffset(recording: Recording): number {
  const inFlightAt = (offset: number): number =>
    entriesAt(recording, offset).filter(({ text }) => text.includes('JsIncompleteUnassigned')).length;
  const { length } = recording.updates.ACS_DELTA;
  const offsets = recording.updates.ACS_DELTA.slice(Math.floor(length / 3), -1).map(({ offset }) => offset);
  return offsets.reduce((bestOffset, offset) => (inFlightAt(offset) > inFlightAt(bestOffset) ? offset : bestOffset));
}

describe.each(names)('replay of recording %s', (name) => {
  let recording: Recording;
  beforeAll(() => {
    recording = readRecording(name);
  });

  it.each(shapes)('stores and explains each JSON value from the beginning under %s, despite kills', async (shape) => {
    const frames = recording.updates[shape];
    await using run = await prepareRun({ recording, shape, ledgerEnd: offsetAt(frames, 0.5) });
    for (const [killAfter, share] of [
      [0.3, 0.8],
      [0.6, 1],
    ] as const) {
      await using daemon = run.start();
      await run.reaches(daemon, offsetAt(frames, killAfter));
      // The kill interrupts the next updates at a random point.
      run.server.growTo(offsetAt(frames, share));
    }
    run.server.growTo(recording.end);
    await using daemon = run.start();
    await run.reaches(daemon, recording.end);
    expectSame(`${name}, ${shape}`, await run.compared(sampled(frames)), leavesIn(frames));
    await expectTreesAsSent(run, frames);
    await expectLivesAcrossSynchronizers(run, name === 'two-synchronizers' ? 4 : 0);
  });

  it('stores each JSON value of the active contracts, despite a kill', async () => {
    const { end, activeContracts } = recording;
    const shape = 'LEDGER_EFFECTS';
    await using run = await prepareRun({ recording, shape, seedOffset: end, ledgerEnd: end });
    run.server.showEntries(activeContracts.length - 20);
    {
      await using daemon = run.start();
      await run.seeds(daemon, 30);
    }
    run.server.showEntries(activeContracts.length);
    await using daemon = run.start();
    await run.reaches(daemon, end);
    expectSame(`${name} at its end`, await run.compared([end]), leavesIn([], activeContracts));
  });

  it.each(shapes)('stores the active contracts at an offset and all later updates under %s', async (shape) => {
    const seedOffset = busiestOffset(recording);
    const frames = recording.updates[shape].filter(({ offset }) => offset > seedOffset);
    await using run = await prepareRun({ recording, shape, seedOffset, ledgerEnd: seedOffset });
    {
      await using daemon = run.start();
      await run.reaches(daemon, seedOffset);
      run.server.growTo(recording.end);
    }
    await using daemon = run.start();
    await run.reaches(daemon, recording.end);
    const leaves = leavesIn(frames, activeAt(recording, seedOffset));
    expectSame(`${name} from ${seedOffset} on, ${shape}`, await run.compared([seedOffset, ...sampled(frames)]), leaves);
  });

  it('ends with the active contracts that result from its updates', () => {
    const withoutToken = ({ text }: Entry): string => text.replace(/"streamContinuationToken":"[^"]*"}$/, '');
    expect(entriesAt(recording, recording.end).map(withoutToken).sort()).toEqual(
      recording.activeContracts.map(withoutToken).sort(),
    );
  });
});
