/** Tools that are operations of `/api`. Description and arguments come from its OpenAPI document. */
import type { Operation } from '../indexer/api-description.ts';
import type { JsonObject, Parameters } from '../indexer/indexer-client.ts';
import { fit } from './fit.ts';
import type { Fitted } from './result.ts';
import { argumentError, refuseUnknownArguments, type Tool, type ToolArguments, type ToolContext } from './tool.ts';

/** @param operationId id of the operation in the OpenAPI document */
export function apiTool(name: string, operationId: string): Tool {
  const operationOf = ({ client, description }: ToolContext): Promise<Operation> =>
    description.operation(client, operationId);
  return {
    name,
    text: async (context) => {
      const { summary, description, inputSchema } = await operationOf(context);
      return { title: summary, description, inputSchema };
    },
    call: async (args, context, signal) => {
      const operation = await operationOf(context);
      refuseUnknownArguments(args, operation.inputSchema);
      return readPage(operation.path, parametersOf(args), context, signal);
    },
  };
}

/** The indexer checks names and values itself. @throws McpError for values that no parameter can have */
function parametersOf(args: ToolArguments): Parameters {
  const entries = Object.entries(args).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of entries) {
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw argumentError(`${name}: expected a text, a number or a boolean`);
    }
  }
  return Object.fromEntries(entries) as Parameters;
}

/** Requests of one call, at most: rows may be added between two of them. */
const maxRequests = 3;

/**
 * Reads a page. If it is too large for an agent, it is read again with fewer rows, because its cursor belongs to its last
 * row.
 */
async function readPage(
  path: string,
  parameters: Parameters,
  { client, maxAnswerBytes }: ToolContext,
  signal: AbortSignal,
): Promise<Fitted> {
  let limits: Parameters = {};
  for (let requests = 1; ; requests++) {
    const data = await client.get(path, { ...parameters, ...limits }, signal);
    const fitted = fit(data, maxAnswerBytes);
    const [found, kept] = [rowCount(data), rowCount(fitted.data)];
    if (kept === found) return withNext(fitted);
    // Its cursor would skip the rows that were left out.
    if (requests === maxRequests || !('next' in data))
      return { ...fitted, data: { ...fitted.data, ...('next' in data ? { next: null } : {}) } };
    limits = { limit: kept };
  }
}

function rowCount({ rows }: JsonObject): number {
  return Array.isArray(rows) ? rows.length : 0;
}

/** A page with a cursor is not the complete answer. */
function withNext(fitted: Fitted): Fitted {
  const { next } = fitted.data;
  if (typeof next !== 'string') return fitted;
  const sentence =
    'There are more rows: call the tool again with the same arguments, and cursor set to the value of next.';
  return { ...fitted, truncated: fitted.truncated === undefined ? sentence : `${fitted.truncated} ${sentence}` };
}
