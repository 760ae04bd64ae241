/** A month of the demo, an indexer with `/api`, two readers of one party each, and MCP clients with their tokens. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { readerTokenCommand } from '../../../src/cli/roles/reader-token.ts';
import { runIndexer, type IndexerRun } from '../../../test/e2e/runs/indexer-run.ts';
import { playDemo } from '../../../test/support/demo-play.ts';
import { query } from '../../../test/support/database.ts';
import { createMigratedDatabase } from '../../../test/support/migrated-database.ts';
import { runCommand } from '../../../test/support/run-command.ts';
import { startSandbox } from '../../ledger-sandbox/src/demo/sandbox.ts';
import type { InstalledMcp, SdkClient, ToolAnswer } from './installed.ts';

const seed = 29;

export interface McpReader {
  readonly party: string;
  readonly role: string;
  readonly token: string;
  readonly tokenFile: string;
}

export type TextRow = readonly (string | null)[];

export class McpWorld implements AsyncDisposable {
  readonly installed: InstalledMcp;
  readonly sandbox: Awaited<ReturnType<typeof startSandbox>>;
  readonly url: string;
  readonly indexer: IndexerRun;
  /** Everything that the servers printed to stderr. */
  readonly printed: string[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-mcp-world-'));
  readonly #roles: string[] = [];
  readonly #steps: (() => Promise<unknown>)[] = [];

  private constructor(installed: InstalledMcp, sandbox: McpWorld['sandbox'], url: string, indexer: IndexerRun) {
    [this.installed, this.sandbox, this.url, this.indexer] = [installed, sandbox, url, indexer];
  }

  static async open(installed: InstalledMcp): Promise<McpWorld> {
    const sandbox = await startSandbox({ seed, limits: { checkpointIntervalMs: 50 } });
    playDemo(sandbox.ledger, seed);
    const database = await createMigratedDatabase(['ledger']);
    const indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      INDEXER_START: 'genesis',
      LEDGER_INTERFACES: 'tokens',
      INDEXER_API: 'true',
    });
    const world = new McpWorld(installed, sandbox, database.url, indexer);
    world.#steps.push(
      () => database.drop(),
      () => sandbox.close(),
      async () => {
        await indexer[Symbol.asyncDispose]();
      },
    );
    await indexer.reaches(sandbox.ledger.ledgerEnd(), 120_000);
    await query(database.url, 'analyze');
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const logins = await query(this.url, 'select login_name from ledger.reader_tokens');
    for (const step of this.#steps.toReversed()) await step();
    for (const role of [...logins.map((row) => String(row['login_name'])), ...this.#roles]) {
      await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists "${role}"`);
    }
    rmSync(this.#folder, { recursive: true });
  }

  /** The owners of the most holdings. */
  async owners(count: number): Promise<readonly string[]> {
    const rows = await query(
      this.url,
      `select owner from explore.token_balances where owner !~ '^(dso|bank|issuer)' group by owner
        order by sum(holdings) desc, owner limit ${String(count)}`,
    );
    return rows.map((row) => String(row['owner']));
  }

  /** Creates a role that is limited to the party, if there is one, and a token of it. */
  async reader(party = ''): Promise<McpReader> {
    const role = `mcp_${randomBytes(4).toString('hex')}`;
    this.#roles.push(role);
    const env = { DATABASE_URL: this.url };
    await runCommand(grantReaderCommand, [role, ...(party === '' ? [] : ['--party', party])], env);
    const token = await this.token(role);
    const tokenFile = join(this.#folder, role);
    writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
    return { party, role, token, tokenFile };
  }

  async token(role: string): Promise<string> {
    const lines: string[] = [];
    const io = { print: (line: string) => lines.push(line), stderr: { write: () => true } as never };
    await runCommand(readerTokenCommand, ['create', '--role', role], { DATABASE_URL: this.url }, io);
    return lines.join('\n');
  }

  /** Rows of a statement under a role, as texts. */
  async sql(role: string, statement: string, searchPath = 'explore,typed,pqs,ledger'): Promise<readonly TextRow[]> {
    const options = `-c role=${role} -c search_path=${searchPath} -c timezone=UTC -c datestyle=ISO`;
    const url = `${this.url}?options=${encodeURIComponent(options)}`;
    const client = new Client({ connectionString: url, types: { getTypeParser: () => (text: string) => text } });
    await client.connect();
    try {
      return (await client.query<(string | null)[]>({ text: statement, rowMode: 'array' })).rows;
    } finally {
      await client.end();
    }
  }

  /** A client over stdio, with the token file of the reader. */
  async overStdio(
    { tokenFile }: Pick<McpReader, 'tokenFile'>,
    env: Readonly<Record<string, string>> = {},
  ): Promise<SdkClient> {
    const { sdk, folder } = this.installed;
    const transport = new sdk.StdioClientTransport({
      command: process.execPath,
      args: [join(folder, 'dist/server/stdio.js')],
      env: { INDEXER_URL: this.indexer.httpUrl, INDEXER_TOKEN_FILE: tokenFile, ...env },
      stderr: 'pipe',
    });
    transport.stderr.on('data', (chunk: Buffer) => this.printed.push(chunk.toString()));
    return this.#connected(new sdk.Client({ name: 'test', version: '1' }), transport);
  }

  /** A client over HTTP, with this token. @param version revision of the protocol; default: that of the handshake */
  async overHttp(url: string, token: string, version?: string): Promise<SdkClient> {
    const { sdk } = this.installed;
    const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    });
    const options = version === undefined ? {} : { versionNegotiation: { mode: { pin: version } } };
    return this.#connected(new sdk.Client({ name: 'test', version: '1' }, options), transport);
  }

  async #connected(client: SdkClient, transport: unknown): Promise<SdkClient> {
    await client.connect(transport);
    this.#steps.push(() => client.close());
    return client;
  }

  /** Starts the HTTP server. @returns its address */
  async serveHttp(env: Readonly<Record<string, string>> = {}): Promise<string> {
    const child = this.program('http', { INDEXER_URL: this.indexer.httpUrl, MCP_HTTP_PORT: '0', ...env });
    this.#steps.push(async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    });
    return new Promise((resolve, reject) => {
      let text = '';
      child.stderr?.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        const [address] = /http:\S+\/mcp/.exec(text) ?? [];
        if (address !== undefined) resolve(address);
      });
      child.once('exit', (code) => reject(new Error(`the server ended with ${String(code)}: ${text}`)));
    });
  }

  program(name: 'stdio' | 'http', env: Readonly<Record<string, string>>, ...args: readonly string[]): ChildProcess {
    const path = join(this.installed.folder, `dist/server/${name}.js`);
    const child = spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => this.printed.push(chunk.toString()));
    }
    return child;
  }
}

/** Calls a tool, which must succeed. */
export async function called(
  client: SdkClient,
  name: string,
  args: object = {},
): Promise<ToolAnswer['structuredContent']> {
  const { isError, structuredContent, content } = await client.callTool({ name, arguments: args });
  if (isError === true) throw new Error(`${name} failed: ${content[0]?.text ?? ''}`);
  return structuredContent;
}

/** Calls a tool, which must fail. @returns the error */
export async function refused(
  client: SdkClient,
  name: string,
  args: object,
): Promise<Readonly<Record<string, unknown>>> {
  const { isError, structuredContent } = await client.callTool({ name, arguments: args });
  if (isError !== true) throw new Error(`${name} succeeded`);
  return structuredContent.error ?? {};
}
