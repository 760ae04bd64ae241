/** Bugs that append to the history of a restored ledger which lacks, or has other updates at, the newest offsets. */
import type { PlantedArea } from './planted.ts';

const test = 'history/restored.long.test.ts';

export const restoredLedger: PlantedArea = {
  name: 'restored-ledger',
  defects: [
    {
      name: 'a hole at the newest stored update counts as the same history',
      file: 'src/pipeline/proof/history-proof.ts',
      line: 'if (ledgerUpdateId === lastUpdate.updateId) {',
      instead: 'if (ledgerUpdateId === undefined || ledgerUpdateId === lastUpdate.updateId) {',
      test,
      only: 'parks the indexer until reset --to if it lacks only the newest stored update',
    },
    {
      name: 'where histories part, any update at an offset is taken for the stored one',
      file: 'src/pipeline/proof/history-proof.ts',
      line: '(await updateIdAt(parts, updateMark.offset)) === updateMark.updateId) {',
      instead: '(await updateIdAt(parts, updateMark.offset)) !== undefined) {',
      test,
      only: 'parks the indexer until reset --to if it has other updates and lacks the newest one',
    },
    {
      name: 'updates between the newest stored one and the checkpoint are not checked',
      file: 'src/pipeline/proof/history-proof.ts',
      line: 'if (lastUpdate.offset >= checkpoint) return;',
      instead: 'if (lastUpdate.offset >= 0) return;',
      test,
      only: 'parks the indexer until reset --to if it has a new update below the checkpoint',
    },
    {
      name: 'a quarantined update is taken for one of another history',
      file: 'src/store/history/stored-marks.ts',
      line: `.where((e) => e.not(e.exists(e.selectFrom('quarantine as q').whereRef('q.offset', '=', 'o.offset'))))`,
      instead: '',
      test,
      only: 'is accepted if the update at the checkpoint is quarantined',
    },
    {
      name: 'after a reset the removed update still identifies the history',
      file: 'src/store/history/reset.ts',
      line: 'else (select update_id from newest) end,',
      instead: 'else checkpoint_update_id end,',
      test,
      only: 'parks the indexer until reset --to if it lacks only the newest stored update',
    },
  ],
};
