/**
 * The participant's own descriptions as validators: an answer of the sandbox passes when the published schema accepts it
 * and knows every key of it. The descriptions are not part of the project; without them the caller skips, and says so.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import { descriptionsFolder } from '../support/wire/recorded.ts';

type Schema = Record<string, unknown>;

export interface WireSchemas {
  /** Everything wrong with a body, in words; empty when the schema accepts it. `Name[]` is a list of `Name`. */
  problems(schema: string, body: unknown): readonly string[];
  /** The path templates with the methods in capitals, e.g. `GET /v2/version`; WebSocket ones as `WS /v2/updates`. */
  readonly operations: ReadonlySet<string>;
  /** Schema of the answer (or of a data frame) of an operation, for `problems`; undefined when it is no JSON. */
  responseOf(operation: string): string | undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The description as JSON Schema: no unknown keys, references into one document, integers without a format. */
function strict(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(strict);
  if (!isSchema(node)) return node;
  if (typeof node['$ref'] === 'string') return { $ref: node['$ref'].replace('#/components/schemas/', 'wire#/$defs/') };
  // Texts only: a schema may have a property of that name.
  const dropped = (key: string): boolean => key === 'format' || key === 'description' || key === 'title';
  const entries = Object.entries(node).filter(([key, value]) => typeof value !== 'string' || !dropped(key));
  const copy: Schema = Object.fromEntries(entries.map(([key, value]) => [key, strict(value)]));
  const closed = isSchema(copy['properties']) && copy['additionalProperties'] === undefined;
  return closed ? { ...copy, additionalProperties: false } : copy;
}

/** The description types `valueDecoded` as text; recordings show an object. */
function withDeviations(schemas: Schema): Schema {
  const any = schemas['ProtoAny'] as { properties: Schema };
  return { ...schemas, ProtoAny: { ...any, properties: { ...any.properties, valueDecoded: {} } } };
}

/** The participant prints null for what is absent; its description says "not there". Daml values keep their nulls. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isSchema(value)) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)]));
}

/** `Name` or `Name[]` of a reference or a list of them. */
function nameOf(schema: unknown): string | undefined {
  if (!isSchema(schema)) return undefined;
  if (schema['type'] === 'array') return `${nameOf(schema['items']) ?? ''}[]`;
  const reference = schema['$ref'];
  return typeof reference === 'string' ? reference.split('/').at(-1) : undefined;
}

function at(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce((found: unknown, key) => (isSchema(found) ? found[key] : undefined), value);
}

/** The schema of a 200 with a JSON body; of a stream the data half of `Either_JsCantonError_<Name>`. */
function responseIn(openapi: Schema, asyncapi: Schema, operation: string): string | undefined {
  const [method = '', path = ''] = operation.split(' ');
  if (method === 'WS') {
    const message = at(asyncapi, 'channels', path, 'subscribe', 'message');
    return nameOf(message)?.replace('Either_JsCantonError_', '');
  }
  const responses = at(openapi, 'paths', path, method.toLowerCase(), 'responses');
  return nameOf(at(responses, '200', 'content', 'application/json', 'schema'));
}

function operationsOf(openapi: Schema, asyncapi: Schema): Set<string> {
  const operations = new Set<string>();
  for (const [path, item] of Object.entries(openapi['paths'] as Record<string, Schema>)) {
    for (const method of Object.keys(item)) operations.add(`${method.toUpperCase()} ${path}`);
  }
  for (const path of Object.keys(asyncapi['channels'] as Schema)) operations.add(`WS ${path}`);
  return operations;
}

function description(name: string): Schema {
  return parse(readFileSync(join(descriptionsFolder, name), 'utf8')) as Schema;
}

/** The descriptions of a release, or undefined when they are not on this machine. */
export function readWireSchemas(release = '3.5.6'): WireSchemas | undefined {
  if (!existsSync(join(descriptionsFolder, `openapi-${release}.yaml`))) return undefined;
  const openapi = description(`openapi-${release}.yaml`);
  const asyncapi = description(`asyncapi-${release}.yaml`);
  const schemas = (openapi['components'] as { schemas: Schema }).schemas;
  const ajv = new Ajv({ strict: false, allErrors: true });
  ajv.addSchema({ $id: 'wire', $defs: strict(withDeviations(schemas)) as Schema });
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (schema: string): ValidateFunction => {
    const one = { $ref: `wire#/$defs/${schema.replace('[]', '')}` };
    const found = validators.get(schema) ?? ajv.compile(schema.endsWith('[]') ? { type: 'array', items: one } : one);
    validators.set(schema, found);
    return found;
  };
  return {
    operations: operationsOf(openapi, asyncapi),
    responseOf: (operation) => responseIn(openapi, asyncapi, operation),
    problems(schema, body) {
      const validate = validatorOf(schema);
      if (validate(withoutNulls(body))) return [];
      return (validate.errors ?? []).map(
        ({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
      );
    },
  };
}
