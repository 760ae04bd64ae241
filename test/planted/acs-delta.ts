import type { PlantedArea } from './planted.ts';

const test = 'store/acs-delta.test.ts';
const batch = 'src/model/batch.ts';

export const acsDelta: PlantedArea = {
  name: 'acs-delta',
  defects: [
    {
      name: 'an archived event is stored and ends nothing',
      file: batch,
      line: 'this.lifetimes.deactivate(contractId, synchronizerPk, archiveOf(update.offset, nodeId, updateTimes));',
      instead: '',
      test,
    },
    {
      name: 'archived events are counted as exercises',
      file: batch,
      line: 'if (activity !== undefined) activity.archives += 1;',
      instead: 'if (activity !== undefined) activity.exercises += 1;',
      test,
    },
    {
      name: 'the witnesses of an archived event are lost',
      file: batch,
      line: 'this.#dictionary.eventParties.number([], witnessParties, implementedInterfaces);',
      instead: 'this.#dictionary.eventParties.number([], witnessParties.slice(1), implementedInterfaces);',
      test,
    },
    {
      name: 'before 3.4, consuming exercises end nothing',
      file: batch,
      line: 'if (event.consuming && event.acsDelta !== false) {',
      instead: 'if (event.consuming && event.acsDelta === true) {',
      test,
    },
    {
      name: 'before 3.4, contracts that were only witnessed are active',
      file: 'src/model/rows.ts',
      line: 'return [...event.signatories, ...event.observers].some((party) => witnesses.has(party));',
      instead: 'return witnesses.size > 0;',
      test,
    },
    {
      name: 'a contract stored late is not ended by an archived event that came before',
      file: 'src/store/write/late-update.ts',
      line: 'where id_text(a.contract_id) = any ($2)',
      instead: 'where id_text(a.contract_id) = any ($2) and a."offset" < $1',
      test,
    },
    {
      name: 'an end counts for the template that the event names',
      file: 'src/store/write/batch-writer.ts',
      line: 'union all select template_pk, 0, 1 from gone) c',
      instead: 'union all select (select max(t.template_pk) from templates t), 0, 1 from gone) c',
      test,
    },
  ],
};
