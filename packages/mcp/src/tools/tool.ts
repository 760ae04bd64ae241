/** A tool for agents. All tools only read. */
import type { ApiDescription, InputSchema } from '../indexer/api-description.ts';
import type { IndexerClient } from '../indexer/indexer-client.ts';
import { McpError } from '../indexer/mcp-error.ts';
import type { Fitted } from './result.ts';

/** Arguments as an agent sent them, not checked yet. */
export type ToolArguments = Readonly<Record<string, unknown>>;

export interface ToolContext {
  /** Reads with the token of the caller. */
  readonly client: IndexerClient;
  readonly description: ApiDescription;
  readonly maxAnswerBytes: number;
}

export interface ToolText {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
}

export interface Tool {
  readonly name: string;
  /** @throws McpError if it depends on the indexer, which cannot be read */
  readonly text: (context: ToolContext) => Promise<ToolText>;
  /** @throws McpError */
  readonly call: (args: ToolArguments, context: ToolContext, signal: AbortSignal) => Promise<Fitted>;
}

export function argumentError(message: string, remedy = 'correct the arguments, and call the tool again'): McpError {
  return new McpError({ code: 'ARGUMENT_INVALID', message, remedy });
}

/** @throws McpError if there is an argument that is not in the schema */
export function refuseUnknownArguments(args: ToolArguments, { properties }: InputSchema): void {
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
  if (unknown === undefined) return;
  const known = Object.keys(properties).join(', ');
  throw argumentError(`unknown argument "${unknown.slice(0, 40)}"; known: ${known}`);
}

/** An optional text that matches the pattern. @throws McpError */
export function textArgument(args: ToolArguments, name: string, pattern: RegExp, expected: string): string | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw argumentError(`${name}: expected ${expected}`);
}
