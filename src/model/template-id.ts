/**
 * Identifiers of templates and interfaces in the form in which the ledger prints them in responses:
 * `package-id:Module.Path:Entity`.
 */

import { ownText } from './own-text.ts';

export interface TemplateId {
  /** The complete identifier, as printed. */
  readonly text: string;
  readonly packageId: string;
  readonly moduleName: string;
  readonly entityName: string;
}

/** Cache of identifiers: a ledger has few, and prints one with every event. */
const known = new Map<string, TemplateId>();
const knownLimit = 10_000;

/** The parts of an identifier; undefined if the text does not have three non-empty parts. */
export function parseTemplateId(text: string): TemplateId | undefined {
  const found = known.get(text);
  if (found !== undefined) return found;
  const first = text.indexOf(':');
  const last = text.lastIndexOf(':');
  if (first <= 0 || last <= first + 1 || last === text.length - 1) return undefined;
  const own = ownText(text);
  const id = {
    text: own,
    packageId: own.slice(0, first),
    moduleName: own.slice(first + 1, last),
    entityName: own.slice(last + 1),
  };
  if (known.size >= knownLimit) known.clear();
  known.set(own, id);
  return id;
}
