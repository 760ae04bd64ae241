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
    const modelsById = new Map(packages.map((model) => [model.packageId, model]));
    this.#packages = (packageId) => modelsById.get(packageId);
  }

  /** One sentence for each error in the value. Empty if the value is valid. */
  faults(value: unknown, type: DamlType, path = '$'): readonly string[] {
    const typeFault = (expected: string): readonly string[] => [`${path} is ${JSON.stringify(value)}, not ${expected}`];
    const text = typeof value === 'string' ? value : undefined;
    switch (type.kind) {
      case 'builtin': {
        if (type.name === 'unit') return isObject(value) && Object.keys(value).length === 0 ? [] : typeFault('{}');
        if (type.name === 'bool') return typeof value === 'boolean' ? [] : typeFault('a bool');
        return text !== undefined && (patterns[type.name] ?? /^/).test(text) ? [] : typeFault(type.name);
      }
      case 'numeric':
        return text !== undefined && new RegExp(String.raw`^-?\d+\.\d{${type.scale ?? 0}}$`).test(text)
          ? []
          : typeFault(`a numeric of ${type.scale ?? '?'} digits`);
      case 'contract_id':
        return text !== undefined && /^00[0-9a-f]{64,}$/.test(text) ? [] : typeFault('a contract id');
      case 'optional':
        return value === null ? [] : this.faults(value, type.of, path);
      case 'list':
        if (!Array.isArray(value)) return typeFault('a list');
        return value.flatMap((element, index) => this.faults(element, type.of, `${path}[${index}]`));
      case 'textmap':
        if (!isObject(value)) return typeFault('a map');
        return Object.entries(value).flatMap(([key, fieldValue]) => this.faults(fieldValue, type.of, `${path}.${key}`));
      case 'genmap':
        if (!Array.isArray(value)) return typeFault('a list of pairs');
        return value.flatMap((pair: readonly unknown[], index) => [
          ...this.faults(pair[0], type.key, `${path}[${index}][0]`),
          ...this.faults(pair[1], type.of, `${path}[${index}][1]`),
        ]);
      case 'named':
        return this.#named(value, type, path);
      case 'variable':
      case 'opaque':
    }
    return typeFault(`of the kind ${type.kind}`);
  }

  #named(value: unknown, type: Extract<DamlType, { kind: 'named' }>, path: string): readonly string[] {
    const [packageId = '', ...entity] = type.name.split(':');
    const dataType: DataType | undefined = this.#packages(packageId)?.dataTypes[entity.join(':')];
    if (dataType === undefined) return [`${path} is of the type ${type.name}, which no package has`];
    if (dataType.kind === 'enum')
      return dataType.cases.includes(String(value)) ? [] : [`${path} is no case of ${type.name}`];
    if (!isObject(value)) return [`${path} is ${JSON.stringify(value)}, not of ${type.name}`];
    const typeArguments = new Map(dataType.parameters.map((name, index) => [name, type.arguments[index]]));
    const typeOf = (field: DamlField): DamlType =>
      field.type.kind === 'variable' ? (typeArguments.get(field.type.name) ?? field.type) : field.type;
    if (dataType.kind === 'record') return this.#record(value, dataType.fields, typeOf, path);
    const selectedCase = dataType.cases.find(({ name }) => name === value['tag']);
    if (selectedCase === undefined) return [`${path}.tag is ${JSON.stringify(value['tag'])}, no case of ${type.name}`];
    return this.faults(value['value'], typeOf(selectedCase), `${path}.${selectedCase.name}`);
  }

  /** Optional fields may be missing, but only at the end. */
  #record(
    value: Values,
    fields: readonly DamlField[],
    typeOf: (field: DamlField) => DamlType,
    path: string,
  ): readonly string[] {
    const names = fields.map(({ name }) => name);
    const faults = Object.keys(value).flatMap((key) => (names.includes(key) ? [] : [`${path}.${key} is not declared`]));
    const last = fields.findLastIndex(({ name, type }) => Object.hasOwn(value, name) || type.kind !== 'optional');
    for (const field of fields.slice(0, last + 1)) {
      if (Object.hasOwn(value, field.name))
        faults.push(...this.faults(value[field.name], typeOf(field), `${path}.${field.name}`));
      else faults.push(`${path}.${field.name} is missing`);
    }
    return faults;
  }
}
