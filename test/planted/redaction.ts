import type { PlantedArea } from './planted.ts';

const test = 'retention/redacted-in-flight.test.ts';
const lists = 'retention/redacted-in-lists.long.test.ts';

export const redaction: PlantedArea = {
  name: 'redaction',
  defects: [
    {
      name: 'a running writer does not notice a redaction',
      file: 'src/store/retention/redact.ts',
      line: 'if (restart) await client.query(`select ${pqs}.__restart_writer()`);',
      instead: '',
      test,
    },
    {
      name: 'a contract in flight at the seed is stored with its contents',
      file: 'src/model/batch.ts',
      line: 'this.#redactions?.ofContract(created.contractId) === undefined\n        ? jsonb(incompleteAssign?.createdText ?? null)\n        : null,',
      instead: 'jsonb(incompleteAssign?.createdText ?? null),',
      test: lists,
    },
    {
      name: 'rows that were staged before a redaction are merged with their contents',
      file: 'src/store/history/merge.ts',
      line: 'await removeRedacted(client, stagingName);',
      instead: '',
      test: lists,
    },
    {
      name: 'exercises redacted later are not covered in new rows',
      file: 'migrations/read/40_pqs_redaction.sql',
      line: 'on conflict (contract_id) do update set exercises = true where excluded.exercises and not r.exercises;',
      instead: 'on conflict (contract_id) do nothing;',
      test,
    },
    {
      name: 'the reason why a view failed is kept, and quotes contents',
      file: 'src/model/redactions.ts',
      line: 'statusDetails: null,',
      instead: '',
      test,
    },
    {
      name: 'a late update is stored without a check of the redactions',
      file: 'src/store/write/late-update.ts',
      line: 'const redactions = await loadRedactions(client);',
      instead: 'const redactions = await loadRedactions(client).then(() => undefined);',
      test,
    },
  ],
};
