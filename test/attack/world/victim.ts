/**
 * A second indexer with its own database and the same small heap. It is the target of receivers and ledgers that may
 * damage its rows.
 */
import { requestQueryPage } from '../wire/ask.ts';
import { connected } from './server.ts';
import { startProgram, type Program } from './program.ts';
import type { World } from './world.ts';

export interface VictimState {
  readonly exit: number | string | undefined;
  /** Status code of `/livez`; 0 if there was no response. */
  readonly livez: number;
  /** Body of `/status`. */
  readonly status: string;
  readonly checkpoint: number;
}

export class Victim implements AsyncDisposable {
  readonly databaseUrl: string;
  readonly #world: World;
  readonly #env: Readonly<Record<string, string>>;
  #program: Program | undefined;
  #httpUrl = '';

  private constructor(world: World, databaseUrl: string, env: Readonly<Record<string, string>>) {
    [this.#world, this.databaseUrl, this.#env] = [world, databaseUrl, env];
  }

  static async open(world: World, ledgerUrl: string, env: Readonly<Record<string, string>> = {}): Promise<Victim> {
    const victim = new Victim(world, await world.server.createDatabase(), env);
    await victim.start(ledgerUrl);
    return victim;
  }

  get program(): Program {
    if (this.#program === undefined) throw new Error('the indexer was not started');
    return this.#program;
  }

  /** Starts the indexer, or restarts it on its stored rows. */
  async start(ledgerUrl: string): Promise<void> {
    await this.#program?.kill();
    const env = {
      LEDGER_URL: ledgerUrl,
      DATABASE_URL: this.databaseUrl,
      INDEXER_HTTP_PORT: '0',
      INDEXER_LOG_FORMAT: 'json',
    };
    this.#program = startProgram([], {
      flags: ['--max-old-space-size=384'],
      cwd: this.#world.folder,
      env: { ...env, INDEXER_RETRY_MAX_DELAY: '1s', ...this.#env },
    });
    [, this.#httpUrl = ''] = await this.#program.waitForOutput(/"http":"(http:[^"]+)"/);
  }

  async state(): Promise<VictimState> {
    const { status } = await requestQueryPage(`${this.#httpUrl}/livez`, { limitMs: 15_000 });
    const { body } = await requestQueryPage(`${this.#httpUrl}/status`, { limitMs: 15_000 });
    return { exit: this.program.exit(), livez: status, status: body, checkpoint: await this.checkpoint() };
  }

  /** -1 if there is no checkpoint. */
  async checkpoint(): Promise<number> {
    const client = await connected(this.databaseUrl);
    try {
      const { rows } = await client.query<{ at: string | null }>('select checkpoint as at from ledger.stream');
      return Number(rows[0]?.at ?? -1);
    } catch {
      return -1;
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program?.kill();
    await this.#world.server.dropDatabase(this.databaseUrl);
  }
}
