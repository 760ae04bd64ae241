/** Bugs by which views over projections differ from their SELECTs. */
import type { PlantedArea } from '../planted.ts';

const migration = 'migrations/0015_projections.sql';
const fill = 'src/store/projections/fill.ts';
const test = 'projections/changed-history.long.test.ts';
const userTest = 'projections/users/projections.slow.test.ts';

export const projections: PlantedArea = {
  name: 'projections',
  defects: [
    {
      name: 'a range is covered one offset too far',
      file: fill,
      line: "covered = covered + int8multirange(int8range($2, $3, '(]'))",
      instead: "covered = covered + int8multirange(int8range($2, $3 + 1, '(]'))",
      test,
    },
    {
      name: 'rows of changed offsets stay',
      file: fill,
      line: "(offsets) where ${isWithin('t', 'r')}`",
      instead: "(offsets) where false and ${isWithin('t', 'r')}`",
      test,
    },
    {
      name: 'changed offsets stay covered',
      file: fill,
      line: 'covered = covered - outdated_offsets($1, $2, is_summed, looks_up), updated_at = now()`,',
      instead: "covered = covered - '{}'::int8multirange, updated_at = now()`,",
      test,
    },
    {
      name: 'a changed offset leaves the sums of its block',
      file: 'migrations/read/47_projections.sql',
      line: ':storage.noted_offsets(p.is_summed, p.looks_up)))',
      instead: ':storage.noted_offsets(false, p.looks_up)))',
      test,
    },
    {
      name: 'a block is stored before it is complete',
      file: fill,
      line: "'{(,)}'), p.is_summed)`;",
      instead: "'{(,)}'), false)`;",
      test,
    },
    {
      name: 'a block that is partly in the range is read completely',
      file: 'migrations/read/47_projections.sql',
      line: '* :storage.complete_blocks(wanted, true);',
      instead: '* :storage.in_blocks(wanted, true);',
      test: 'projections/token-projections.slow.test.ts',
    },
    {
      name: 'a range is filled again before its outdated rows are removed',
      file: fill,
      line: ' - p.covered - p.outdated)\n',
      instead: ' - p.covered)\n',
      test,
    },
    {
      name: 'redacted contents stay in stored rows',
      file: 'migrations/read/40_pqs_redaction.sql',
      line: '  perform :pqs.__remove_projected();\n  return query',
      instead: '  return query',
      test: 'projections/removed-contents.slow.test.ts',
    },
    {
      name: 'a range that was read before a redaction is stored after it',
      file: 'migrations/read/40_pqs_redaction.sql',
      line: '  update :storage.projections set updated_at = now();\n',
      instead: '',
      test: 'projections/removed-contents.slow.test.ts',
    },
    {
      name: 'a projection is filled while earlier changes are open',
      file: 'src/store/projections/projection-job.ts',
      line: 'if (this.#areNoted) return true;',
      instead: 'return true;',
      test: 'projections/removed-contents.slow.test.ts',
    },
    {
      name: 'views do not exclude changed offsets',
      file: 'migrations/0020_exported_projections.sql',
      line: 'from projection_changes c;',
      instead: 'from projection_changes c where false;',
      test,
    },
    {
      name: 'redacted views are not noted',
      file: migration,
      line: 'create trigger note_changed_contracts after update on interface_views',
      instead: 'create trigger note_changed_contracts after update of node_id on interface_views',
      test,
    },
    {
      name: 'ends that are stored late are not noted',
      file: 'src/store/write/late-update.ts',
      line: '    await noteLateUpdate(client, update.offset);\n',
      instead: '',
      test,
    },
    {
      name: 'ends of contracts whose parties left are not noted',
      file: migration,
      line: 'create trigger note_ended_unhosted after insert on ended\n    for each row when (new.unhosted_since is not null)',
      instead: 'create trigger note_ended_unhosted after insert on ended\n    for each row when (false)',
      test,
    },
    {
      name: 'a reset keeps rows after its offset',
      file: 'src/store/history/reset.ts',
      line: '    await noteChange(client, { after: to, upTo: null });\n',
      instead: '',
      test,
    },
    {
      name: 'limited readers miss rows, because they see which offsets are covered',
      file: 'src/store/tables/stream.ts',
      line: "redactor: { update: 'updated_at' },\n    limited: 'none',",
      instead: "redactor: { update: 'updated_at' },\n    limited: 'all',",
      test,
    },
    {
      name: 'limited readers see the stored rows of all parties',
      file: 'src/store/tables/stream.ts',
      line: "  redactor: { delete: true },\n  limited: 'none',",
      instead: "  redactor: { delete: true },\n  limited: 'all',",
      test: 'security/privacy.slow.test.ts',
    },
    {
      name: 'rows of a user that were read before a redaction are stored after it',
      file: fill,
      line: 'coalesce(xmin::text = $5, true)',
      instead: 'coalesce(xmin::text = $5 or true, true)',
      test: userTest,
    },
    {
      name: 'a redaction keeps later rows of a SELECT that looks up contracts',
      file: 'migrations/read/40_pqs_redaction.sql',
      line: ':storage.dependent_offsets(changed, p.is_summed, p.looks_up) as offsets',
      instead: ':storage.dependent_offsets(changed, p.is_summed, false) as offsets',
      test: userTest,
    },
    {
      name: 'the rows of a user are read in a transaction that may write',
      file: 'src/store/projections/read-rows.ts',
      line: 'set local transaction_read_only = on; ',
      instead: '',
      test: 'projections/users/hostile-selects.slow.test.ts',
    },
    {
      name: 'limited readers see the stored rows of users',
      file: 'migrations/read/47_projections.sql',
      line: 'return exists (select from :storage.projections p where p.view_name is not null);',
      instead: 'return true;',
      test: 'projections/users/rights.slow.test.ts',
    },
  ],
};
