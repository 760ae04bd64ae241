/** Tool `query`: one reading SQL statement. The indexer runs it in a read-only transaction with the rights of the caller. */
import type { InputSchema } from '../indexer/api-description.ts';
import type { IndexerClient } from '../indexer/indexer-client.ts';
import { McpError } from '../indexer/mcp-error.ts';
import { fit } from './fit.ts';
import type { Fitted } from './result.ts';
import { argumentError, refuseUnknownArguments, textArgument, type Tool } from './tool.ts';

/** Result of a statement. Values are texts in the format of Postgres; an SQL null is null. */
export interface QueryRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** Whether these are all rows. */
  readonly complete: boolean;
}

/** Maximum rows that the indexer returns. */
const maxRows = 1_000;
const defaultRows = 200;
const maxCharacters = 60_000;

const inputSchema: InputSchema = {
  type: 'object',
  properties: {
    statement: {
      type: 'string',
      maxLength: maxCharacters,
      description: 'One SQL statement that only reads, in the dialect of Postgres, without parameters.',
    },
    max_rows: {
      type: 'integer',
      minimum: 1,
      maximum: maxRows,
      default: defaultRows,
      description: 'Maximum number of rows in the answer. Prefer aggregates and limit in the statement.',
    },
  },
  required: ['statement'],
  additionalProperties: false,
};

const text = {
  title: 'Query with SQL',
  description:
    'Runs one reading SQL statement with the rights of the caller, and returns values as texts. Time limit: 30 s. Call schema first to learn views, functions and columns. Int64 and Numeric in payloads are texts: cast them. "offset" needs quotes.',
  inputSchema,
};

export const queryTool: Tool = {
  name: 'query',
  text: () => Promise.resolve(text),
  call: async (args, { client, maxAnswerBytes }, signal) => {
    refuseUnknownArguments(args, inputSchema);
    const statement = textArgument(args, 'statement', /\S/, 'a text with one SQL statement');
    if (statement === undefined) throw argumentError('statement is missing');
    if (statement.length > maxCharacters) {
      throw argumentError(`statement has more than ${String(maxCharacters)} characters`);
    }
    const { max_rows: most = defaultRows } = args;
    if (!Number.isInteger(most) || Number(most) < 1 || Number(most) > maxRows) {
      throw argumentError(`max_rows: expected an integer between 1 and ${String(maxRows)}`);
    }
    const answer = await runStatement(client, statement, signal);
    return fitRows(answer, Number(most), maxAnswerBytes);
  },
};

/** @throws McpError */
export async function runStatement(client: IndexerClient, statement: string, signal: AbortSignal): Promise<QueryRows> {
  const { columns, rows, complete: isComplete } = await client.post('/query', { statement }, signal);
  if (!Array.isArray(columns) || !Array.isArray(rows)) {
    throw new McpError({
      code: 'INDEXER_RESPONSE_INVALID',
      message: 'the indexer returned no rows',
      remedy: 'use an indexer and an MCP server of the same version',
    });
  }
  return {
    columns: columns.map((column: { readonly name?: unknown }) => String(column.name)),
    rows: rows as QueryRows['rows'],
    complete: isComplete === true,
  };
}

/** Shortens a result to a number of rows, and then to a number of bytes. */
export function fitRows({ columns, rows, complete: isComplete }: QueryRows, most: number, maxBytes: number): Fitted {
  const fitted = fit({ columns, rows: rows.slice(0, most) }, maxBytes);
  if (isComplete && rows.length <= most) return fitted;
  const found = isComplete ? `${String(rows.length)} rows` : `more than ${String(rows.length)} rows`;
  const sentence = `The statement returns ${found}: add a narrower condition, an aggregate or a limit.`;
  return { ...fitted, truncated: fitted.truncated === undefined ? sentence : `${sentence} ${fitted.truncated}` };
}
