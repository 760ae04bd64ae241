/** Names of Daml as names of TypeScript: the same for the same set of names, whatever the order they come in. */

/** What a type or namespace cannot be called. Daml begins types and modules with a capital; other compilers need not. */
const reserved = new Set(
  (
    'any as asserts async await bigint boolean break case catch class const continue daml debugger declare default delete do ' +
    'else enum export extends false finally for from function if implements import in infer instanceof interface intrinsic ' +
    'is keyof let module namespace never new null number object of package private protected public readonly return ' +
    'static string super switch symbol this throw true try type typeof undefined unique unknown var void while with yield'
  ).split(' '),
);

/**
 * An identifier for each name. What cannot stand in one becomes `_`, and reserved words get one; of names that are alike then,
 * all but the first in the order of their characters get a number.
 * @param form what becomes of a name before that, such as small letters
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

/** `Owner` of `owner`. */
export function capital(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}

/** A key of an object type: as it is, or in quotes. */
export function keyText(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : literalText(name);
}

/** A literal type of this text. */
export function literalText(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `'${escaped}'`;
}
