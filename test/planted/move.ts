/** Bugs by which a switch to another participant loses updates, stores them twice, or accepts the wrong participant. */
import type { PlantedArea } from './planted.ts';

const offsets = 'src/ledger/frames/participant-offsets.ts';
const plan = 'src/pipeline/participant/plan-switch.ts';
const test = 'switch-participant/switch-participant.slow.test.ts';
const continuedTestName = 'the stream stays complete over repeated participant switches';

export const move: PlantedArea = {
  name: 'move',
  defects: [
    {
      name: 'the updates of the new participant are requested from one offset too late',
      file: offsets,
      line: 'return Math.max(0, offset - this.#shift);',
      instead: 'return Math.max(0, offset - this.#shift + 1);',
      test,
      only: continuedTestName,
    },
    {
      name: 'the checkpoint is mapped one offset too far',
      file: plan,
      line: 'const shift = checkpoint - comparison.from;',
      instead: 'const shift = checkpoint - comparison.from - 1;',
      test,
      only: continuedTestName,
    },
    {
      name: 'an update that came from the previous participant is stored again',
      file: offsets,
      line: 'return offset <= this.from || offset <= (this.#overlaps.get(synchronizerId) ?? 0);',
      instead: 'return offset <= this.from && synchronizerId !== undefined;',
      test,
      only: continuedTestName,
    },
    {
      name: 'the lead of one synchronizer is skipped for the other as well',
      file: offsets,
      line: 'return offset <= this.from || offset <= (this.#overlaps.get(synchronizerId) ?? 0);',
      instead: 'return offset <= this.repeatsTo && synchronizerId !== undefined;',
      test,
      only: continuedTestName,
    },
    {
      name: 'another history is accepted: an update that the participant returns counts as stored',
      file: plan,
      line: 'for (const id of ids) if (quarantinedIds.has(id)) knownIds.add(id);',
      instead: 'for (const id of ids) if (quarantinedIds.has(id) || id !== undefined) knownIds.add(id);',
      test: 'switch-participant/refusals.long.test.ts',
      only: 'switch-participant rejects a participant with an earlier update that is not stored',
    },
    {
      name: 'another history is taken for a lagging one',
      file: plan,
      line: 'if (newestOffsets.size === 0) throw await noCommonUpdateError(parts, synchronizerMarks.at(-1), pruned);',
      instead:
        'if (newestOffsets.size === 0 && synchronizerMarks[0] !== undefined) throw notCaughtUpError(synchronizerMarks[0]);',
      test: 'switch-participant/refusals.long.test.ts',
      only: 'switch-participant rejects a participant with another history',
    },
    {
      name: 'a participant that is behind is accepted',
      file: plan,
      line: 'if (recentlyMissing[0] !== undefined) throw notCaughtUpError(recentlyMissing[0]);',
      instead: '',
      test: 'switch-participant/refusals.long.test.ts',
      only: 'switch-participant rejects a participant behind the stored history',
    },
    {
      name: 'a quarantined update is quarantined again',
      file: plan,
      line: 'if (offset !== undefined && offset > (newestOffsets.get(synchronizerId) ?? 0))\n      newestOffsets.set(synchronizerId, offset);',
      instead: '',
      test: 'switch-participant/after-switch.long.test.ts',
      only: 'quarantine retry stores updates of both participants at their offsets',
    },
    {
      name: 'offsets of contracts stay those of the participant',
      file: offsets,
      line: 'return { ...event, offset: this.toStreamOffset(event.offset) };',
      instead: 'return { ...event, offset: event.offset };',
      test: 'switch-participant/after-switch.long.test.ts',
      only: 'reseed after a switch closes a gap with the active contracts of the new participant',
    },
  ],
};
