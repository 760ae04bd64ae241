/** Sets up a network, a database, and an indexer with a configured participant, as an operator runs them. */
import type { IndexerError } from '../../src/errors/indexer-error.ts';
import { toIndexerError } from '../../src/errors/indexer-error.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { Network, type NetworkOptions } from './network.ts';
import { switchParticipant } from './switch-run.ts';

type Variables = Readonly<Record<string, string>>;

export class SwitchWorld {
  readonly network: Network;
  readonly database: TestDatabase;
  readonly #env: Variables;

  private constructor(network: Network, database: TestDatabase, env: Variables) {
    this.network = network;
    this.database = database;
    this.#env = env;
  }

  /** @param env common configuration of every indexer and command */
  static async open(options: NetworkOptions, env: Variables = {}): Promise<SwitchWorld> {
    return new SwitchWorld(await Network.open(options), await createMigratedDatabase(), env);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.network.close();
    await this.database.drop();
  }

  /** Environment variables with which an indexer or a command reads from this participant. */
  env(participant: number, schema = 'ledger'): Record<string, string> {
    return {
      LEDGER_URL: this.network.participants[participant]?.url ?? '',
      DATABASE_URL: this.database.url,
      POSTGRES_SCHEMA: schema,
      LEDGER_INTERFACES: 'tokens',
      INDEXER_START: 'genesis',
      ...this.#env,
    };
  }

  run(participant: number, extraEnv: Variables = {}): Promise<IndexerRun> {
    return runIndexer({ ...this.env(participant), ...extraEnv });
  }

  /** Runs `ledger-indexer switch-participant` to a participant. Resolves to its output. */
  async switchTo(participant: number, argv: readonly string[] = ['--yes'], extraEnv: Variables = {}): Promise<string> {
    return await switchParticipant({ ...this.env(participant), ...extraEnv }, argv);
  }

  /** The error of a rejected switch; undefined if it was not rejected. */
  async refusal(participant: number, extraEnv: Variables = {}): Promise<IndexerError | undefined> {
    return await this.switchTo(participant, ['--yes'], extraEnv).then(
      () => undefined,
      (error: unknown) => toIndexerError(error),
    );
  }

  /** Runs an indexer until all updates of the participant are stored. */
  async follow(participant: number, schema = 'ledger'): Promise<void> {
    await using indexer = await runIndexer(this.env(participant, schema));
    const [newestUpdate] = this.network.participants[participant]?.ledger.range(0, Infinity, 1, true) ?? [];
    await waitFor(`update ${newestUpdate?.updateId} is stored`, async () => {
      const rows = await this.rows(
        `select from ${schema}.updates u cross join ${schema}.stream s
          where ${schema}.id_text(u.update_id) = '${newestUpdate?.updateId}' and s.checkpoint >= u."offset"`,
      ).catch(() => []);
      return rows.length > 0 ? true : undefined;
    });
    await waitFor('the indexer is live', async () => ((await indexer.status()).state === 'live' ? true : undefined));
  }

  rows(text: string): Promise<readonly Record<string, unknown>[]> {
    return query(this.database.url, text);
  }

  async checkpoint(): Promise<number> {
    const [row] = await this.rows('select checkpoint from ledger.stream');
    return Number(row?.['checkpoint']);
  }
}
