/**
 * The API descriptions, /docs/openapi and /docs/asyncapi, generated from the tables of endpoints for the sandbox's
 * release. Schemas are open objects, except that of the refusal.
 */
import { stringify } from 'yaml';
import type { Endpoint, StreamEndpoint } from '../api/endpoint.ts';
import type { Release } from '../wire/release.ts';
import { isFrom, isWithin, versionOf } from '../wire/release.ts';

type DescribedEndpoint = Pick<
  Endpoint,
  'path' | 'summary' | 'since' | 'last' | 'deprecatedIn' | 'request' | 'response'
>;

const text = { type: 'string' };
const optional = (type: string): object => ({ type, nullable: true });

/** Schema of the refusal that every endpoint may return. Only the required keys are guaranteed. */
const refusal = {
  title: 'JsCantonError',
  type: 'object',
  required: ['code', 'cause', 'context', 'errorCategory'],
  properties: {
    code: text,
    cause: text,
    correlationId: optional('string'),
    traceId: optional('string'),
    context: { type: 'object', additionalProperties: text },
    resources: { type: 'array', items: { type: 'array', items: text } },
    errorCategory: { type: 'integer', format: 'int32' },
    grpcCodeValue: { ...optional('integer'), format: 'int32' },
    retryInfo: optional('string'),
    definiteAnswer: optional('boolean'),
  },
};

function endpointsIn<E extends DescribedEndpoint>(table: readonly E[], release: Release): E[] {
  return table.filter(({ since, last }) => isWithin(release, since, last));
}

/** `postV2UpdatesUpdate-by-id` for POST /v2/updates/update-by-id. */
function operationId(verb: string, path: string): string {
  const pathWords = path.split('/').map((word) => word.replaceAll(/[{}]/g, ''));
  return verb + pathWords.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** A schema by name; `Name[]` is an array of it. */
function schemaOf(name: string): object {
  if (name.endsWith('[]')) return { type: 'array', items: schemaOf(name.slice(0, -2)) };
  return { $ref: `#/components/schemas/${name}` };
}

/** Keys that a release has added to a request, if clients check for them. */
function propertiesOf(title: string, release: Release): object {
  const isContractsRequest = ['GetActiveContractsRequest', 'GetActiveContractsPageRequest'].includes(title);
  if (!isContractsRequest || !isFrom(release, '3.7')) return {};
  return { properties: { activeAtOffset: { type: 'integer' }, includeIncompleteReassignments: { type: 'boolean' } } };
}

/** One open object per schema name that the endpoints mention, and the refusal. */
function schemas(describedEndpoints: readonly DescribedEndpoint[], release: Release): object {
  const names = describedEndpoints.flatMap(({ request, response }) => [request, response]);
  const parameterNames = new Set(names.filter((name) => name !== undefined).map((name) => name.replace('[]', '')));
  const openSchemas = [...parameterNames]
    .toSorted()
    .map((title) => [title, { title, type: 'object', ...propertiesOf(title, release) }] as const);
  return { ...Object.fromEntries(openSchemas), JsCantonError: refusal };
}

function info(title: string, release: Release): object {
  const description = 'Endpoints of a sandbox participant, in the release it simulates.';
  return { title, version: versionOf[release], description };
}

const binary = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
const jsonOf = (name: string): object => ({ 'application/json': { schema: schemaOf(name) } });

function bodyOf({ request, takes: bodyKind }: Endpoint): object {
  if (bodyKind === 'bytes') return { requestBody: { content: binary, required: true } };
  return request === undefined ? {} : { requestBody: { content: jsonOf(request), required: true } };
}

function parametersOf({ path, query = [] }: Endpoint): object[] {
  const pathParameters = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? '');
  return [
    ...pathParameters.map((name) => ({ name, in: 'path', required: true, schema: text })),
    ...query.map((name) => ({ name, in: 'query', required: false, schema: text })),
  ];
}

function operation(endpoint: Endpoint): object {
  const { method, path, summary, deprecatedIn, response } = endpoint;
  const parameters = parametersOf(endpoint);
  return {
    description: summary,
    operationId: operationId(method.toLowerCase(), path),
    ...(deprecatedIn === undefined ? {} : { deprecated: true }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...bodyOf(endpoint),
    responses: {
      '200': { description: '', ...(response === undefined ? {} : { content: jsonOf(response) }) },
      '400': { description: 'A value that cannot be decoded', content: { 'text/plain': { schema: text } } },
      default: { description: 'A refusal', content: jsonOf('JsCantonError') },
    },
    security: endpoint.needs === 'none' ? [] : [{ httpAuth: [] }],
  };
}

function openapi(servedEndpoints: readonly Endpoint[], release: Release): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const endpoint of servedEndpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  const securitySchemes = { httpAuth: { type: 'http', description: 'A JWT', scheme: 'bearer' } };
  return {
    openapi: '3.0.3',
    info: info('JSON Ledger API HTTP endpoints', release),
    paths,
    components: { schemas: schemas(servedEndpoints, release), securitySchemes },
  };
}

function channel({ path, summary, request = '', response = '' }: StreamEndpoint): object {
  const message = (name: string): object => ({ message: { $ref: `#/components/messages/${name}` } });
  return {
    description: summary,
    subscribe: { operationId: operationId('on', path), ...message(`Either_JsCantonError_${response}`) },
    publish: { operationId: operationId('send', path), ...message(request) },
    bindings: { ws: { method: 'GET' } },
  };
}

function asyncapi(servedEndpoints: readonly StreamEndpoint[], release: Release): object {
  const contentType = 'application/json';
  const messages: Record<string, object> = {};
  for (const { request = '', response = '' } of servedEndpoints) {
    messages[request] = { contentType, payload: schemaOf(request) };
    const responseSchemas = [schemaOf('JsCantonError'), schemaOf(response)];
    messages[`Either_JsCantonError_${response}`] = { contentType, payload: { oneOf: responseSchemas } };
  }
  return {
    asyncapi: '2.6.0',
    info: info('JSON Ledger API WebSocket endpoints', release),
    channels: Object.fromEntries(servedEndpoints.map((stream) => [stream.path, channel(stream)])),
    components: { schemas: schemas(servedEndpoints, release), messages },
  };
}

/** The endpoints that return the descriptions of the given endpoints. They do not describe themselves. */
export function docsEndpoints(endpoints: readonly Endpoint[], streams: readonly StreamEndpoint[]): readonly Endpoint[] {
  const row = (path: string, summary: string, describe: (release: Release) => object): Endpoint => ({
    method: 'GET',
    path,
    summary,
    needs: 'none',
    run: ({ participant }) => ({
      type: 'text/plain; charset=UTF-8',
      content: stringify(describe(participant.release), { aliasDuplicateObjects: false }),
    }),
  });
  return [
    row('/docs/openapi', 'The HTTP endpoints, as OpenAPI', (release) =>
      openapi(endpointsIn(endpoints, release), release),
    ),
    row('/docs/asyncapi', 'The streams, as AsyncAPI', (release) => asyncapi(endpointsIn(streams, release), release)),
  ];
}
