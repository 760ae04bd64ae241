/**
 * Model of a compiled package, as far as readers need it: templates, choices, interfaces and the data types of their
 * payloads. Plain JSON, so that it can be stored. Expressions and keys are omitted.
 */

/** `package-id:Module.Path:Name`; resolved, so that types of other packages are named by their package. */
export type TypeName = string;

/** A type as used in a field. */
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
  /** Implemented interfaces. */
  readonly implements: readonly TypeName[];
  /** Type of the contract key; undefined without one. */
  readonly key: DamlType | undefined;
}

export interface InterfaceModel {
  readonly moduleName: string;
  readonly entityName: string;
  readonly choices: readonly ChoiceModel[];
  /** Type of the view. */
  readonly view: DamlType;
  /** Interfaces that must be implemented as well. */
  readonly requires: readonly TypeName[];
}

export interface PackageModel {
  readonly packageId: string;
  readonly name: string;
  readonly version: string;
  /** e.g. `2.1`. */
  readonly languageVersion: string;
  readonly templates: readonly TemplateModel[];
  readonly interfaces: readonly InterfaceModel[];
  /** Serializable data types by `Module.Path:Name`; a template's payload is the record of its own name. */
  readonly dataTypes: Readonly<Record<string, DataType>>;
  /** Packages whose types it uses, apart from itself; sorted. */
  readonly dependencies: readonly string[];
}

/** Looks up a package by id; undefined if it is unknown. */
export type PackageLookup = (packageId: string) => PackageModel | undefined;
