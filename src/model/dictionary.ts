/**
 * Small numbers for long names. Numbers are given in order of first appearance in the stream, so they are a function of
 * the history alone; what is new since the last `takeAdded` travels into the database in the batch that used it.
 * A dictionary lives as long as one session: after any error it is loaded again from the database.
 */
import type { TemplateId } from './template-id.ts';

export interface TemplateEntry extends TemplateId {
  readonly pk: number;
  readonly packageName: string | null;
}

export interface ChoiceEntry {
  readonly pk: number;
  readonly templatePk: number;
  /** 0 when the choice is the template's own. */
  readonly interfacePk: number;
  readonly choice: string;
}

export interface SynchronizerEntry {
  readonly pk: number;
  readonly synchronizerId: string;
}

export interface DictionaryEntries {
  readonly templates: readonly TemplateEntry[];
  readonly choices: readonly ChoiceEntry[];
  readonly synchronizers: readonly SynchronizerEntry[];
}

export class Dictionary {
  readonly #templates = new Map<string, TemplateEntry>();
  readonly #choices = new Map<string, ChoiceEntry>();
  readonly #synchronizers = new Map<string, SynchronizerEntry>();
  #added: { templates: TemplateEntry[]; choices: ChoiceEntry[]; synchronizers: SynchronizerEntry[] };
  readonly #names = new Map<number, string>();

  constructor(stored: DictionaryEntries) {
    for (const entry of stored.templates) this.#remember(entry);
    for (const entry of stored.choices) this.#choices.set(choiceKey(entry), entry);
    for (const entry of stored.synchronizers) this.#synchronizers.set(entry.synchronizerId, entry);
    this.#added = { templates: [], choices: [], synchronizers: [] };
  }

  synchronizer(synchronizerId: string): number {
    const known = this.#synchronizers.get(synchronizerId);
    if (known !== undefined) return known.pk;
    const entry = { pk: this.#synchronizers.size + 1, synchronizerId };
    this.#synchronizers.set(synchronizerId, entry);
    this.#added.synchronizers.push(entry);
    return entry.pk;
  }

  /** A template or interface; a package name learned later is added to the entry. */
  template(id: TemplateId, packageName: string | null): number {
    const key = `${id.packageId}:${id.moduleName}:${id.entityName}`;
    const known = this.#templates.get(key);
    if (known !== undefined && (packageName === null || known.packageName !== null)) return known.pk;
    const entry = { ...id, pk: known?.pk ?? this.#templates.size + 1, packageName };
    this.#remember(entry);
    this.#added.templates.push(entry);
    return entry.pk;
  }

  choice(templatePk: number, interfacePk: number, choice: string): number {
    const key = choiceKey({ templatePk, interfacePk, choice });
    const known = this.#choices.get(key);
    if (known !== undefined) return known.pk;
    const entry = { pk: this.#choices.size + 1, templatePk, interfacePk, choice };
    this.#choices.set(key, entry);
    this.#added.choices.push(entry);
    return entry.pk;
  }

  /** `package-name:Module:Entity` (package id where the name is unknown), for metrics and logs. */
  templateName(pk: number): string {
    return this.#names.get(pk) ?? String(pk);
  }

  /** What is new since the last call. */
  takeAdded(): DictionaryEntries {
    const added = this.#added;
    this.#added = { templates: [], choices: [], synchronizers: [] };
    return added;
  }

  #remember(entry: TemplateEntry): void {
    this.#templates.set(`${entry.packageId}:${entry.moduleName}:${entry.entityName}`, entry);
    this.#names.set(entry.pk, `${entry.packageName ?? entry.packageId}:${entry.moduleName}:${entry.entityName}`);
  }
}

function choiceKey(entry: { templatePk: number; interfacePk: number; choice: string }): string {
  return `${String(entry.templatePk)}|${String(entry.interfacePk)}|${entry.choice}`;
}
