/**
 * Assigns small numbers to long names. Numbers are assigned in the order of first appearance in the stream, so they
 * depend only on the history. Entries that are new since the last `takeAdded` are stored with the batch that used them.
 * A dictionary is used for one session. After any error it is loaded again from the database.
 */
import { detachText } from './own-text.ts';
import { PartyCombinations, type StoredCombinations } from './party-combinations.ts';
import type { TemplateId } from './template-id.ts';

export interface TemplateEntry extends TemplateId {
  readonly pk: number;
  readonly packageName: string | null;
}

export interface ChoiceEntry {
  readonly pk: number;
  readonly templatePk: number;
  /** 0 if the choice belongs to the template itself. */
  readonly interfacePk: number;
  readonly choice: string;
}

export interface SynchronizerEntry {
  readonly pk: number;
  readonly synchronizerId: string;
}

/** A template for which a view was stored, and the interface of that view. */
export interface ImplementationEntry {
  readonly templatePk: number;
  readonly interfacePk: number;
}

export interface DictionaryEntries {
  readonly templates: readonly TemplateEntry[];
  readonly choices: readonly ChoiceEntry[];
  readonly synchronizers: readonly SynchronizerEntry[];
  readonly implementations: readonly ImplementationEntry[];
}

/** The stored party sets, by table. */
export interface StoredParties {
  readonly contracts: StoredCombinations;
  readonly events: StoredCombinations;
}

/** Entries that are collected until they are stored with a batch. */
type NewEntries = { -readonly [Name in keyof DictionaryEntries]: DictionaryEntries[Name][number][] };

function emptyEntries(): NewEntries {
  return { templates: [], choices: [], synchronizers: [], implementations: [] };
}

export class Dictionary {
  readonly #templates = new Map<string, TemplateEntry>();
  /** By template and interface, then by name. */
  readonly #choices = new Map<number, Map<string, ChoiceEntry>>();
  #choiceCount = 0;
  readonly #synchronizers = new Map<string, SynchronizerEntry>();
  /** Pairs of template and interface. */
  readonly #implementations = new Set<number>();
  #added = emptyEntries();
  /** Signatories, observers and witnesses of contracts. */
  readonly contractParties: PartyCombinations;
  /** Acting parties, witnesses and interfaces of other events. */
  readonly eventParties: PartyCombinations;
  readonly #names = new Map<number, string>();

  constructor(storedEntries: DictionaryEntries, parties?: StoredParties) {
    this.contractParties = new PartyCombinations(parties?.contracts);
    this.eventParties = new PartyCombinations(parties?.events);
    for (const entry of storedEntries.templates) this.#remember(entry);
    for (const entry of storedEntries.choices) this.#rememberChoice(entry);
    for (const entry of storedEntries.synchronizers) this.#synchronizers.set(entry.synchronizerId, entry);
    for (const { templatePk, interfacePk } of storedEntries.implementations) {
      this.#implementations.add(pairKey(templatePk, interfacePk));
    }
  }

  synchronizer(synchronizerId: string): number {
    const existingPk = this.#synchronizers.get(synchronizerId);
    if (existingPk !== undefined) return existingPk.pk;
    const entry = { pk: this.#synchronizers.size + 1, synchronizerId: detachText(synchronizerId) };
    this.#synchronizers.set(entry.synchronizerId, entry);
    this.#added.synchronizers.push(entry);
    return entry.pk;
  }

  /** The number of a template or interface. A package name that was unknown before is added to the entry. */
  template(id: TemplateId, packageName: string | null): number {
    const existingPk = this.#templates.get(id.text);
    if (existingPk !== undefined && (packageName === null || existingPk.packageName !== null)) return existingPk.pk;
    const entry = {
      ...id,
      pk: existingPk?.pk ?? this.#templates.size + 1,
      packageName: packageName && detachText(packageName),
    };
    this.#remember(entry);
    this.#added.templates.push(entry);
    return entry.pk;
  }

  choice(templatePk: number, interfacePk: number, choice: string): number {
    const existingPk = this.#choices.get(pairKey(templatePk, interfacePk))?.get(choice);
    if (existingPk !== undefined) return existingPk.pk;
    const entry = { pk: this.#choiceCount + 1, templatePk, interfacePk, choice: detachText(choice) };
    this.#rememberChoice(entry);
    this.#added.choices.push(entry);
    return entry.pk;
  }

  /** Records that a template has views of an interface, so that readers find live views through the live contracts. */
  implementation(templatePk: number, interfacePk: number): void {
    const pair = pairKey(templatePk, interfacePk);
    if (this.#implementations.has(pair)) return;
    this.#implementations.add(pair);
    this.#added.implementations.push({ templatePk, interfacePk });
  }

  /** `package-name:Module:Entity` for metrics and logs, with the package id if the name is unknown. */
  templateName(pk: number): string {
    return this.#names.get(pk) ?? String(pk);
  }

  /** Entries that are new since the last call. */
  takeAdded(): DictionaryEntries {
    const addedEntries = this.#added;
    this.#added = emptyEntries();
    return addedEntries;
  }

  #rememberChoice(entry: ChoiceEntry): void {
    const pair = pairKey(entry.templatePk, entry.interfacePk);
    let choicesByName = this.#choices.get(pair);
    if (choicesByName === undefined) this.#choices.set(pair, (choicesByName = new Map()));
    choicesByName.set(entry.choice, entry);
    this.#choiceCount += 1;
  }

  #remember(entry: TemplateEntry): void {
    this.#templates.set(entry.text, entry);
    this.#names.set(entry.pk, `${entry.packageName ?? entry.packageId}:${entry.moduleName}:${entry.entityName}`);
  }
}

/** Combines two small numbers into one, because a text as key would be created again for every event. */
function pairKey(templatePk: number, interfacePk: number): number {
  return templatePk * 2 ** 24 + interfacePk;
}
