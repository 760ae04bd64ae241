/** The tools, and their calls. */
import { failureOf } from '../indexer/mcp-error.ts';
import { apiTool } from './api-tool.ts';
import { queryTool } from './query-tool.ts';
import { errorResult, resultOf, type ToolResult } from './result.ts';
import { schemaTool } from './schema-tool.ts';
import type { Tool, ToolArguments, ToolContext, ToolText } from './tool.ts';

const tools: readonly Tool[] = [
  schemaTool,
  queryTool,
  apiTool('contracts', 'contracts'),
  apiTool('explain', 'explain'),
  apiTool('diff', 'diff'),
  apiTool('diff_contracts', 'diff_contracts'),
  apiTool('balances', 'balances'),
  apiTool('statement', 'account_statement'),
  apiTool('coverage', 'coverage'),
];

const toolsByName: ReadonlyMap<string, Tool> = new Map(tools.map((tool) => [tool.name, tool]));

export interface ListedTool extends ToolText {
  readonly name: string;
}

/** @throws McpError if the indexer cannot be read */
export function listTools(context: ToolContext): Promise<ListedTool[]> {
  return Promise.all(tools.map(async (tool) => ({ name: tool.name, ...(await tool.text(context)) })));
}

/** Calls a tool. Failures are results too, so that the agent can correct its call. Never rejects. */
export async function callTool(
  name: string,
  args: ToolArguments,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ToolResult> {
  const tool = toolsByName.get(name);
  try {
    if (tool !== undefined) return resultOf(await tool.call(args, context, signal));
    const known = [...toolsByName.keys()].join(', ');
    const message = `unknown tool "${name.slice(0, 40)}"`;
    return errorResult({ code: 'TOOL_UNKNOWN', message, remedy: `call one of ${known}` });
  } catch (thrown) {
    return errorResult(failureOf(thrown));
  }
}
