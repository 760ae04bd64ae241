/** Generates templates and interfaces by name, with the types of their contracts, choices and views. Pure. */
import type {
  ChoiceModel,
  DamlType,
  InterfaceModel,
  PackageModel,
  RelationSubject,
  TemplateModel,
} from 'ledger-indexer/codegen';
import { keyText, literalText } from './identifiers.ts';
import type { KnownTypes } from './known-types.ts';
import type { PayloadTypes } from './payload-types.ts';

/** Name of a template or interface: `Module.Path:Entity`. */
export function templateName({ moduleName, entityName }: { readonly moduleName: string; readonly entityName: string }) {
  return `${moduleName}:${entityName}`;
}

type Entity = TemplateModel | InterfaceModel;

interface VersionedEntity<E extends Entity> {
  /** `package:Module.Path:Entity`, as in column `template_fqn`. */
  readonly fqn: string;
  /** One entry for each version of the package that defines the entity, oldest first. */
  readonly versions: readonly { readonly model: PackageModel; readonly entity: E }[];
}

export class LedgerTypes {
  readonly templates: readonly VersionedEntity<TemplateModel>[];
  readonly interfaces: readonly VersionedEntity<InterfaceModel>[];
  readonly #types: PayloadTypes;

  /** @param names names of the packages whose templates and interfaces are requested */
  constructor(knownTypes: KnownTypes, types: PayloadTypes, names: ReadonlySet<string>) {
    const requestedPackages = knownTypes.packages.filter(({ name }) => names.has(name));
    this.templates = entitiesOf(requestedPackages, ({ templates }) => templates);
    this.interfaces = entitiesOf(requestedPackages, ({ interfaces }) => interfaces);
    this.#types = types;
  }

  /**
   * Reference to the type that has the complete payload, argument, result or view of a typed view; undefined if there
   * is none.
   */
  findTypeReference({ kind, packageName, moduleName, entityName, choice }: RelationSubject): string | undefined {
    const fqn = `${packageName}:${templateName({ moduleName, entityName })}`;
    const template = this.templates.find((candidate) => candidate.fqn === fqn);
    const interfaceEntity = this.interfaces.find((candidate) => candidate.fqn === fqn);
    const [mapName, typeEntity] = template === undefined ? ['Interfaces', interfaceEntity] : ['Templates', template];
    if (typeEntity === undefined || (kind === 'interface' && interfaceEntity === undefined)) return undefined;
    const entity = `${mapName}[${literalText(fqn)}]`;
    if (kind !== 'choice') return entity;
    return choicesOf(typeEntity.versions).has(choice) ? `${entity}['choices'][${literalText(choice)}]` : undefined;
  }

  /** Text of the two maps: templates and interfaces by name. */
  text(): string {
    const templates = this.templates.map(({ fqn, versions }) => {
      const { model, entity } = newest(versions);
      const key = this.#types.either(versions.toReversed().map((version) => version.entity.key));
      const payload: DamlType = { kind: 'named', name: `${model.packageId}:${templateName(entity)}`, arguments: [] };
      return this.#entry(fqn, [`readonly payload: ${this.#types.text(payload)};`, `readonly key: ${key};`], versions);
    });
    const interfaces = this.interfaces.map(({ fqn, versions }) =>
      this.#entry(
        fqn,
        [`readonly view: ${this.#types.either(versions.toReversed().map(({ entity }) => entity.view))};`],
        versions,
      ),
    );
    return [
      '/** Contents of contracts, by `template_fqn`: payload, key (null without one), and argument and result of each choice. */',
      `export interface Templates {\n${templates.join('\n')}\n}`,
      '',
      '/** Views of interfaces, by `interface_fqn`, and argument and result of each choice. */',
      `export interface Interfaces {\n${interfaces.join('\n')}\n}`,
    ].join('\n');
  }

  #entry(fqn: string, lines: readonly string[], versions: VersionedEntity<Entity>['versions']): string {
    const choices = [...choicesOf(versions)].sort(([left], [other]) => (left < other ? -1 : 1));
    const texts = choices.map(([name, models]) =>
      [
        `      readonly ${keyText(name)}: {`,
        `        readonly argument: ${this.#types.either(models.map(({ argument }) => argument))};`,
        `        readonly result: ${this.#types.either(models.map(({ result }) => result))};`,
        `        readonly consuming: ${[...new Set(models.map(({ consuming }) => String(consuming)))].join(' | ')};`,
        '      };',
      ].join('\n'),
    );
    const choiceLines =
      texts.length === 0 ? ['    readonly choices: {};'] : ['    readonly choices: {', ...texts, '    };'];
    const numbers = [...new Set(versions.map(({ model }) => model.version))].join(', ').replaceAll('*/', '* /');
    return [
      `  /** ${versions.length === 1 ? 'Version' : 'Versions'} ${numbers}. */`,
      `  readonly ${literalText(fqn)}: {`,
      ...lines.map((line) => `    ${line}`),
      ...choiceLines,
      '  };',
    ].join('\n');
  }
}

function entitiesOf<E extends Entity>(
  models: readonly PackageModel[],
  entities: (model: PackageModel) => readonly E[],
): readonly VersionedEntity<E>[] {
  const entitiesByName = new Map<string, { readonly model: PackageModel; readonly entity: E }[]>();
  for (const model of models) {
    for (const entity of entities(model)) {
      const fqn = `${model.name}:${templateName(entity)}`;
      entitiesByName.set(fqn, [...(entitiesByName.get(fqn) ?? []), { model, entity }]);
    }
  }
  return [...entitiesByName]
    .sort(([left], [other]) => (left < other ? -1 : 1))
    .map(([fqn, versions]) => ({ fqn, versions }));
}

function newest<E extends Entity>(versions: VersionedEntity<E>['versions']): VersionedEntity<E>['versions'][number] {
  const last = versions.at(-1);
  if (last === undefined) throw new TypeError('a template without a version');
  return last;
}

/** Choices of all versions. Each choice has its definitions from the versions that have it, newest first. */
function choicesOf(versions: VersionedEntity<Entity>['versions']): ReadonlyMap<string, readonly ChoiceModel[]> {
  const choiceModels = new Map<string, ChoiceModel[]>();
  for (const { entity } of versions.toReversed()) {
    for (const choice of entity.choices)
      choiceModels.set(choice.name, [...(choiceModels.get(choice.name) ?? []), choice]);
  }
  return choiceModels;
}
