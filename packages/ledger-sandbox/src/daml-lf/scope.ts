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

function placesIn({ modules }: PackageDeclaration, packageId: string | undefined): readonly TablePosition[] {
  return Object.entries(modules).flatMap(([module, definitions]) =>
    entitiesIn(definitions).map((entity) => ({ packageId, module, ...entity })),
  );
}

/** Resolves names for the types in one module of a package. `Module:Entity` is found in any package in scope. */
export function scopeOf(declaration: PackageDeclaration, inModule: string): Lookup {
  const own = placesIn(declaration, undefined);
  const imported = declaration.imports.flatMap((one) => placesIn(one.declaration, one.id));
  return (name) => {
    const fits = (location: TablePosition): boolean =>
      name.includes(':') ? name === `${location.module}:${location.entity}` : name === location.entity;
    for (const places of [own.filter(({ module }) => module === inModule), own, imported]) {
      const [found, other] = places.filter(fits);
      if (other !== undefined) throw new Error(`${declaration.name}: more than one type is named ${name}`);
      if (found !== undefined) return found;
    }
    throw new Error(`${declaration.name}: no type is named ${name}`);
  };
}
