/**
 * Agents read the ledger through the client of the SDK, over stdio and HTTP, from a real indexer. The package is installed
 * as users install it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../../test/support/skips/needs.ts';
import { limitsSkipReason } from '../../../test/support/skips/server-version.ts';
import { notice } from '../src/tools/result.ts';
import { describeCallers } from './describe-callers.ts';
import { describeTools } from './describe-tools.ts';
import { installedPackages, installMcp, registrySkipReason, type InstalledMcp } from './installed.ts';
import { openSetup, type McpSetup } from './setup.ts';

const toolNames = 'schema query contracts explain diff diff_contracts balances statement coverage'.split(' ');

describe('mcp', needs(registrySkipReason ?? limitsSkipReason), () => {
  let installed: InstalledMcp;
  let setup: McpSetup;
  beforeAll(async () => {
    installed = await installMcp();
    setup = await openSetup(installed);
  }, 600_000);
  afterAll(async () => {
    await setup[Symbol.asyncDispose]();
    installed[Symbol.dispose]();
  });

  it('installs few packages, outside those of the indexer', () => {
    const { all, running } = installedPackages(installed);
    process.stdout.write(`mcp: ${String(running)} packages to run, ${String(all)} with its compiler and client\n`);
    expect(running).toBeLessThanOrEqual(6);
    expect(all).toBeLessThanOrEqual(25);
  });

  it('lists only tools that read, with the arguments of the OpenAPI document', async () => {
    const document = (await (await fetch(`${setup.world.indexer.httpUrl}/api/openapi.json`)).json()) as {
      readonly paths: Record<string, { readonly get: { readonly parameters: readonly { readonly name: string }[] } }>;
    };
    for (const [, client] of setup.clients) {
      expect(client.getInstructions()).toContain(notice);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(toolNames);
      for (const { annotations } of tools)
        expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      const statement = tools.find(({ name }) => name === 'statement');
      const parameters = document.paths['/api/account-statement']?.get.parameters ?? [];
      expect(Object.keys(statement?.inputSchema.properties ?? {})).toEqual(parameters.map(({ name }) => name));
      expect(statement?.inputSchema.required).toEqual(['party']);
    }
  });

  it('has pages of the documentation as resources, and no other files', async () => {
    const [, client] = setup.first;
    const { resources } = await client.listResources();
    expect(resources).toContainEqual(
      expect.objectContaining({ uri: 'ledger-indexer://docs/how-to/query/tokens', mimeType: 'text/markdown' }),
    );
    const { contents } = await client.readResource({ uri: 'ledger-indexer://docs/get-started/first-queries' });
    expect(contents[0]?.text).toMatch(/^# /m);
    for (const uri of [
      'ledger-indexer://docs/../package',
      'file:///etc/passwd',
      'ledger-indexer://docs/decisions/README',
    ]) {
      await expect(client.readResource({ uri })).rejects.toThrow(/not found/i);
    }
  });

  describeTools(() => setup);
  describeCallers(() => setup);
});
