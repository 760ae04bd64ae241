/** The OpenAPI description of `/api`, which follows from its routes. */
import type { ApiColumnKind, ApiParameter, ApiParameterKind, ApiRoute } from '../../model/push/read-api.ts';
import { parametersOf } from './parameters.ts';
import { problemStatuses } from './problems.ts';

type Json = Readonly<Record<string, unknown>>;

const columnSchemas: Readonly<Record<ApiColumnKind, Json>> = {
  text: { type: ['string', 'null'] },
  integer: { type: ['integer', 'null'] },
  number: { type: ['string', 'null'], description: 'A decimal number, with all its digits.' },
  boolean: { type: ['boolean', 'null'] },
  time: { type: ['string', 'null'], format: 'date-time' },
  texts: { type: ['array', 'null'], items: { type: 'string' } },
  numbers: { type: ['array', 'null'], items: { type: 'string' } },
  json: { description: 'JSON as the ledger writes it.' },
};

const parameterSchemas: Readonly<Record<ApiParameterKind, Json>> = {
  text: { type: 'string', maxLength: 1_000 },
  party: { type: 'string', maxLength: 255 },
  name: { type: 'string', maxLength: 1_000 },
  offset: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  position: { type: 'string', description: 'An offset, or a time with its zone.' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  choice: { type: 'string' },
  filter: { type: 'string', maxLength: 2_000 },
  field: { type: 'string', maxLength: 1_000 },
  cursor: { type: 'string' },
};

/** @param version version of the program */
export function openApiDocument(routes: readonly ApiRoute[], version: string): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ledger Indexer',
      version,
      description: 'Read-only access to contracts, history, tokens and commands that the indexer has stored.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    // Requests from the machine of the indexer need no token.
    security: [{ token: [] }, {}],
    paths: Object.fromEntries(routes.map((route) => [route.path, { get: operationOf(route) }])),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A reader token, or a token of the participant.' },
      },
      schemas: { Problem: problemSchema },
    },
  };
}

function operationOf(route: ApiRoute): Json {
  const problems = [...problemStatuses()].map(([status, codes]) => [
    String(status),
    {
      description: codes.join(', '),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]);
  return {
    operationId: route.name,
    summary: route.summary,
    description: route.description,
    parameters: parametersOf(route).map(parameterOf),
    responses: {
      200: {
        description: 'The answer, true at one offset.',
        content: { 'application/json': { schema: answerSchema(route) } },
      },
      ...Object.fromEntries(problems),
    },
  };
}

function parameterOf(parameter: ApiParameter): Json {
  const { name, kind, description, inPath, required: isRequired, values, range, fallback } = parameter;
  return {
    name,
    in: inPath === true ? 'path' : 'query',
    ...(isRequired === true ? { required: true } : {}),
    description,
    schema: {
      ...parameterSchemas[kind],
      ...(values === undefined ? {} : { enum: values }),
      ...(range === undefined ? {} : { minimum: range[0], maximum: range[1] }),
      ...(fallback === undefined ? {} : { default: fallback }),
    },
  };
}

const positions = {
  offset: {
    type: ['integer', 'null'],
    description: 'The offset at which the answer is true; null until the seed is complete.',
  },
  checkpoint: { type: ['integer', 'null'], description: 'The offset up to which everything is stored.' },
};

function answerSchema({ answers, columns, fields = {} }: ApiRoute): Json {
  if (answers === 'object') {
    const described = Object.entries(fields).map(([name, description]) => [name, { description }]);
    return objectSchema({ ...positions, ...Object.fromEntries(described) }, Object.keys(positions));
  }
  const rowProperties = Object.fromEntries(Object.entries(columns).map(([name, kind]) => [name, columnSchemas[kind]]));
  const properties = {
    ...positions,
    rows: { type: 'array', items: objectSchema(rowProperties, Object.keys(rowProperties)) },
    next: { type: ['string', 'null'], description: 'The cursor of the next page; null if there are no more rows.' },
  };
  return objectSchema(properties, Object.keys(properties));
}

function objectSchema(properties: Json, required: readonly string[]): Json {
  return { type: 'object', required, properties };
}

const problemSchema = objectSchema(
  {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: [...problemStatuses().values()].flat() },
    nearest: { type: 'array', items: { type: 'string' }, description: 'Known names that are similar.' },
    position: { type: 'integer', description: 'Of a filter: the character at which the problem is, from 1.' },
  },
  ['type', 'title', 'status', 'detail', 'code'],
);
