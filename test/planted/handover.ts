/** Bugs by which a handover to another server loses rows, or leaves two writers at once. */
import type { PlantedArea } from './planted.ts';

const file = 'src/store/handover/hand-over.ts';
const test = 'rebuild/into.long.test.ts';

export const handover: PlantedArea = {
  name: 'handover',
  defects: [
    {
      name: 'any role may write to a storage that is being filled',
      file: 'src/store/write/stream-row.ts',
      line: 'if (handover === expectedHandover) return;',
      instead: "if (handover === expectedHandover || handover === 'filling') return;",
      test,
    },
    {
      name: 'the previous storage does not report that it was handed over',
      file,
      line: "await from.query(`update stream set handover = 'handed over', handover_peer = $1`, [targetLabel]);",
      instead: 'await Promise.resolve(targetLabel);',
      test,
    },
    {
      name: 'the previous writer has a higher epoch than the copied storage',
      file,
      line: "'update stream set epoch = epoch + $1, handover = null, handover_peer = null', [epoch]",
      instead:
        "'update stream set epoch = epoch + least($1::bigint, 0), handover = null, handover_peer = null', [epoch]",
      test,
    },
    {
      name: 'holds and results of verify are not copied',
      file,
      line: '      await copyTableRows(client, storages);\n',
      instead: '      await Promise.resolve(copyTableRows);\n',
      test,
    },
    {
      name: 'completions that only the previous server has are not copied',
      file: 'src/store/handover/rows-across.ts',
      line: "if (completions === 'none') return fixedTables;",
      instead: "if (completions !== 'none' || completions === 'none') return fixedTables;",
      test,
    },
    {
      name: 'a hold that is placed meanwhile is lost',
      file,
      line: '(entry) => entry.carried !== undefined',
      instead: '(entry) => entry.carried !== undefined && entry.redactor === undefined',
      test,
    },
  ],
};
