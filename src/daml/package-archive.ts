/**
 * Reads a package as a participant returns it: the protobuf message ArchivePayload, or the message Archive that
 * contains it, as in .dalf files. For language version 2, types are read and expressions are skipped by their length.
 */
import { createHash } from 'node:crypto';
import { IndexerError } from '../errors/indexer-error.ts';
import { parseDefinitions, type Definitions } from './definitions.ts';
import { InternedNames } from './interned-names.ts';
import type { DamlType, PackageModel, TypeName } from './package-model.ts';
import { bytesField, messagesIn, numberIn, readNumbers, readMessage, textField } from './protobuf-message.ts';
import { TypeTerms } from './type-terms.ts';

const packageIdLength = 64;
const minorVersion = /^(?:[1-9]\d?(?:-[a-z0-9.]{1,16})?|dev)$/;
const packageName = /^[A-Za-z0-9_-]{1,255}$/;
const packageVersion = /^\d{1,20}(?:\.\d{1,20}){0,31}$/;

/**
 * Reads the types of a package.
 * @param bytes ArchivePayload, as `GET /v2/packages/{id}` returns it, or Archive, as in a DAR
 * @param expectedId id of the requested package; if omitted, only the hash in an Archive is checked
 * @throws IndexerError PACKAGE_UNREADABLE with the id of the package, if the bytes are damaged, belong to another
 * package, or have language version 1. Callers continue with the next package.
 */
export function readPackageArchive(bytes: Uint8Array, expectedId?: string): PackageModel {
  let packageId = expectedId;
  try {
    const payload = payloadOf(bytes);
    const id = sha256(payload);
    packageId ??= id;
    if (id !== packageId) throw new Error(`its contents have the hash ${id}`);
    return readPayload(payload, id);
  } catch (thrown) {
    throw unreadablePackageError(packageId ?? sha256(bytes), thrown);
  }
}

function unreadablePackageError(packageId: string, cause: unknown): IndexerError {
  const reason = cause instanceof Error ? cause.message : 'unknown';
  return new IndexerError(`package ${packageId} cannot be read: ${reason.slice(0, 200)}`, {
    code: 'PACKAGE_UNREADABLE',
    facts: { packageId },
    cause,
  });
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Field 4 is the hash of the payload in an Archive and the package itself in an ArchivePayload. */
function payloadOf(bytes: Uint8Array): Uint8Array {
  const [last] = messagesIn(bytes, 4);
  const hash = last?.length === packageIdLength ? Buffer.from(last).toString('latin1') : '';
  if (!/^[0-9a-f]{64}$/.test(hash)) return bytes;
  if (numberIn(bytes, 1) !== 0) throw new Error('its hash function is not known');
  const payload = messagesIn(bytes, 3).at(-1) ?? new Uint8Array();
  if (sha256(payload) !== hash) throw new Error('its hash differs from the hash in the archive');
  return payload;
}

function readPayload(payload: Uint8Array, packageId: string): PackageModel {
  let languageMinor = '';
  let languageTwo: Uint8Array | undefined;
  let languageOne = false;
  readMessage(payload, {
    2: bytesField(() => (languageOne = true)),
    3: textField((text) => (languageMinor = text)),
    4: bytesField((bytes) => (languageTwo = bytes)),
  });
  if (languageOne) throw new Error('it is written in Daml-LF 1');
  if (languageTwo === undefined) throw new Error('it does not contain a package of Daml-LF 2');
  if (!minorVersion.test(languageMinor)) throw new Error('its version of Daml-LF is not known');
  return readPackage(languageTwo, packageId, `2.${languageMinor}`);
}

function readPackage(bytes: Uint8Array, packageId: string, languageVersion: string): PackageModel {
  const modules: Uint8Array[] = [];
  const strings: string[] = [];
  const dottedNames: (readonly number[])[] = [];
  const internedTypes: Uint8Array[] = [];
  const imports: string[] = [];
  let metadata: Uint8Array | undefined;
  readMessage(bytes, {
    1: bytesField((module) => modules.push(module)),
    2: textField((text) => strings.push(text)),
    3: bytesField((name) => dottedNames.push(readNumbers(name, 1))),
    4: bytesField((message) => (metadata = message)),
    5: bytesField((type) => internedTypes.push(type)),
    9: bytesField((message) => readMessage(message, { 1: textField((id) => imports.push(id)) })),
  });
  if (metadata === undefined) throw new Error('it has no name');
  const names = new InternedNames({ strings, dotted: dottedNames, imports }, packageId);
  const definitions = parseDefinitions(modules, names, new TypeTerms(names, internedTypes), packageId);
  return {
    packageId,
    name: assertMatch(packageName, names.text(numberIn(metadata, 1)), 'name'),
    version: assertMatch(packageVersion, names.text(numberIn(metadata, 2)), 'version'),
    languageVersion,
    ...definitions,
    dependencies: dependenciesOf(definitions, packageId),
  };
}

function assertMatch(pattern: RegExp, text: string, subject: string): string {
  if (!pattern.test(text)) throw new Error(`its ${subject} is not valid for a package`);
  return text;
}

function dependenciesOf(definitions: Definitions, ownPackageId: string): readonly string[] {
  const packageIds = new Set<string>();
  const add = (name: TypeName): unknown => packageIds.add(name.slice(0, name.indexOf(':')));
  const { templates, interfaces } = definitions;
  for (const type of typesOf(definitions)) visitNames(type, add);
  for (const name of templates.flatMap((template) => template.implements)) add(name);
  for (const name of interfaces.flatMap((definition) => definition.requires)) add(name);
  packageIds.delete(ownPackageId);
  return [...packageIds].sort();
}

function typesOf({ templates, interfaces, dataTypes }: Definitions): readonly DamlType[] {
  const choices = [...templates, ...interfaces].flatMap((entity) => entity.choices);
  const fields = Object.values(dataTypes).flatMap((dataType) => {
    if (dataType.kind === 'enum') return [];
    return dataType.kind === 'record' ? dataType.fields : dataType.cases;
  });
  return [
    ...choices.flatMap((choice) => [choice.argument, choice.result]),
    ...templates.flatMap(({ key }) => (key === undefined ? [] : [key])),
    ...interfaces.map((definition) => definition.view),
    ...fields.map((field) => field.type),
  ];
}

function visitNames(type: DamlType, visit: (name: TypeName) => unknown): void {
  if (type.kind === 'named') {
    visit(type.name);
    for (const argument of type.arguments) visitNames(argument, visit);
  } else if (type.kind === 'genmap') {
    visitNames(type.key, visit);
    visitNames(type.of, visit);
  } else if ('of' in type) {
    visitNames(type.of, visit);
  }
}
