/**
 * Validators from the descriptions of a participant. A response of the sandbox passes if the described type accepts it
 * and the response has every key of the type. `scripts/wire/reduce-descriptions.mjs` generates the table from the
 * descriptions of 3.5.10, which contain every operation and type of 3.5.6 unchanged.
 */
import { Ajv, type ValidateFunction } from 'ajv';
import { fixture } from '../support/wire/fixtures.ts';

/** A name, a list, or an object, as described at the beginning of the script. */
type Type = string | readonly Type[] | { readonly [key: string]: Type };

interface Description {
  readonly operations: Readonly<Record<string, { readonly request?: string; readonly response?: string }>>;
  readonly types: Readonly<Record<string, Type>>;
}

type Schema = Readonly<Record<string, unknown>>;

export interface WireSchemas {
  /** All problems of a body, as sentences; empty if the schema accepts it. The schema `Name[]` is a list of `Name`. */
  problems(schema: string, body: unknown): readonly string[];
  /** The methods in capitals with the path templates, such as `GET /v2/version`. WebSockets are `WS /v2/updates`. */
  readonly operations: ReadonlySet<string>;
  /** Name of the schema of a response, or of a data frame, for `problems`; undefined if it is not JSON. */
  responseOf(operation: string): string | undefined;
}

const basic = new Set(['string', 'integer', 'number', 'boolean', 'object']);

function schemaOf(type: Type): Schema {
  if (typeof type === 'string') {
    if (type === 'any') return {};
    return basic.has(type) ? { type } : { $ref: `wire#/$defs/${type}` };
  }
  if (isList(type)) {
    const [items = 'any', ...extraTypes] = type;
    const length = extraTypes.length === 0 ? {} : { minItems: type.length, maxItems: type.length };
    return { type: 'array', items: schemaOf(items), ...length };
  }
  if ('|' in type) return { oneOf: (type['|'] as readonly Type[]).map(schemaOf) };
  if ('=' in type) return { type: 'string', enum: type['='] };
  if ('*' in type) return { type: 'object', additionalProperties: schemaOf(type['*'] ?? 'any') };
  return closedSchema(type);
}

function isList(type: Type): type is readonly Type[] {
  return Array.isArray(type);
}

/** A schema for objects with exactly these keys. */
function closedSchema(fields: Readonly<Record<string, Type>>): Schema {
  const fieldSchemas = Object.entries(fields).map(([key, type]) => [key.replace(/\?$/u, ''), schemaOf(type)]);
  return {
    type: 'object',
    required: Object.keys(fields).filter((key) => !key.endsWith('?')),
    properties: Object.fromEntries(fieldSchemas) as Schema,
    additionalProperties: false,
  };
}

/** `valueDecoded` is described as text, but participants send an object. */
function applyDeviations({ types }: Description): Description['types'] {
  return { ...types, ProtoAny: { ...(types['ProtoAny'] as Record<string, Type>), 'valueDecoded?': 'any' } };
}

/** Participants print null for absent fields, which the description does not mention. Nulls in Daml values are kept. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const memberSchemas = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(memberSchemas.map(([key, member]) => [key, withoutNulls(member)]));
}

export function readWireSchemas(): WireSchemas {
  const description = JSON.parse(fixture('descriptions/3.5.10.json')) as Description;
  const ajv = new Ajv({ strict: false, allErrors: true });
  const types = Object.entries(applyDeviations(description)).map(([name, type]) => [name, schemaOf(type)]);
  ajv.addSchema({ $id: 'wire', $defs: Object.fromEntries(types) as Schema });
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (schema: string): ValidateFunction => {
    const elementSchema = { $ref: `wire#/$defs/${schema.replace('[]', '')}` };
    const validator =
      validators.get(schema) ??
      ajv.compile(schema.endsWith('[]') ? { type: 'array', items: elementSchema } : elementSchema);
    validators.set(schema, validator);
    return validator;
  };
  return {
    operations: new Set(Object.keys(description.operations)),
    responseOf: (operation) => description.operations[operation]?.response,
    problems(schema, body) {
      const validate = validatorOf(schema);
      if (validate(withoutNulls(body))) return [];
      return (validate.errors ?? []).map(
        ({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
      );
    },
  };
}
