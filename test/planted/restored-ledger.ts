/** A restored ledger: if the newest stored offsets are holes there, or other updates, nothing may be appended. */
import type { PlantedArea } from './planted.ts';

const test = 'history/restored.long.test.ts';

export const restoredLedger: PlantedArea = {
  name: 'restored-ledger',
  defects: [
    {
      name: 'a hole at the newest stored update counts as the same history',
      file: 'src/pipeline/proof/history-proof.ts',
      line: 'if (found === lastUpdate.updateId) {',
      instead: 'if (found === undefined || found === lastUpdate.updateId) {',
      test,
      only: 'that has no update at our newest offset, and later ones',
    },
    {
      name: 'where histories part, any update at an offset is taken for the stored one',
      file: 'src/pipeline/proof/history-proof.ts',
      line: '(await updateIdAt(parts, mark.offset)) === mark.updateId) {',
      instead: '(await updateIdAt(parts, mark.offset)) !== undefined) {',
      test,
      only: 'that has other updates at our newest offsets',
    },
    {
      name: 'updates between the newest stored one and the checkpoint are not checked',
      file: 'src/pipeline/proof/history-proof.ts',
      line: 'if (lastUpdate.offset >= checkpoint) return;',
      instead: 'if (lastUpdate.offset >= 0) return;',
      test,
      only: 'that has updates after our newest one',
    },
    {
      name: 'a quarantined update is taken for one of another history',
      file: 'src/store/history/stored-marks.ts',
      line: `.where((e) => e.not(e.exists(e.selectFrom('quarantine as q').whereRef('q.offset', '=', 'o.offset'))))`,
      instead: '',
      test,
      only: 'set an update aside',
    },
    {
      name: 'after a reset the removed update still identifies the history',
      file: 'src/store/history/reset.ts',
      line: 'else (select update_id from newest) end,',
      instead: 'else checkpoint_update_id end,',
      test,
      only: 'that has no update at our newest offset, and later ones',
    },
  ],
};
