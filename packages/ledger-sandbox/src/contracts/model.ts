/**
 * The model registry, which replaces uploaded Daml packages. A template defines its stakeholders, its interface views
 * and its choices as plain functions. Names are `package-name:Module:Entity`, ids are `package-id:Module:Entity`. The
 * packages for these names are generated, so that clients can read their types.
 */
import type { ContractKey } from './contract-key.ts';
import { failure } from '../wire/failure.ts';
import type { LedgerFailure } from '../wire/failure.ts';
import type { WrittenPackage } from '../daml-lf/declaration.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { OwnPackages } from '../packages/own-packages.ts';
import type { CreatedEvent } from '../wire/wire.ts';

/** The operations that a running choice may use. */
export interface ChoiceContext {
  readonly contract: CreatedEvent;
  readonly argument: JsonObject;
  /** The ledger effective time, an API timestamp. */
  readonly time: string;
  /** Creates a contract and returns its id. */
  readonly create: (template: string, argument: JsonObject) => string;
  /**
   * Exercises a choice of this or another contract as a child, and returns its result.
   * @param declaredBy the interface that declares the choice, if several declare one of that name
   */
  readonly exercise: (
    contractId: string,
    choice: string,
    argument: JsonObject,
    actors: readonly string[],
    declaredBy?: string,
  ) => Json;
  /** The create of an active contract. Throws a refusal if the contract is not active. */
  readonly fetch: (contractId: string) => CreatedEvent;
}

export interface Choice {
  readonly consuming: boolean;
  /** The name (`package:Module:Entity`) of the declaring interface, if there is one. */
  readonly interface?: string;
  controllers(payload: JsonObject, argument: JsonObject): readonly string[];
  /** Informees in addition to stakeholders and controllers. */
  observers?(argument: JsonObject): readonly string[];
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
  /**
   * By name; a list if several interfaces declare choices of one name. If no interface is named, the first one is used.
   */
  readonly choices: Readonly<Record<string, Choice | readonly Choice[]>>;
  /** The trailing Optional fields, in declared order. A None among them is omitted (3.4: printed as null). */
  readonly optionals?: readonly string[];
  /** Converts an argument to the ledger's spelling, e.g. Numerics to ten digits. */
  normalize?(payload: JsonObject): JsonObject;
  /** The contract key of a payload. Its maintainers are among the signatories. */
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

function unknownPackage(name: string): LedgerFailure {
  const cause = `The following package names do not match upgradable packages uploaded on this participant: [${name}].`;
  return failure({ code: 'PACKAGE_NAMES_NOT_FOUND', category: 11, cause });
}

function unknownEntity(kind: 'template' | 'interface', name: string): LedgerFailure {
  const code = `NO_${kind === 'template' ? 'TEMPLATES' : 'INTERFACE'}_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME`;
  const cause = `The following package-name/${kind} qualified-name pairs do not reference any ${kind}-id uploaded on this participant: [(${packageOf(name)},${entityOf(name)})].`;
  return failure({ code, category: 11, cause });
}

export class Model {
  readonly packages = new OwnPackages();
  readonly #templates = new Map<string, Template>();
  readonly #ids = new Map<string, string>();
  readonly #interfaces = new Set<string>();
  readonly #known = new Set<string>();
  readonly #packageNames = new Set<string>();

  /** Registers a template and the interfaces that it implements, as an upload of its package would. */
  register(template: Template): void {
    this.#templates.set(template.name, template);
    this.#known.add(template.name);
    this.#learnOwn(packageOf(template.name));
    for (const implementation of template.interfaces) {
      this.#interfaces.add(implementation.name);
      this.#learnOwn(packageOf(implementation.name));
    }
  }

  /**
   * Vets a generated package on every synchronizer. New contracts of its templates, and definitions of its interfaces,
   * use the newest version of a name. Existing contracts keep the version that they were created with.
   */
  vet(writtenPackage: WrittenPackage): void {
    this.packages.vet(writtenPackage);
    this.#packageNames.add(writtenPackage.name);
    for (const entity of writtenPackage.templates) this.#known.add(`${writtenPackage.name}:${entity}`);
    for (const entity of writtenPackage.interfaces) this.#interfaces.add(`${writtenPackage.name}:${entity}`);
    this.#ids.clear();
  }

  /** The generated package version that new contracts use; undefined if none is vetted. */
  vettedVersion(packageName: string): string | undefined {
    return this.packages.newest(packageName)?.version;
  }

  /** Registers names that a recorded or manually written update contains, so that filters may use them. */
  observe(event: CreatedEvent): void {
    const name = `${event.packageName}:${entityOf(event.templateId)}`;
    if (!this.#known.has(name)) {
      this.#known.add(name);
      this.#packageNames.add(event.packageName);
      this.packages.observe(event.packageName, packageOf(event.templateId));
    }
    for (const view of event.interfaceViews) this.#interfaces.add(`:${entityOf(view.interfaceId)}`);
  }

  /** The template that `#package-name:Module:Entity` or `package-id:Module:Entity` identifies. */
  resolve(identifier: string): Template | undefined {
    const name = this.#nameOf(identifier);
    return name === undefined ? undefined : this.#templates.get(name);
  }

  /** The name of the interface that `#package-name:Module:Entity` or `package-id:Module:Entity` identifies. */
  resolveInterface(identifier: string): string | undefined {
    const name = this.#nameOf(identifier);
    return name !== undefined && this.#interfaces.has(name) ? name : undefined;
  }

  /** The id `package-id:Module:Entity` of a template or an interface. */
  id(name: string): string {
    const packageId = this.#ids.get(name);
    if (packageId !== undefined) return packageId;
    const id = `${this.packages.idOf(packageOf(name))}:${entityOf(name)}`;
    this.#ids.set(name, id);
    return id;
  }

  /** The interfaces that a template implements; none for templates that are not registered. */
  interfacesOf(templateName: string): readonly InterfaceImplementation[] {
    return this.#templates.get(templateName)?.interfaces ?? [];
  }

  /** Registers the names (`Module:Entity`) of an uploaded package, for use in filters. Its templates cannot be run. */
  learn(archive: {
    readonly name: string;
    readonly templates: readonly string[];
    readonly interfaces: readonly string[];
  }): void {
    const { name, templates, interfaces } = archive;
    this.#packageNames.add(name);
    for (const template of templates) this.#known.add(`${name}:${template}`);
    for (const interfaceName of interfaces) this.#interfaces.add(`${name}:${interfaceName}`);
  }

  /** Refuses a filter name (`package:Module:Entity`) that no package of this participant defines. */
  requireKnown(kind: 'template' | 'interface', name: string): void {
    if (kind === 'interface' && this.#interfaces.has(`:${entityOf(name)}`)) return;
    if (!this.#packageNames.has(packageOf(name))) throw unknownPackage(packageOf(name));
    if (!(kind === 'template' ? this.#known : this.#interfaces).has(name)) throw unknownEntity(kind, name);
  }

  #learnOwn(packageName: string): void {
    this.#packageNames.add(packageName);
    this.packages.name(packageName);
  }

  #nameOf(identifier: string): string | undefined {
    if (identifier.startsWith('#')) return identifier.slice(1);
    const packageName = this.packages.nameOf(packageOf(identifier));
    return packageName === undefined ? undefined : `${packageName}:${entityOf(identifier)}`;
  }
}
