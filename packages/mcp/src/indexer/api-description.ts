/**
 * The OpenAPI document of the indexer. Arguments of tools follow from it, so they always match the indexer. The document
 * contains no data of the ledger and is the same for all callers.
 */
import type { IndexerClient, JsonObject } from './indexer-client.ts';
import { McpError } from './mcp-error.ts';

/** An operation as a tool needs it. */
export interface Operation {
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly inputSchema: InputSchema;
}

export interface InputSchema {
  readonly [field: string]: unknown;
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonObject>>;
  readonly required: string[];
  readonly additionalProperties: false;
}

interface OpenApiParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: JsonObject;
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly OpenApiParameter[];
}

type Paths = Readonly<Record<string, { readonly get?: OpenApiOperation }>>;

/** How long a document is used, so that an upgrade of the indexer is noticed. */
const maxAgeMs = 60_000;

export class ApiDescription {
  #operations: ReadonlyMap<string, Operation> = new Map();
  #readAtMs = -Infinity;

  /** @throws McpError if the indexer cannot be read, or has no such operation */
  async operation(client: IndexerClient, id: string): Promise<Operation> {
    if (performance.now() - this.#readAtMs > maxAgeMs) {
      this.#operations = operationsOf(await readDocument(client));
      this.#readAtMs = performance.now();
    }
    const operation = this.#operations.get(id);
    if (operation !== undefined) return operation;
    throw new McpError({
      code: 'OPERATION_UNKNOWN',
      message: `the indexer has no operation ${id}`,
      remedy: 'use an indexer and an MCP server of the same version',
    });
  }
}

async function readDocument(client: IndexerClient): Promise<JsonObject> {
  try {
    return await client.get('/api/openapi.json');
  } catch (thrown) {
    if (!(thrown instanceof McpError) || thrown.failure.facts?.['status'] !== 404) throw thrown;
    const failure = {
      code: 'API_DISABLED',
      message: 'the indexer does not serve /api',
      remedy: 'set INDEXER_API=true and restart the indexer',
    };
    throw new McpError(failure, thrown);
  }
}

function operationsOf({ paths }: JsonObject): ReadonlyMap<string, Operation> {
  return new Map(
    Object.entries((paths ?? {}) as Paths).flatMap(([path, { get }]) =>
      get === undefined ? [] : [[get.operationId, operationOf(path, get)]],
    ),
  );
}

function operationOf(path: string, { summary = '', description = '', parameters = [] }: OpenApiOperation): Operation {
  const inQuery = parameters.filter((parameter) => parameter.in === 'query');
  return {
    path,
    summary,
    description,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(inQuery.map((parameter) => [parameter.name, propertyOf(parameter)])),
      required: inQuery.filter(({ required: isRequired }) => isRequired === true).map(({ name }) => name),
      additionalProperties: false,
    },
  };
}

/** Some kinds of parameters have a description of their own, which explains the format. */
function propertyOf({ description = '', schema = {} }: OpenApiParameter): JsonObject {
  const { description: format } = schema;
  return { ...schema, description: typeof format === 'string' ? `${description} ${format}` : description };
}
