/** Bugs by which views over projections differ from their SELECTs. */
import type { PlantedArea } from '../planted.ts';

const migration = 'migrations/0015_projections.sql';
const fill = 'src/store/projections/fill.ts';
const test = 'projections/changed-history.long.test.ts';

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
      line: `where p."offset" >= coalesce(lower(r.offsets), -1)`,
      instead: `where false and p."offset" >= coalesce(lower(r.offsets), -1)`,
      test,
    },
    {
      name: 'changed offsets stay covered',
      file: fill,
      line: 'set covered = covered - $2::int8multirange, updated_at',
      instead: "set covered = covered - '{}'::int8multirange, updated_at",
      test,
    },
    {
      name: 'views do not exclude changed offsets',
      file: 'migrations/read/47_projections.sql',
      line: 'from :storage.projection_changes c)',
      instead: 'from :storage.projection_changes c where false)',
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
      line: "'select_hash, covered, is_filled, problem, updated_at',\n      delete: true,\n    },\n    limited: 'none',",
      instead:
        "'select_hash, covered, is_filled, problem, updated_at',\n      delete: true,\n    },\n    limited: 'all',",
      test,
    },
    {
      name: 'limited readers see the stored rows of all parties',
      file: 'src/store/tables/stream.ts',
      line: "  projected_token_changes: {\n    nodes: 'coordinator',\n    writer: { insert: true, delete: true },\n    limited: 'none',",
      instead:
        "  projected_token_changes: {\n    nodes: 'coordinator',\n    writer: { insert: true, delete: true },\n    limited: 'all',",
      test: 'security/privacy.slow.test.ts',
    },
  ],
};
