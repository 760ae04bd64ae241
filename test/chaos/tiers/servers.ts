/**
 * Stops and restarts Postgres while an indexer runs. The server is killed and recovers from its log, or an
 * administrator restarts it. Some servers confirm commits before they are in the log.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../packages/embedded-postgres/src/embedded-postgres.ts';
import { startDaemon, type Daemon } from '../../e2e/runs/daemon.ts';
import { differences } from '../model/comparison.ts';
import { schema, type ChaosDatabase } from '../databases.ts';
import { historyOf, offsetAfter, type History } from '../history/history.ts';
import { ModelLedger } from '../model/model-ledger.ts';
import { outcomeOf, type RunOutcome } from '../model/oracle.ts';
import { stopCleanly } from './process-life.ts';
import { SeededRandom } from '../history/random.ts';
import type { ChaosTier, TierContext } from './tier.ts';
import { runUndisturbed } from './undisturbed.ts';
import { pause } from '../../support/wait-for.ts';

const updates = 150;
const seededUpdates = 20;
const endsPerSeed = 3;
/** Fraction of the seeds that this tier runs, because each needs its own server. */
const share = 0.02;

const kinds = {
  kill: 'server: SIGKILL, recovers from its log',
  lose: 'server: SIGKILL, confirmed commits are lost',
  restart: 'server: restart by an administrator',
} as const;
type ServerEnding = keyof typeof kinds;

export const servers: ChaosTier = {
  name: 'servers',
  what: 'Postgres killed and restarted under a running daemon, commits lost',
  run: async (context) => {
    for (const kind of Object.values(kinds)) context.report.expect(kind);
    const seeds = Math.ceil(context.seeds * share);
    for (let seed = context.firstSeed; seed < context.firstSeed + seeds; seed += 1) await trySeed(context, seed);
  },
};

async function trySeed(context: TierContext, seed: number): Promise<void> {
  const { report, server } = context;
  const history = historyOf(seed, { updates });
  const reference = await server.lend();
  const problems: string[] = [];
  await using mortalServer = await MortalServer.open(seed % 2 === 0);
  try {
    const expected = await runUndisturbed(reference, history, seededUpdates);
    const outcome = await runDisturbed(context, mortalServer, history, new SeededRandom(seed));
    problems.push(...outcome.contradictions);
    const reachedRun = { database: mortalServer.database(), outcome: outcome };
    problems.push(...(await differences(report, { database: reference, outcome: expected }, reachedRun)));
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  report.seeds += 1;
  if (problems.length > 0) {
    report.fail({ tier: 'servers', replay: `npm run chaos -- --tier servers --seed ${String(seed)}`, found: problems });
  }
  reference.giveBack();
}

async function runDisturbed(
  { report }: TierContext,
  mortalServer: MortalServer,
  history: History,
  random: SeededRandom,
): Promise<RunOutcome> {
  await using ledger = await ModelLedger.start(history, seededUpdates);
  ledger.onFollow = () => {
    ledger.grow(seededUpdates + 5);
  };
  await using daemon = startDaemon({
    ledgerUrl: ledger.url,
    databaseUrl: mortalServer.url,
    schema,
    env: { INDEXER_BATCH_UPDATES: '5', INDEXER_RETRY_MAX_DELAY: '50ms' },
  });
  await waitUntil(mortalServer, offsetAfter(history, seededUpdates), daemon);
  // If the seed were lost, the indexer could correctly repeat it at another offset, and the rows would not be
  // comparable.
  await mortalServer.settle();
  for (let end = 1; end <= endsPerSeed; end += 1) {
    ledger.grow(seededUpdates + Math.ceil(((history.items.length - seededUpdates) * end) / (endsPerSeed + 1)));
    await pause(random.between(0, 60));
    const endKind: ServerEnding = random.chance(0.3) ? 'restart' : mortalServer.forgetful ? 'lose' : 'kill';
    await mortalServer.end(endKind === 'restart');
    report.hit(kinds[endKind]);
  }
  ledger.grow(history.items.length);
  await waitUntil(mortalServer, offsetAfter(history, history.items.length), daemon);
  await stopCleanly(daemon);
  return outcomeOf(mortalServer.database(), history);
}

async function waitUntil(mortalServer: MortalServer, offset: number, daemon: Daemon): Promise<void> {
  const end = performance.now() + 60_000;
  while ((await mortalServer.checkpoint()) < offset) {
    if (daemon.exit() !== undefined) throw new Error(`it ended: ${daemon.output().slice(-1_500)}`);
    if (performance.now() > end) {
      throw new Error(`it did not get to offset ${String(offset)}: ${daemon.output().slice(-1_500)}`);
    }
    await pause(20);
  }
}

/** A server that only this tier uses. It keeps its port when it restarts. */
class MortalServer implements AsyncDisposable {
  readonly #folder: string;
  readonly forgetful: boolean;
  #server: EmbeddedPostgres;
  #client: Client;

  private constructor(folder: string, isForgetful: boolean, server: EmbeddedPostgres, client: Client) {
    this.#folder = folder;
    this.forgetful = isForgetful;
    this.#server = server;
    this.#client = client;
  }

  /** @param isForgetful whether the server confirms commits before they are in its log */
  static async open(isForgetful: boolean): Promise<MortalServer> {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-chaos-'));
    const server = await start(folder, isForgetful);
    return new MortalServer(folder, isForgetful, server, await connected(server.url));
  }

  get url(): string {
    return this.#server.url;
  }

  /** The database as the oracle expects it. */
  database(): ChaosDatabase {
    const doNothing = (): Promise<void> => Promise.resolve();
    return {
      url: this.url,
      name: 'mortal',
      client: this.#client,
      aside: this.#client,
      endOthers: doNothing,
      empty: doNothing,
      giveBack: () => undefined,
    };
  }

  /** -1 if there is no checkpoint. */
  async checkpoint(): Promise<number> {
    const { rows } = await this.#client
      .query<{ checkpoint: string | null }>(`select checkpoint from ${schema}.stream`)
      .catch(() => ({ rows: [] }));
    return Number(rows[0]?.checkpoint ?? -1);
  }

  /** Waits until everything that is committed will survive a crash. */
  async settle(): Promise<void> {
    await this.#client.query('checkpoint');
  }

  /** Ends the server, by a regular stop if `isGraceful`, otherwise by SIGKILL, and starts it again. */
  async end(isGraceful: boolean): Promise<void> {
    const { port, pid } = this.#server;
    if (isGraceful) await this.#server.stop();
    else process.kill(pid, 'SIGKILL');
    this.#server = await start(this.#folder, this.forgetful, port);
    await this.#client.end().catch(() => undefined);
    this.#client = await connected(this.url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end().catch(() => undefined);
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function start(folder: string, isForgetful: boolean, port?: number): Promise<EmbeddedPostgres> {
  const settings = {
    fsync: 'off',
    synchronous_commit: isForgetful ? 'off' : 'on',
    wal_writer_delay: '10s',
    shared_buffers: '128MB',
  };
  return startEmbeddedPostgres({ dataDir: join(folder, 'data'), settings, ...(port === undefined ? {} : { port }) });
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'chaos' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
