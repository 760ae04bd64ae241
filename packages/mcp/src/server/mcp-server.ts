/** The server of one connection or request, for one caller. */
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type McpServerFactory,
  type Tool,
} from '@modelcontextprotocol/server';
import { ApiDescription } from '../indexer/api-description.ts';
import type { IndexerOptions } from '../indexer/configuration.ts';
import { IndexerClient } from '../indexer/indexer-client.ts';
import { failureOf } from '../indexer/mcp-error.ts';
import type { TokenSource } from '../indexer/token.ts';
import { readDocsPages } from './docs-pages.ts';
import { notice } from '../tools/result.ts';
import { callTool, listTools } from '../tools/tools.ts';
import { version } from './version.ts';

const instructions = `Reads a ledger that an indexer stores in Postgres. Nothing can be written. Answers have only what the caller may see. ${notice} Begin with the tool schema, or with the resource ledger-indexer://docs/get-started/first-queries.`;

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Builds servers that share what is the same for all callers: the pages, and the description of `/api`. */
export class McpServers {
  readonly #options: IndexerOptions;
  readonly #description = new ApiDescription();
  readonly #pages = readDocsPages();

  constructor(options: IndexerOptions) {
    this.#options = options;
  }

  /** @param tokenOf the token of the caller for whom the server is built */
  factory(tokenOf: (context: Parameters<McpServerFactory>[0]) => TokenSource): McpServerFactory {
    return (context) => this.#server(tokenOf(context));
  }

  #server(token: TokenSource): Server {
    const { baseUrl, maxAnswerBytes } = this.#options;
    const client = new IndexerClient(baseUrl, token);
    const context = { client, description: this.#description, maxAnswerBytes };
    const server = new Server(
      { name: 'ledger-indexer', version },
      { capabilities: { tools: {}, resources: {} }, instructions },
    );
    server.setRequestHandler('tools/list', async () => {
      const tools = await listTools(context).catch(rethrow);
      return {
        tools: tools.map((tool) => ({ ...tool, inputSchema: tool.inputSchema as Tool['inputSchema'], annotations })),
      };
    });
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
      callTool(params.name, params.arguments ?? {}, context, mcpReq.signal),
    );
    this.#addResources(server);
    return server;
  }

  #addResources(server: Server): void {
    server.setRequestHandler('resources/list', () => ({
      resources: [...this.#pages.values()].map(({ uri, name, title }) => ({
        uri,
        name,
        title,
        mimeType: 'text/markdown',
      })),
    }));
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
    server.setRequestHandler('resources/read', ({ params: { uri } }) => {
      const page = this.#pages.get(uri);
      if (page === undefined) throw new ResourceNotFoundError(uri);
      return { contents: [{ uri, mimeType: 'text/markdown', text: page.text }] };
    });
  }
}

/** Protocol errors have one text. */
function rethrow(thrown: unknown): never {
  const { message, remedy } = failureOf(thrown);
  throw new ProtocolError(ProtocolErrorCode.InternalError, `${message}; ${remedy}`);
}
