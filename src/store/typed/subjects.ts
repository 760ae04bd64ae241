/**
 * The parts of packages for which views are created, with the columns of all versions that upgrade each other. Pure.
 */
import type { ChoiceModel, DamlType, PackageLookup, PackageModel, TypeName } from '../../daml/package-model.ts';
import { byNameAndVersion } from '../../daml/package-order.ts';
import { columnsOf, type PayloadColumn } from '../../daml/payload-columns.ts';

export type ViewKind = 'template' | 'choice' | 'interface';

/** A column of a payload, argument or view that at least one version of the package has. */
export interface RequestedColumn extends PayloadColumn {
  /** Package ids of the versions that have the column. */
  readonly packageIds: readonly string[];
}

/** The subject of one view, or of two views for a template. */
export interface ViewSubject {
  readonly kind: ViewKind;
  readonly packageName: string;
  readonly moduleName: string;
  readonly entityName: string;
  /** Name of the choice; empty for templates and interfaces. */
  readonly choice: string;
  /** Whether the subject is a choice of an interface. */
  readonly ofInterface: boolean;
  /** Columns of all versions. The columns of the oldest version come first. */
  readonly columns: readonly RequestedColumn[];
}

/** Identity of a subject, which is the unique key of typed_views. */
export function subjectKey(subject: Omit<ViewSubject, 'columns' | 'ofInterface'>): string {
  const { kind, packageName, moduleName, entityName, choice } = subject;
  return JSON.stringify([kind, packageName, moduleName, entityName, choice]);
}

interface Version {
  readonly packageId: string;
  readonly type: TypeName | undefined;
}

interface SubjectDraft {
  readonly subject: Omit<ViewSubject, 'columns'>;
  readonly versions: Version[];
}

/**
 * The subjects of the named packages: Templates and interfaces come before choices, so that they get the shorter names.
 * The subjects are computed on demand, because a participant may have hundreds of them.
 * @param packages all known packages; types are searched in all of them
 * @param names package names whose templates, choices and interfaces are requested
 */
export function* viewSubjects(packages: readonly PackageModel[], names: ReadonlySet<string>): Generator<ViewSubject> {
  const byId = new Map(packages.map((model) => [model.packageId, model]));
  const lookup: PackageLookup = (packageId) => byId.get(packageId);
  const subjectDrafts = new Map<string, SubjectDraft>();
  for (const model of packages.filter(({ name }) => names.has(name)).sort(byNameAndVersion)) {
    for (const [subject, type] of definitions(model)) {
      const key = subjectKey(subject);
      const subjectDraft = subjectDrafts.get(key) ?? { subject, versions: [] };
      subjectDraft.versions.push({ packageId: model.packageId, type });
      subjectDrafts.set(key, subjectDraft);
    }
  }
  const allDrafts = [...subjectDrafts.values()];
  const orderedDrafts = [
    ...allDrafts.filter(({ subject }) => subject.kind !== 'choice'),
    ...allDrafts.filter(({ subject }) => subject.kind === 'choice'),
  ];
  for (const { subject, versions } of orderedDrafts) yield { ...subject, columns: union(versions, lookup) };
}

type Definition = readonly [subject: Omit<ViewSubject, 'columns'>, type: TypeName | undefined];

function definitions(model: PackageModel): readonly Definition[] {
  const { name: packageName, packageId } = model;
  const choicesOf = (
    owner: { readonly moduleName: string; readonly entityName: string; readonly choices: readonly ChoiceModel[] },
    isOfInterface: boolean,
  ): readonly Definition[] =>
    owner.choices.map(({ name: choice, argument }) => {
      const { moduleName, entityName } = owner;
      return [
        { kind: 'choice', packageName, moduleName, entityName, choice, ofInterface: isOfInterface },
        namedType(argument),
      ];
    });
  return [
    ...model.templates.flatMap((template): readonly Definition[] => {
      const { moduleName, entityName } = template;
      const subject = {
        kind: 'template',
        packageName,
        moduleName,
        entityName,
        choice: '',
        ofInterface: false,
      } as const;
      return [[subject, `${packageId}:${moduleName}:${entityName}`], ...choicesOf(template, false)];
    }),
    ...model.interfaces.flatMap((interfaceModel): readonly Definition[] => {
      const { moduleName, entityName, view } = interfaceModel;
      const subject = {
        kind: 'interface',
        packageName,
        moduleName,
        entityName,
        choice: '',
        ofInterface: false,
      } as const;
      return [[subject, namedType(view)], ...choicesOf(interfaceModel, true)];
    }),
  ];
}

function namedType(type: DamlType): TypeName | undefined {
  return type.kind === 'named' ? type.name : undefined;
}

function union(versions: readonly Version[], lookup: PackageLookup): readonly RequestedColumn[] {
  const columns = new Map<string, RequestedColumn>();
  for (const { packageId, type } of versions) {
    for (const column of type === undefined ? [] : columnsOf(type, lookup)) {
      const key = columnKey(column);
      const knownColumns = columns.get(key);
      columns.set(key, { ...(knownColumns ?? column), packageIds: [...(knownColumns?.packageIds ?? []), packageId] });
    }
  }
  return [...columns.values()];
}

/** Key of a column. Columns with the same key return the same value in the same type. */
export function columnKey({ path, type }: Pick<PayloadColumn, 'path' | 'type'>): string {
  return JSON.stringify([path, type]);
}
