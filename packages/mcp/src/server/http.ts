#!/usr/bin/env node
/** Serves clients over streamable HTTP at `/mcp`. Each caller sends its own token, with which its requests read. */
import type { AddressInfo } from 'node:net';
import { readHttpOptions, readIndexerOptions } from '../indexer/configuration.ts';
import { createHttpServer } from './http-server.ts';
import { McpServers } from './mcp-server.ts';
import { failStart, refuseArguments } from './program.ts';

refuseArguments(process.argv.slice(2));
try {
  const options = readHttpOptions(process.env);
  const { server, close } = createHttpServer(new McpServers(readIndexerOptions(process.env)), options);
  server.once('error', failStart);
  server.listen(options.port, options.host, () => {
    const { port } = server.address() as AddressInfo;
    const host = options.host.includes(':') ? `[${options.host}]` : options.host;
    process.stderr.write(`ledger-indexer-mcp: listening on http://${host}:${String(port)}/mcp\n`);
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close());
} catch (thrown) {
  failStart(thrown);
}
