/**
 * Identifiers of templates and interfaces in the form in which the ledger prints them in responses:
 * `package-id:Module.Path:Entity`.
 */

import { detachText } from './own-text.ts';

export interface TemplateId {
  /** The complete identifier, as printed. */
  readonly text: string;
  readonly packageId: string;
  readonly moduleName: string;
  readonly entityName: string;
}

/** Cache of identifiers: a ledger has few, and prints one with every event. */
const templateIds = new Map<string, TemplateId>();
const maxCachedIds = 10_000;

/** The parts of an identifier; undefined if the text does not have three non-empty parts. */
export function parseTemplateId(text: string): TemplateId | undefined {
  const cachedId = templateIds.get(text);
  if (cachedId !== undefined) return cachedId;
  const first = text.indexOf(':');
  const last = text.lastIndexOf(':');
  if (first <= 0 || last <= first + 1 || last === text.length - 1) return undefined;
  const detachedText = detachText(text);
  const id = {
    text: detachedText,
    packageId: detachedText.slice(0, first),
    moduleName: detachedText.slice(first + 1, last),
    entityName: detachedText.slice(last + 1),
  };
  if (templateIds.size >= maxCachedIds) templateIds.clear();
  templateIds.set(detachedText, id);
  return id;
}
