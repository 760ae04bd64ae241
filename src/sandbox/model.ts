/**
 * The model registry: what stands in for uploaded Daml packages. A template knows its stakeholders, its interface views
 * and its choices as plain functions; names are `package-name:Module:Entity`, ids are `package-id:Module:Entity`.
 */
import type { ContractKey } from './contract-key.ts';
import { failure } from './failure.ts';
import type { LedgerFailure } from './failure.ts';
import type { Json, JsonObject } from './json.ts';
import { fingerprint } from './random.ts';
import type { CreatedEvent } from './wire.ts';

/** What a choice may do while it runs. */
export interface ChoiceContext {
  readonly contract: CreatedEvent;
  readonly argument: JsonObject;
  /** Creates a contract and gives back its id. */
  readonly create: (template: string, argument: JsonObject) => string;
  /** Exercises a choice of another contract as a child and gives back its result. */
  exercise(contractId: string, choice: string, argument: JsonObject, actors: readonly string[]): Json;
  /** An active contract, or a refusal. */
  fetch(contractId: string): CreatedEvent;
}

export interface Choice {
  readonly consuming: boolean;
  /** The name (`package:Module:Entity`) of the interface that declares it, if one does. */
  readonly interface?: string;
  controllers(payload: JsonObject, argument: JsonObject): readonly string[];
  run(context: ChoiceContext): Json;
}

export interface InterfaceImplementation {
  /** `package-name:Module:Entity` */
  readonly name: string;
  view(payload: JsonObject): JsonObject;
}

export interface Template {
  /** `package-name:Module:Entity` */
  readonly name: string;
  signatories(payload: JsonObject): readonly string[];
  observers(payload: JsonObject): readonly string[];
  readonly interfaces: readonly InterfaceImplementation[];
  readonly choices: Readonly<Record<string, Choice>>;
  /** The trailing fields that are Optional, in declared order: a None among them is not printed (3.4: as null). */
  readonly optionals?: readonly string[];
  /** Brings an argument into the ledger's spelling, e.g. Numerics to ten digits. */
  normalise?(payload: JsonObject): JsonObject;
  /** The contract key of a payload; maintainers are among the signatories. */
  key?(payload: JsonObject): ContractKey;
}

/** The package of `package:Module:Entity`. */
export function packageOf(name: string): string {
  return name.slice(0, name.indexOf(':'));
}

/** `Module:Entity` of a name or an id. */
export function entityOf(nameOrId: string): string {
  return nameOrId.slice(nameOrId.indexOf(':') + 1);
}

/** The stable package id the sandbox gives to a package name: 64 hex digits. */
export function packageId(packageName: string): string {
  return fingerprint(`package ${packageName}`);
}

/** A name as the id that responses carry. */
export function idOf(name: string): string {
  return `${packageId(packageOf(name))}:${entityOf(name)}`;
}

function unknownPackage(name: string): LedgerFailure {
  const cause = `The following package names do not match upgradable packages uploaded on this participant: [${name}].`;
  return failure({ code: 'PACKAGE_NAMES_NOT_FOUND', category: 11, cause, resources: [['PACKAGE_NAME', name]] });
}

function unknownEntity(kind: 'template' | 'interface', name: string): LedgerFailure {
  const code = `NO_${kind === 'template' ? 'TEMPLATES' : 'INTERFACE'}_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME`;
  const cause = `The following package-name/${kind} qualified-name pairs do not reference any ${kind} uploaded on this participant: [(${packageOf(name)},${entityOf(name)})].`;
  return failure({ code, category: 11, cause });
}

export class Model {
  readonly #templates = new Map<string, Template>();
  readonly #templateIds = new Map<string, string>();
  readonly #ids = new Map<string, string>();
  readonly #interfaces = new Set<string>();
  readonly #known = new Set<string>();
  readonly #packages = new Map<string, string>();

  /** Makes a template and the interfaces it implements known, as an upload of its package would. */
  register(template: Template): void {
    const id = idOf(template.name);
    this.#templates.set(template.name, template);
    this.#templateIds.set(id, template.name);
    this.#ids.set(template.name, id);
    this.#learn(template.name, packageId(packageOf(template.name)));
    for (const implemented of template.interfaces) {
      this.#interfaces.add(implemented.name);
      this.#ids.set(implemented.name, idOf(implemented.name));
      this.#packages.set(packageOf(implemented.name), packageId(packageOf(implemented.name)));
    }
  }

  /** Remembers names that arrive with a recorded or hand-made update, so that filters may name them. */
  observe(event: CreatedEvent): void {
    const name = `${event.packageName}:${entityOf(event.templateId)}`;
    if (!this.#known.has(name)) this.#learn(name, event.templateId.slice(0, event.templateId.indexOf(':')));
    for (const view of event.interfaceViews) this.#interfaces.add(`:${entityOf(view.interfaceId)}`);
  }

  /** The template behind `#package-name:Module:Entity` or `package-id:Module:Entity`. */
  resolve(identifier: string): Template | undefined {
    const name = identifier.startsWith('#') ? identifier.slice(1) : this.#templateIds.get(identifier);
    return name === undefined ? undefined : this.#templates.get(name);
  }

  /** The name of the interface behind `#package-name:Module:Entity` or `package-id:Module:Entity`. */
  resolveInterface(identifier: string): string | undefined {
    if (identifier.startsWith('#')) return this.#interfaces.has(identifier.slice(1)) ? identifier.slice(1) : undefined;
    return [...this.#interfaces].find((name) => this.id(name) === identifier);
  }

  /** The id of a registered template or interface name. */
  id(name: string): string {
    return this.#ids.get(name) ?? idOf(name);
  }

  /** The interfaces a template name implements; none for templates that are not registered. */
  interfacesOf(templateName: string): readonly InterfaceImplementation[] {
    return this.#templates.get(templateName)?.interfaces ?? [];
  }

  packageIds(): string[] {
    return [...new Set(this.#packages.values())];
  }

  /** The packages by name: those of registered templates, of observed events and of uploads. */
  packages(): ReadonlyMap<string, string> {
    return this.#packages;
  }

  /** Makes the names of an uploaded package (`Module:Entity`) known to filters. Its templates cannot be run. */
  learn(uploaded: {
    readonly id: string;
    readonly name: string;
    readonly templates: readonly string[];
    readonly interfaces: readonly string[];
  }): void {
    const { id, name, templates, interfaces } = uploaded;
    if (!this.#packages.has(name)) this.#packages.set(name, id);
    for (const template of templates) this.#known.add(`${name}:${template}`);
    for (const declared of interfaces) this.#interfaces.add(`${name}:${declared}`);
  }

  /** Refuses a filter name (`package:Module:Entity`) that no package of this participant defines. */
  requireKnown(kind: 'template' | 'interface', name: string): void {
    if (kind === 'interface' && this.#interfaces.has(`:${entityOf(name)}`)) return;
    if (!this.#packages.has(packageOf(name))) throw unknownPackage(packageOf(name));
    if (!(kind === 'template' ? this.#known : this.#interfaces).has(name)) throw unknownEntity(kind, name);
  }

  #learn(name: string, id: string): void {
    this.#known.add(name);
    this.#packages.set(packageOf(name), id);
  }
}
