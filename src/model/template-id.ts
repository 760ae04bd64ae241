/** Identifiers of templates and interfaces as the ledger prints them in responses: `package-id:Module.Path:Entity`. */

export interface TemplateId {
  readonly packageId: string;
  readonly moduleName: string;
  readonly entityName: string;
}

/** The parts of an identifier, or undefined when the text does not have three non-empty parts. */
export function parseTemplateId(text: string): TemplateId | undefined {
  const first = text.indexOf(':');
  const last = text.lastIndexOf(':');
  if (first <= 0 || last <= first + 1 || last === text.length - 1) return undefined;
  return {
    packageId: text.slice(0, first),
    moduleName: text.slice(first + 1, last),
    entityName: text.slice(last + 1),
  };
}
