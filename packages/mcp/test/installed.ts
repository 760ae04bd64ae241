/**
 * The package as users install it: a copy of its sources with the locked dependencies, compiled by its own script. It is
 * in a temporary folder, so that the project is not changed. The compilation also checks the types of `src/server`.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const project = join(import.meta.dirname, '../../..');

/** A result of a tool, as the client of the SDK returns it. */
export interface ToolAnswer {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent: {
    readonly notice: string;
    readonly complete?: boolean;
    readonly truncated?: string;
    readonly data: Readonly<Record<string, unknown>>;
    readonly error?: Readonly<Record<string, unknown>>;
  };
}

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly annotations: Readonly<Record<string, unknown>>;
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, unknown>>;
    readonly required: readonly string[];
  };
}

/** The part of the client of the SDK that tests use. Its own types are installed only in the temporary folder. */
export interface SdkClient {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly ListedTool[] }>;
  callTool(call: { readonly name: string; readonly arguments: object }): Promise<ToolAnswer>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string; readonly title: string }[] }>;
  readResource(resource: {
    readonly uri: string;
  }): Promise<{ readonly contents: readonly { readonly text: string }[] }>;
  getInstructions(): string;
  close(): Promise<void>;
}

interface ClientModule {
  readonly Client: new (info: object, options?: object) => SdkClient;
  readonly StreamableHTTPClientTransport: new (url: URL, options: object) => unknown;
}

interface StdioModule {
  readonly StdioClientTransport: new (options: object) => { readonly stderr: NodeJS.ReadableStream };
}

export interface InstalledMcp extends Disposable {
  readonly folder: string;
  readonly sdk: ClientModule & StdioModule;
}

/** The reason why nothing can be installed; undefined if the registry is reachable. */
function registryProblem(): string | undefined {
  const args = ['view', '@modelcontextprotocol/server', 'version', '--fetch-timeout=20000', '--fetch-retries=0'];
  const { status, stderr, error } = run(tmpdir(), ...args);
  return status === 0 ? undefined : (error?.message ?? stderr.split('\n')[0] ?? 'unknown reason');
}

const problem = registryProblem();
export const registrySkipReason = problem === undefined ? undefined : `needs the npm registry: ${problem}`;

export async function installMcp(): Promise<InstalledMcp> {
  const root = mkdtempSync(join(tmpdir(), 'ledger-indexer-mcp-'));
  const folder = join(root, 'packages/mcp');
  for (const path of ['tsconfig.json', 'docs']) cpSync(join(project, path), join(root, path), { recursive: true });
  for (const path of ['package.json', 'package-lock.json', 'tsconfig.json', 'copy-docs.mjs', 'src']) {
    cpSync(join(project, 'packages/mcp', path), join(folder, path), { recursive: true });
  }
  for (const args of [
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
    ['run', '--silent', 'build'],
  ]) {
    const { status, stdout, stderr } = run(folder, ...args);
    if (status !== 0) throw new Error(`npm ${args.join(' ')} failed: ${stdout}${stderr}`);
  }
  const client = join(folder, 'node_modules/@modelcontextprotocol/client/dist');
  const sdk = {
    ...((await import(join(client, 'index.mjs'))) as ClientModule),
    ...((await import(join(client, 'stdio.mjs'))) as StdioModule),
  };
  return { folder, sdk, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}

/** Numbers of installed packages: all, and those that running needs. */
export function installedPackages({ folder }: InstalledMcp): { readonly all: number; readonly running: number } {
  const count = (...args: readonly string[]): number =>
    run(folder, 'ls', '--all', '--parseable', ...args)
      .stdout.trim()
      .split('\n').length - 1;
  return { all: count(), running: count('--omit=dev') };
}

function run(cwd: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  const { PATH = '', HOME = '' } = process.env;
  const network = Object.entries(process.env).filter(([name]) =>
    /^npm_config_|_PROXY$|_proxy$|^NODE_EXTRA/i.test(name),
  );
  const env = { ...Object.fromEntries(network), PATH, HOME, npm_config_loglevel: 'error' };
  return spawnSync('npm', args, { cwd, env, encoding: 'utf8', timeout: 240_000 });
}
