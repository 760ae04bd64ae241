/** The database of one administrator on a managed service, and the commands that the administrator runs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programInProcess } from '../cli/in-process.ts';
import type { ProcessResult } from '../cli/program.ts';
import type { Network } from '../switch-participant/network.ts';
import { query } from '../support/database.ts';
import { administratorStatements, type Provider } from './providers.ts';
import type { TlsServer } from './tls-server.ts';

export const password = 'of a role';
const kinds = ['migrator', 'writer', 'redactor', 'reader'];

export class ManagedWorld {
  readonly provider: Provider;
  readonly server: TlsServer;
  readonly network: Network;
  readonly folder = mkdtempSync(join(tmpdir(), 'managed-'));
  /** Name of the database. */
  database: string;
  /** Options that commands change: the filter and the participant. */
  options: Readonly<Record<string, string>>;

  private constructor(provider: Provider, server: TlsServer, network: Network) {
    [this.provider, this.server, this.network] = [provider, server, network];
    this.database = provider.admin;
    this.options = { ...this.participant(0), LEDGER_INTERFACES: 'tokens' };
  }

  static async open(provider: Provider, server: TlsServer, network: Network): Promise<ManagedWorld> {
    const world = new ManagedWorld(provider, server, network);
    for (const kind of kinds) writeFileSync(join(world.folder, kind), password);
    for (const statement of administratorStatements(provider, server.version, password)) {
      await query(server.url('postgres'), statement);
    }
    return world;
  }

  /** Prefix of the roles that `grant-roles` creates: roles belong to the server, not to a database. */
  get prefix(): string {
    return `${this.provider.admin}_x`;
  }

  /** Whether the administrator may create a writer that bypasses row security. Before 16, only a superuser may. */
  get mayBypass(): boolean {
    const { bypassFrom } = this.provider;
    return bypassFrom !== undefined && this.server.version >= Math.max(bypassFrom, 16);
  }

  participant(index: number): Readonly<Record<string, string>> {
    return { LEDGER_URL: this.network.participants[index]?.url ?? '' };
  }

  /** URL of a role of this database, by default of the administrator. */
  url(role = this.provider.admin, database = this.database): string {
    return this.server.url(database, role, password);
  }

  /** Runs one statement as the administrator. */
  query(text: string): Promise<readonly Record<string, unknown>[]> {
    return query(this.url(), text);
  }

  /** Runs a command as the administrator. */
  run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<ProcessResult> {
    const own = {
      DATABASE_URL: this.url(),
      INDEXER_START: 'genesis',
      INDEXER_HTTP_PORT: '1',
      INDEXER_LOG_LEVEL: 'error',
    };
    return programInProcess(argv, { ...own, ...this.options, ...env }, this.folder);
  }

  async succeeds(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(argv, env);
    if (code !== 0) throw new Error(`${argv.join(' ')} at ${this.provider.name}: ${stderr}${stdout.slice(-2_000)}`);
    return stdout;
  }

  /** Writes a file into the folder; returns its path. */
  file(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
