/**
 * Writes compiled packages of Daml-LF 2.1 from their declarations. A package contains all its types, and the minimum of
 * code that the language requires. A required expression (signatories, body of a choice) fails with a message. The
 * sandbox does not run the code. It serves packages only so that clients can read the types.
 */
import { createHash } from 'node:crypto';
import type { PackageDeclaration, WrittenPackage } from './declaration.ts';
import { DefinitionWriter } from './definition-writer.ts';
import { message } from './message.ts';
import { Tables } from './tables.ts';
import { scopeOf } from './scope.ts';

const languageMinor = '1';

/** The flags that compilers set for every module. */
const featureFlags = message([1, 1], [2, 1], [3, 1]);

function entitiesOf({ modules }: PackageDeclaration, kind: 'template' | 'interface'): readonly string[] {
  return Object.entries(modules).flatMap(([module, definitions]) =>
    Object.entries(definitions)
      .filter(([, definition]) => definition.kind === kind)
      .map(([entity]) => `${module}:${entity}`),
  );
}

/** Writes a package. Throws if the name of a type is unknown or ambiguous. */
export function writePackage(declaration: PackageDeclaration): WrittenPackage {
  const { name, version } = declaration;
  const tables = new Tables();
  const modules = Object.entries(declaration.modules).map(([module, definitions]) => {
    const writer = new DefinitionWriter(tables, scopeOf(declaration, module));
    const fields = Object.entries(definitions).flatMap(([entity, definition]) => writer.write(entity, definition));
    return message([1, tables.name(module)], [2, featureFlags], ...fields);
  });
  const metadata = message([1, tables.text(name)], [2, tables.text(version)]);
  const content = message(...modules.map((module) => [1, module] as const), ...tables.fields(), [4, metadata]);
  const payload = message([3, languageMinor], [4, content]);
  return {
    id: createHash('sha256').update(payload).digest('hex'),
    name,
    version,
    payload,
    templates: entitiesOf(declaration, 'template'),
    interfaces: entitiesOf(declaration, 'interface'),
    declaration,
  };
}

/** The package in the form of a .dalf file: an Archive message with the payload and its hash. */
export function archiveOf({ payload, id }: WrittenPackage): Uint8Array<ArrayBuffer> {
  return message([3, payload], [4, id]);
}
