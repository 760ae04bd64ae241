/**
 * The module that `packages/codegen` imports as `ledger-indexer/codegen`: types of the packages and views that it
 * generates files from. Its exports are in types/ledger-indexer-codegen.d.ts. It is not an export of the npm package.
 */
import type { DamlType, DataType, PackageLookup, PackageModel, TypeName } from '../daml/package-model.ts';

export type {
  BuiltinName,
  ChoiceModel,
  DamlField,
  DamlType,
  DataType,
  InterfaceModel,
  PackageLookup,
  PackageModel,
  TemplateModel,
  TypeName,
} from '../daml/package-model.ts';
export type { DerivedShape } from '../store/graphql/derived-views.ts';
export type { ReadSide, ReadView } from '../store/graphql/read-side.ts';
export type { RelationColumn, Relations, RelationSubject, StoredRelation } from '../store/typed/relations.ts';
export type { ViewKind } from '../store/typed/subjects.ts';

type Bindings = ReadonlyMap<string, DamlType>;

/** Functions of the indexer on types of packages. They are passed, because the package imports only types. */
export interface TypeFunctions {
  readonly byNameAndVersion: (left: PackageModel, right: PackageModel) => number;
  readonly bindParameters: (parameters: readonly string[], args: readonly DamlType[]) => Bindings;
  readonly fieldType: (type: DamlType, bindings: Bindings) => DamlType;
  readonly findDataType: (name: TypeName, packages: PackageLookup) => DataType | undefined;
  readonly qualifiedName: (name: TypeName) => string;
  readonly substitute: (type: DamlType, bindings: Bindings) => DamlType;
}
