/** Finds the ranges of the lake that the stream still has. A rewind removes later ranges from the stream. */
import type { Snapshot } from 'ledger-indexer/read';
import type { LakeRange } from '../manifest/entries.ts';

/** The ranges up to the last one that no rewind has undone. */
export async function standingRanges(ranges: readonly LakeRange[], snapshot: Snapshot): Promise<readonly LakeRange[]> {
  for (let rangeCount = ranges.length; rangeCount > 0; rangeCount -= 1) {
    const range = ranges[rangeCount - 1];
    if (range !== undefined && !(await isRolledBack(range, snapshot))) return ranges.slice(0, rangeCount);
  }
  return [];
}

async function isRolledBack({ to, epoch }: LakeRange, snapshot: Snapshot): Promise<boolean> {
  if (to > snapshot.facts.checkpoint) return true;
  const now = await snapshot.epochAt(to);
  return now !== null && epoch !== null && now > epoch;
}
