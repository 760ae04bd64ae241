/** Converts Daml names to TypeScript names. The result depends only on the set of names, not on their order. */

/**
 * Words that cannot be names of types or namespaces. Daml types and modules begin with a capital letter, but other
 * compilers may create other names.
 */
const reservedWords = new Set(
  (
    'any as asserts async await bigint boolean break case catch class const continue daml debugger declare default delete do ' +
    'else enum export extends false finally for from function if implements import in infer instanceof interface intrinsic ' +
    'is keyof let module namespace never new null number object of package private protected public readonly return ' +
    'static string super switch symbol this throw true try type typeof undefined unique unknown var void while with yield'
  ).split(' '),
);

/**
 * An identifier for each name. Characters that identifiers cannot contain are replaced by `_`, and reserved words get a
 * `_`. If names become equal, all but the first in character order get a number.
 * @param format applied to each name first, such as a conversion to lower case
 */
export function identifiersOf(
  names: Iterable<string>,
  format: (name: string) => string = (name) => name,
): ReadonlyMap<string, string> {
  const usedNames = new Set<string>();
  const identifiers = new Map<string, string>();
  for (const name of [...new Set(names)].sort()) {
    const identifier = toIdentifier(format(name));
    let freeName = identifier;
    for (let number = 2; usedNames.has(freeName); number += 1) freeName = `${identifier}_${String(number)}`;
    usedNames.add(freeName);
    identifiers.set(name, freeName);
  }
  return identifiers;
}

function toIdentifier(name: string): string {
  const identifier = name.replaceAll(/[^A-Za-z0-9_$]/g, '_');
  if (reservedWords.has(identifier)) return `${identifier}_`;
  return /^[A-Za-z_$]/.test(identifier) ? identifier : `_${identifier}`;
}

/** The name with a capital first letter: `Owner` for `owner`. */
export function capitalize(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

/** A key of an object type, in quotes if necessary. */
export function keyText(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : literalText(name);
}

/** The TypeScript literal type of a text. */
export function literalText(text: string): string {
  const escapedText = text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r');
  return `'${escapedText}'`;
}

/** A comment in front of a declaration, without the end of a comment in its text. */
export function commentText(text: string, indent: string): string {
  return `${indent}/** ${text.replaceAll(/\s+/g, ' ').replaceAll('*/', '*\\/').trim()} */`;
}
