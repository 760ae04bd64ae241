/** Pure: which packages define the types that templates, choices and interfaces are made of. */
import type { DamlType, PackageModel, TypeName } from '../../daml/package-model.ts';

/**
 * Ids of packages that are not among the known ones and that hold a type reached from the templates, choices or
 * interfaces of the named packages.
 */
export function unknownPackages(
  known: ReadonlyMap<string, PackageModel>,
  names: ReadonlySet<string>,
): ReadonlySet<string> {
  const unknown = new Set<string>();
  const seen = new Set<TypeName>();
  const open: TypeName[] = [];
  for (const model of known.values()) {
    if (names.has(model.name)) for (const type of rootTypes(model)) collect(type, open);
  }
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const at = name.indexOf(':');
    const model = known.get(name.slice(0, at));
    if (model === undefined) unknown.add(name.slice(0, at));
    const data = model?.dataTypes[name.slice(at + 1)];
    if (data === undefined || data.kind === 'enum') continue;
    for (const { type } of data.kind === 'record' ? data.fields : data.cases) collect(type, open);
  }
  return unknown;
}

function rootTypes(model: PackageModel): readonly DamlType[] {
  const owners = [...model.templates, ...model.interfaces];
  return [
    ...owners.flatMap(({ choices }) => choices.flatMap(({ argument, result }) => [argument, result])),
    ...model.interfaces.map(({ view }) => view),
    ...model.templates.flatMap(({ key, moduleName, entityName }): readonly DamlType[] => [
      { kind: 'named', name: `${model.packageId}:${moduleName}:${entityName}`, arguments: [] },
      ...(key === undefined ? [] : [key]),
    ]),
  ];
}

/** Adds the names in a type, the arguments of types included. */
function collect(type: DamlType, names: TypeName[]): void {
  switch (type.kind) {
    case 'named':
      names.push(type.name);
      for (const argument of type.arguments) collect(argument, names);
      return;
    case 'genmap':
      collect(type.key, names);
      collect(type.of, names);
      return;
    case 'optional':
    case 'list':
    case 'textmap':
      collect(type.of, names);
      return;
    case 'contract_id':
    case 'builtin':
    case 'numeric':
    case 'variable':
    case 'opaque':
  }
}
