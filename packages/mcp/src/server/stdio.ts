#!/usr/bin/env node
/** Serves one client over stdin and stdout, with the token of INDEXER_TOKEN_FILE. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { readIndexerOptions, readTokenPath } from '../indexer/configuration.ts';
import { tokenOfFile } from '../indexer/token.ts';
import { McpServers } from './mcp-server.ts';
import { failStart, logFailure, refuseArguments } from './program.ts';

refuseArguments(process.argv.slice(2));
try {
  const token = tokenOfFile(readTokenPath(process.env));
  const servers = new McpServers(readIndexerOptions(process.env));
  const connection = serveStdio(
    servers.factory(() => token),
    { onerror: logFailure },
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void connection.close());
} catch (thrown) {
  failStart(thrown);
}
