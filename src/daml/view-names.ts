/**
 * Names of the generated views, which should be easy to type: `<package>__<template>`, or
 * `<package>__<template>__<choice>` for a choice, in snake case. A name depends only on the object it names, unless two
 * names would be equal.
 */
import { hashedName, identifierLimit, splitCamelCase } from './identifiers.ts';

/** Suffix of the view with all contracts of a template. */
export const historySuffix = '__history';

export interface ViewedEntity {
  readonly packageName: string;
  readonly moduleName: string;
  /** Name of the template or interface. */
  readonly entityName: string;
  /** Name of the choice; empty for a template or interface. */
  readonly choice: string;
}

/**
 * The last two words of the package, then the template, then the choice without a leading template name. If that name
 * is in use, the next candidates are: with the unchanged choice, with the complete package name, with the module as
 * well, and finally with a hash. Names have at most 63 bytes, or 54 for a template, which leaves space for `__history`.
 * Longer names lose words of the package from the left, then words of the module.
 * @param usedNames names of views of other objects; those with `__history` need not be listed
 */
export function viewName(entity: ViewedEntity, usedNames: ReadonlySet<string>): string {
  const limit = entity.choice === '' ? identifierLimit - historySuffix.length : identifierLimit;
  const candidates = candidatesOf(entity, limit);
  const freeName = candidates.find((name) => isFree(name, usedNames));
  if (freeName !== undefined) return freeName;
  const { packageName, moduleName, entityName, choice } = entity;
  const identity = [packageName, moduleName, entityName, choice].join(':');
  for (let number = 1; ; number++) {
    const name = hashedName(candidates.at(-1) ?? '', `${identity}:${String(number)}`, limit);
    if (isFree(name, usedNames)) return name;
  }
}

/** Candidates for the name, in the order in which they are tried. */
function candidatesOf({ packageName, moduleName, entityName, choice }: ViewedEntity, limit: number): readonly string[] {
  const [packagePrefix, modulePrefix] = [snakeCase(packageName), snakeCase(moduleName)];
  const entity = snakeCase(entityName);
  const choiceName = snakeCase(choice);
  const endings =
    choice === ''
      ? [[entity]]
      : [choiceName.startsWith(`${entity}_`) ? choiceName.slice(entity.length + 1) : choiceName, choiceName].map(
          (end) => [entity, end],
        );
  const starts = [[lastTwoWords(packagePrefix)], [packagePrefix], [packagePrefix, modulePrefix]];
  return starts.flatMap((start) => endings.map((end) => fitName(start, end, limit)));
}

/** Replaces each run of characters other than letters and digits by one `_`. */
function snakeCase(name: string): string {
  const snakeName = splitCamelCase(name)
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  return snakeName === '' ? 'x' : snakeName;
}

/** A number or version belongs to the preceding word. */
function lastTwoWords(name: string): string {
  return name
    .split(/_(?!v?\d)/)
    .slice(-2)
    .join('_');
}

/** @param start the words of the package and of the module */
function fitName(start: readonly string[], end: readonly string[], limit: number): string {
  let parts = start;
  while (joinName(parts, end).length > limit) {
    const splitIndex = parts.findIndex((segment) => segment.includes('_'));
    if (splitIndex < 0) break;
    parts = parts.map((segment, index) => (index === splitIndex ? segment.slice(segment.indexOf('_') + 1) : segment));
  }
  return joinName(parts, end).slice(0, limit).replace(/_+$/, '');
}

/** Joins the parts of a name. A name that begins with a digit would need quotes. */
function joinName(start: readonly string[], end: readonly string[]): string {
  const name = [...start, ...end].join('__');
  return /^\d/.test(name) ? `_${name}` : name;
}

/**
 * Whether the name is free. A choice named History must not get the name of a template's second view, nor vice versa.
 */
function isFree(name: string, usedNames: ReadonlySet<string>): boolean {
  if (usedNames.has(name) || usedNames.has(name + historySuffix)) return false;
  return !name.endsWith(historySuffix) || !usedNames.has(name.slice(0, -historySuffix.length));
}
