/** Compiles the filter of a selection: finds out which fields the selected events have, and of which types. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { DamlType, PackageModel } from '../../daml/package-model.ts';
import type { ChangesRequest, ChangeSelection } from '../../model/push/changes.ts';
import type { Database } from '../connection/database.ts';
import { compileFilter } from '../filters/compile.ts';
import type { ColumnKind, FilterFields } from '../filters/fields.ts';
import type { Filter } from '../filters/filter.ts';
import { parseFilter } from '../filters/parse.ts';
import { eventTypesOf, readPackagesOf } from '../filters/payload-types.ts';
import { inSnapshot } from '../reads/snapshot-read.ts';
import type { WhereCondition } from './selected-events.ts';

const eventColumns: Readonly<Record<string, ColumnKind>> = {
  offset: 'integer',
  node_id: 'integer',
  event_type: 'text',
  update_id: 'text',
  record_time: 'time',
  effective_at: 'time',
  synchronizer_id: 'text',
  contract_id: 'text',
  template_fqn: 'text',
  package_id: 'text',
  choice: 'text',
  parties: 'texts',
};

const tokenColumns: Readonly<Record<string, ColumnKind>> = {
  owner: 'text',
  sender: 'text',
  receiver: 'text',
  instrument_admin: 'text',
  instrument_id: 'text',
  amount: 'number',
  transfer_leg_id: 'text',
  deadline: 'time',
  reason: 'text',
};

/** Types of a field that no stored package describes. */
const anyTypes: readonly DamlType[] = [{ kind: 'builtin', name: 'any' }];

type Selected = Pick<ChangesRequest, 'template'> & { readonly selection: ChangeSelection };

/**
 * Checks the filter of a selection and compiles it. Reads packages, so the result should be kept for a while.
 * @throws IndexerError FILTER_INVALID; FIELD_UNKNOWN with the nearest names
 */
export async function compileWhere(
  client: ClientBase,
  storage: string,
  where: string,
  selected: Selected,
): Promise<WhereCondition> {
  const filter = parseFilter(where);
  const roots = new Set(rootsOf(filter));
  const { interfaceName } = selected.selection;
  const isTyped = [...roots].some((root) => Object.hasOwn(documentNeeds, root));
  const names = [selected.template, interfaceName].flatMap((name) => name ?? []);
  const packages = isTyped ? await readPackagesOf(client, storage, names) : [];
  for (const root of roots) requireOwner(root, selected);
  const fields = fieldsOf(packages, selected);
  const compile: WhereCondition['compile'] = (parametersBefore) =>
    compileFilter(filter, fields, { alias: 'f', parametersBefore });
  // Reports an unknown field at once.
  compile(0);
  return { compile, needsContract: roots.has('payload') || roots.has('view') };
}

/** Checks the filter of a request, if it has one. @throws IndexerError FILTER_INVALID, FIELD_UNKNOWN; STORE_ errors */
export async function checkFilter(
  database: Database,
  { template, selection }: Pick<ChangesRequest, 'template' | 'selection'>,
): Promise<void> {
  const where = selection?.where ?? null;
  if (selection === undefined || where === null) return;
  await inSnapshot(database, (client) => compileWhere(client, database.schema, where, { template, selection }));
}

/** The parts that a selection must have, so that the fields of a document are known. */
const documentNeeds: Readonly<
  Record<string, { readonly isMet: (selected: Selected) => boolean; readonly missing: string }>
> = {
  payload: { isMet: ({ template }) => template !== null, missing: 'the template' },
  view: { isMet: ({ selection }) => selection.interfaceName !== null, missing: 'the interface' },
  argument: { isMet: hasChoice, missing: 'the choice, and the template or the interface' },
  result: { isMet: hasChoice, missing: 'the choice, and the template or the interface' },
};

function hasChoice({ template, selection }: Selected): boolean {
  return selection.choices.length > 0 && (template !== null || selection.interfaceName !== null);
}

function requireOwner(root: string, selected: Selected): void {
  const need = Object.hasOwn(documentNeeds, root) ? documentNeeds[root] : undefined;
  if (need === undefined || need.isMet(selected)) return;
  throw new IndexerError(`the filter names a field of ${root}, whose fields are not known without ${need.missing}`, {
    code: 'FIELD_UNKNOWN',
    remedy: `select ${need.missing} too`,
  });
}

function fieldsOf(packages: readonly PackageModel[], { template, selection }: Selected): FilterFields {
  const { interfaceName, choices: names, tokenEvents } = selection;
  const { payload, view, choices } = eventTypesOf(packages, { template, interfaceName });
  const used = choices.filter(({ name }) => names.includes(name));
  const byId = new Map(packages.map((model) => [model.packageId, model]));
  const typesOrAny = (types: readonly DamlType[]): readonly DamlType[] => (types.length === 0 ? anyTypes : types);
  return {
    columns: tokenEvents.length === 0 ? eventColumns : { ...eventColumns, ...tokenColumns },
    documents: {
      ...(template !== null && { payload: typesOrAny(payload) }),
      ...(interfaceName !== null && { view: typesOrAny(view) }),
      ...(names.length > 0 && {
        argument: typesOrAny(used.map(({ argument }) => argument)),
        result: typesOrAny(used.map(({ result }) => result)),
      }),
    },
    packages: (packageId) => byId.get(packageId),
  };
}

/** First steps of the fields of a filter. */
function rootsOf(filter: Filter): readonly string[] {
  if ('parts' in filter) return filter.parts.flatMap(rootsOf);
  if ('part' in filter) return rootsOf(filter.part);
  return filter.field.steps.slice(0, 1);
}
