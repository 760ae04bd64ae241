// Reduces a participant's API descriptions to facts, without prose: operations, and the types of requests and responses.
// test/conformance checks every response against such a table.
//   node scripts/wire/reduce-descriptions.mjs OPENAPI.yaml ASYNCAPI.yaml > test/fixtures/descriptions/RELEASE.json
//
// A type is "string", "integer", "number", "boolean", "object" (with any fields), "any" or the name of another type;
// ["T"] is a list, ["T", "T"] one of that length; {"*": "T"} a map from text; {"|": [...]} exactly one of them;
// {"=": [...]} one of these texts; any other object names all its fields, those that may be absent with a "?".
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const basic = ['string', 'integer', 'number', 'boolean', 'object'];
/** Prose and hints, which do not affect types. A field may have such a name too, but then its value is not a string. */
const ignored = ['description', 'title', 'format', 'example', 'examples', 'default', 'deprecated'];

/** @param {unknown} reference */
const nameIn = (reference) => String(reference).split('/').at(-1) ?? '';

/** @param {Record<string, any>} schema @param {string} where @returns {unknown} */
function reduced(schema, where) {
  const { $ref, type, properties, required, items, minItems, maxItems, oneOf, enum: values, ...rest } = schema;
  const { additionalProperties, ...others } = rest;
  const unheard = Object.keys(others).filter((key) => !ignored.includes(key));
  if (properties !== undefined && additionalProperties !== undefined) unheard.push('additionalProperties');
  if (unheard.length > 0) throw new Error(`${where}: cannot reduce ${unheard.join()}`);
  if ($ref !== undefined) return nameIn($ref);
  if (oneOf !== undefined) return { '|': oneOf.map((one) => reduced(one, where)) };
  if (values !== undefined && type !== 'string') throw new Error(`${where}: cannot reduce values of the type ${type}`);
  if (values !== undefined) return { '=': values };
  if (type === 'array') {
    if (minItems !== maxItems) throw new Error(`${where}: cannot reduce a list of ${minItems} to ${maxItems}`);
    return Array(minItems ?? 1).fill(reduced(items, where));
  }
  if (properties !== undefined) return fields(properties, required ?? [], where);
  if (additionalProperties !== undefined) return { '*': reduced(additionalProperties, where) };
  if (type === undefined) return 'any';
  if (!basic.includes(type)) throw new Error(`${where}: cannot reduce the type ${type}`);
  return type;
}

/** @param {Record<string, any>} properties @param {readonly string[]} required @param {string} where */
function fields(properties, required, where) {
  const lost = required.filter((name) => !(name in properties));
  if (lost.length > 0) throw new Error(`${where}: ${lost.join()} is required and not described`);
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      required.includes(name) ? name : `${name}?`,
      reduced(schema, `${where}.${name}`),
    ]),
  );
}

/** `Name` or `Name[]`; undefined for content that is not JSON, or has no named type. */
function bodyOf(content) {
  const { $ref, items } = content?.['application/json']?.schema ?? {};
  if ($ref !== undefined) return nameIn($ref);
  return items?.$ref === undefined ? undefined : `${nameIn(items.$ref)}[]`;
}

/** Omits absent parts. */
const operation = (request, response) => ({ ...(request && { request }), ...(response && { response }) });

function operationsOf(openapi, asyncapi) {
  const http = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, responses }]) => [
      `${method.toUpperCase()} ${path}`,
      operation(bodyOf(requestBody?.content), bodyOf(responses['200']?.content)),
    ]),
  );
  const streams = Object.entries(asyncapi.channels).map(([path, { publish, subscribe }]) => [
    `WS ${path}`,
    // A frame is either an error or of this type.
    operation(nameIn(publish.message.$ref), nameIn(subscribe.message.$ref).replace('Either_JsCantonError_', '')),
  ]);
  return Object.fromEntries([...http, ...streams]);
}

/** One operation and one type per line, so that releases can be compared. */
function written(table) {
  const lines = (entries) =>
    Object.entries(entries)
      .map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(',\n');
  const parts = Object.entries(table).map(([name, entries]) => `  ${JSON.stringify(name)}: {\n${lines(entries)}\n  }`);
  return `{\n${parts.join(',\n')}\n}\n`;
}

const [openapiFile, asyncapiFile] = process.argv.slice(2);
if (openapiFile === undefined || asyncapiFile === undefined) {
  console.error('usage: node scripts/wire/reduce-descriptions.mjs OPENAPI.yaml ASYNCAPI.yaml');
  process.exit(2);
}
const [openapi, asyncapi] = [openapiFile, asyncapiFile].map((file) => parse(readFileSync(file, 'utf8')));
const schemas = Object.entries(openapi.components.schemas);
process.stdout.write(
  written({
    operations: operationsOf(openapi, asyncapi),
    types: Object.fromEntries(schemas.map(([name, schema]) => [name, reduced(schema, name)])),
  }),
);
