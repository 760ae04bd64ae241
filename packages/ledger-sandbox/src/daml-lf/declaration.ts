/**
 * The notation in which the sandbox's packages are declared. A module has entities by name. An entity has fields with
 * their types as texts, e.g. `Optional Time`, `[ContractId Holding]`, `TextMap TransferLeg`, `Map Party Text`,
 * `Numeric 4`, `(ContractId Allocation, ExtraArgs)`, `()`. `type-notation.ts` reads the types.
 */

/** Types of fields by field name, in the order of the language. */
export type Fields = Readonly<Record<string, string>>;

/** A choice. Its argument is a record with the name of the choice, in the module of its template or interface. */
export interface ChoiceDeclaration {
  readonly takes: Fields;
  /** Type of the result. */
  readonly gives: string;
  readonly consuming: boolean;
}

export type Choices = Readonly<Record<string, ChoiceDeclaration>>;

export type Definition =
  | { readonly kind: 'record'; readonly fields: Fields; readonly parameters: readonly string[] }
  /** A case has a type, or fields, which form a separate record. */
  | { readonly kind: 'variant'; readonly cases: Readonly<Record<string, string | Fields>> }
  | { readonly kind: 'enum'; readonly cases: readonly string[] }
  | {
      readonly kind: 'template';
      readonly fields: Fields;
      readonly choices: Choices;
      /** Names of interfaces. */
      readonly implements: readonly string[];
    }
  /** `view` is the type of the view. */
  | { readonly kind: 'interface'; readonly view: string; readonly choices: Choices };

/** Definitions by entity name. */
export type ModuleDeclaration = Readonly<Record<string, Definition>>;

export interface PackageDeclaration {
  readonly name: string;
  readonly version: string;
  /** Packages whose types are used. */
  readonly imports: readonly WrittenPackage[];
  readonly modules: Readonly<Record<string, ModuleDeclaration>>;
}

/** @param parameters names of type parameters, which the types of fields may use */
export function record(fields: Fields, ...parameters: readonly string[]): Definition {
  return { kind: 'record', fields, parameters };
}

/** @param cases a type, `()` for none, or the fields of the case */
export function variant(cases: Readonly<Record<string, string | Fields>>): Definition {
  return { kind: 'variant', cases };
}

/** @param cases names */
export function enumeration(...cases: readonly string[]): Definition {
  return { kind: 'enum', cases };
}

/** A template. Every template also has the choice Archive, which is not listed. */
export function template(
  fields: Fields,
  details: { readonly implements?: readonly string[]; readonly choices?: Choices } = {},
): Definition {
  return { kind: 'template', fields, choices: details.choices ?? {}, implements: details.implements ?? [] };
}

/** An interface. Every interface also has the choice Archive, which is not listed. */
export function interfaceDefinition(view: string, choices: Choices = {}): Definition {
  return { kind: 'interface', view, choices };
}

/** A choice that archives its contract. */
export function consuming(parameters: Fields, gives: string): ChoiceDeclaration {
  return { takes: parameters, gives, consuming: true };
}

/** A choice after which its contract is still active. */
export function nonconsuming(parameters: Fields, gives: string): ChoiceDeclaration {
  return { takes: parameters, gives, consuming: false };
}

/** A package as a participant stores it. */
export interface WrittenPackage {
  /** Lower-case hex SHA-256 of the payload. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** The ArchivePayload message. */
  readonly payload: Uint8Array<ArrayBuffer>;
  /** `Module:Entity` */
  readonly templates: readonly string[];
  /** `Module:Entity` */
  readonly interfaces: readonly string[];
  readonly declaration: PackageDeclaration;
}
