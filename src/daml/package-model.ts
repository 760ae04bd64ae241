/**
 * Model of a compiled package with everything that readers need: templates, choices, interfaces and the data types of
 * their payloads. It is plain JSON, so that it can be stored. Expressions and keys are omitted.
 */

/** `package-id:Module.Path:Name`, resolved: the id is that of the package that defines the type. */
export type TypeName = string;

/** A type as it is used in a field. */
export type DamlType =
  | { readonly kind: 'builtin'; readonly name: BuiltinName }
  /** `scale` is the number of digits after the decimal point; missing if it is a parameter of the data type. */
  | { readonly kind: 'numeric'; readonly scale?: number }
  | { readonly kind: 'optional' | 'list' | 'textmap'; readonly of: DamlType }
  | { readonly kind: 'genmap'; readonly key: DamlType; readonly of: DamlType }
  | { readonly kind: 'contract_id'; readonly of: DamlType }
  /** A record, variant or enum, with its type arguments. */
  | { readonly kind: 'named'; readonly name: TypeName; readonly arguments: readonly DamlType[] }
  /** A parameter of the surrounding data type. */
  | { readonly kind: 'variable'; readonly name: string }
  /** A type that payloads cannot have, e.g. a function. */
  | { readonly kind: 'opaque' };

export type BuiltinName = 'unit' | 'bool' | 'int64' | 'text' | 'party' | 'date' | 'timestamp' | 'any';

export interface DamlField {
  readonly name: string;
  readonly type: DamlType;
}

export type DataType =
  | { readonly kind: 'record'; readonly parameters: readonly string[]; readonly fields: readonly DamlField[] }
  | { readonly kind: 'variant'; readonly parameters: readonly string[]; readonly cases: readonly DamlField[] }
  | { readonly kind: 'enum'; readonly cases: readonly string[] };

export interface ChoiceModel {
  readonly name: string;
  readonly consuming: boolean;
  readonly argument: DamlType;
  readonly result: DamlType;
}

export interface TemplateModel {
  readonly moduleName: string;
  readonly entityName: string;
  readonly choices: readonly ChoiceModel[];
  /** Names of the implemented interfaces. */
  readonly implements: readonly TypeName[];
  /** Type of the contract key; undefined if the template has no key. */
  readonly key: DamlType | undefined;
}

export interface InterfaceModel {
  readonly moduleName: string;
  readonly entityName: string;
  readonly choices: readonly ChoiceModel[];
  /** Type of the interface's view. */
  readonly view: DamlType;
  /** Interfaces that a template must implement as well. */
  readonly requires: readonly TypeName[];
}

export interface PackageModel {
  readonly packageId: string;
  readonly name: string;
  readonly version: string;
  /** Language version of the package, e.g. `2.1`. */
  readonly languageVersion: string;
  readonly templates: readonly TemplateModel[];
  readonly interfaces: readonly InterfaceModel[];
  /**
   * Serializable data types by `Module.Path:Name`. The payload of a template is the record with the template's name.
   */
  readonly dataTypes: Readonly<Record<string, DataType>>;
  /** Ids of other packages whose types the package uses, sorted. */
  readonly dependencies: readonly string[];
}

/** Looks up a package by id; undefined if it is unknown. */
export type PackageLookup = (packageId: string) => PackageModel | undefined;
