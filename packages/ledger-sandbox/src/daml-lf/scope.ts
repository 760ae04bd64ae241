/**
 * Resolves the names in the types of a declaration. Searches the same module, then the same package, then the imports.
 */
import type { ModuleDeclaration, PackageDeclaration } from './declaration.ts';
import type { Lookup, TablePosition } from './tables.ts';

/** The entities of a module: the listed ones, and the arguments of choices. */
function entitiesIn(module: ModuleDeclaration): readonly Pick<TablePosition, 'entity' | 'view'>[] {
  return Object.entries(module).flatMap(([entity, definition]) => {
    if (definition.kind !== 'template' && definition.kind !== 'interface') return [{ entity }];
    const self = definition.kind === 'template' ? { entity } : { entity, view: definition.view };
    return [self, ...Object.keys(definition.choices).map((choice) => ({ entity: choice }))];
  });
}

function locationsIn({ modules }: PackageDeclaration, packageId: string | undefined): readonly TablePosition[] {
  return Object.entries(modules).flatMap(([module, definitions]) =>
    entitiesIn(definitions).map((entity) => ({ packageId, module, ...entity })),
  );
}

/** Resolves names for the types in one module of a package. `Module:Entity` is found in any package in scope. */
export function scopeOf(declaration: PackageDeclaration, inModule: string): Lookup {
  const ownLocations = locationsIn(declaration, undefined);
  const importedLocations = declaration.imports.flatMap((importedPackage) =>
    locationsIn(importedPackage.declaration, importedPackage.id),
  );
  return (name) => {
    const fitsLocation = (location: TablePosition): boolean =>
      name.includes(':') ? name === `${location.module}:${location.entity}` : name === location.entity;
    for (const locations of [
      ownLocations.filter(({ module }) => module === inModule),
      ownLocations,
      importedLocations,
    ]) {
      const [location, otherLocation] = locations.filter(fitsLocation);
      if (otherLocation !== undefined) throw new Error(`${declaration.name}: more than one type is named ${name}`);
      if (location !== undefined) return location;
    }
    throw new Error(`${declaration.name}: no type is named ${name}`);
  };
}
