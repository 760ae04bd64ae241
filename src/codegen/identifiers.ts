/** Converts Daml names to TypeScript names. The result depends only on the set of names, not on their order. */

/**
 * Words that cannot be names of types or namespaces. Daml types and modules begin with a capital letter, but other
 * compilers may create other names.
 */
const reserved = new Set(
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
 * @param form applied to each name first, such as a conversion to lower case
 */
export function identifiersOf(
  names: Iterable<string>,
  form: (name: string) => string = (name) => name,
): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  const found = new Map<string, string>();
  for (const name of [...new Set(names)].sort()) {
    const plain = plainIdentifier(form(name));
    let free = plain;
    for (let number = 2; taken.has(free); number += 1) free = `${plain}_${String(number)}`;
    taken.add(free);
    found.set(name, free);
  }
  return found;
}

function plainIdentifier(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_$]/g, '_');
  if (reserved.has(plain)) return `${plain}_`;
  return /^[A-Za-z_$]/.test(plain) ? plain : `_${plain}`;
}

/** The name with a capital first letter: `Owner` for `owner`. */
export function capital(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

/** A key of an object type, in quotes if necessary. */
export function keyText(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : literalText(name);
}

/** The TypeScript literal type of a text. */
export function literalText(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `'${escaped}'`;
}
