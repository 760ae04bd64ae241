/**
 * Checks that a JSON value is valid for its Daml type in the form in which the ledger prints it. The value must have
 * the fields of the type and no others.
 */
import type { DamlField, DamlType, DataType, PackageLookup, PackageModel } from '../../../../src/daml/package-model.ts';

const patterns: Readonly<Record<string, RegExp>> = {
  int64: /^-?\d{1,19}$/,
  date: /^\d{4}-\d\d-\d\d$/,
  timestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/,
  party: /^[\w:.-]+::1220[0-9a-f]{64}$|^[\w-]+$/,
};

type Values = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reports errors in values, with their position and the expected type. */
export class PayloadValidator {
  readonly #packages: PackageLookup;

  constructor(packages: readonly PackageModel[]) {
    const byId = new Map(packages.map((model) => [model.packageId, model]));
    this.#packages = (packageId) => byId.get(packageId);
  }

  /** One sentence for each error in the value. Empty if the value is valid. */
  faults(value: unknown, type: DamlType, at = '$'): readonly string[] {
    const wrong = (expected: string): readonly string[] => [`${at} is ${JSON.stringify(value)}, not ${expected}`];
    const text = typeof value === 'string' ? value : undefined;
    switch (type.kind) {
      case 'builtin': {
        if (type.name === 'unit') return isObject(value) && Object.keys(value).length === 0 ? [] : wrong('{}');
        if (type.name === 'bool') return typeof value === 'boolean' ? [] : wrong('a bool');
        return text !== undefined && (patterns[type.name] ?? /^/).test(text) ? [] : wrong(type.name);
      }
      case 'numeric':
        return text !== undefined && new RegExp(String.raw`^-?\d+\.\d{${type.scale ?? 0}}$`).test(text)
          ? []
          : wrong(`a numeric of ${type.scale ?? '?'} digits`);
      case 'contract_id':
        return text !== undefined && /^00[0-9a-f]{64,}$/.test(text) ? [] : wrong('a contract id');
      case 'optional':
        return value === null ? [] : this.faults(value, type.of, at);
      case 'list':
        if (!Array.isArray(value)) return wrong('a list');
        return value.flatMap((each, index) => this.faults(each, type.of, `${at}[${index}]`));
      case 'textmap':
        if (!isObject(value)) return wrong('a map');
        return Object.entries(value).flatMap(([key, each]) => this.faults(each, type.of, `${at}.${key}`));
      case 'genmap':
        if (!Array.isArray(value)) return wrong('a list of pairs');
        return value.flatMap((pair: readonly unknown[], index) => [
          ...this.faults(pair[0], type.key, `${at}[${index}][0]`),
          ...this.faults(pair[1], type.of, `${at}[${index}][1]`),
        ]);
      case 'named':
        return this.#named(value, type, at);
      case 'variable':
      case 'opaque':
    }
    return wrong(`of the kind ${type.kind}`);
  }

  #named(value: unknown, type: Extract<DamlType, { kind: 'named' }>, at: string): readonly string[] {
    const [packageId = '', ...entity] = type.name.split(':');
    const found: DataType | undefined = this.#packages(packageId)?.dataTypes[entity.join(':')];
    if (found === undefined) return [`${at} is of the type ${type.name}, which no package has`];
    if (found.kind === 'enum') return found.cases.includes(String(value)) ? [] : [`${at} is no case of ${type.name}`];
    if (!isObject(value)) return [`${at} is ${JSON.stringify(value)}, not of ${type.name}`];
    const bound = new Map(found.parameters.map((name, index) => [name, type.arguments[index]]));
    const typeOf = (field: DamlField): DamlType =>
      field.type.kind === 'variable' ? (bound.get(field.type.name) ?? field.type) : field.type;
    if (found.kind === 'record') return this.#record(value, found.fields, typeOf, at);
    const chosen = found.cases.find(({ name }) => name === value['tag']);
    if (chosen === undefined) return [`${at}.tag is ${JSON.stringify(value['tag'])}, no case of ${type.name}`];
    return this.faults(value['value'], typeOf(chosen), `${at}.${chosen.name}`);
  }

  /** Optional fields may be missing, but only at the end. */
  #record(
    value: Values,
    fields: readonly DamlField[],
    typeOf: (field: DamlField) => DamlType,
    at: string,
  ): readonly string[] {
    const names = fields.map(({ name }) => name);
    const faults = Object.keys(value).flatMap((key) => (names.includes(key) ? [] : [`${at}.${key} is not declared`]));
    const last = fields.findLastIndex(({ name, type }) => Object.hasOwn(value, name) || type.kind !== 'optional');
    for (const field of fields.slice(0, last + 1)) {
      if (Object.hasOwn(value, field.name))
        faults.push(...this.faults(value[field.name], typeOf(field), `${at}.${field.name}`));
      else faults.push(`${at}.${field.name} is missing`);
    }
    return faults;
  }
}
