/**
 * Runs `rebuild` of the built program repeatedly while an indexer runs. Both are killed, at steps of the rebuild and at
 * random moments, and the rebuild is run again until it has swapped the schemas. The rows are compared with an index
 * without faults.
 */
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { Steps } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { startDaemon, type Daemon } from '../../e2e/runs/daemon.ts';
import { startRebuild, steps, type RebuildProcess } from '../../rebuild/process.ts';
import { digestOf } from '../../support/digest.ts';
import { pause, waitFor } from '../../support/wait-for.ts';
import { openChaosServer, schema, type ChaosDatabase } from '../databases.ts';
import { SeededRandom } from '../history/random.ts';
import { differingRowsOf } from '../model/oracle.ts';
import type { OperationFigures, OperationOptions } from './operation.ts';

/** Interval of new updates while a rebuild runs. */
const growEveryMs = 25;
const pollIntervalMs = 10;
/** Maximum number of kills in one run. */
const maxKills = 3;
const env = { INDEXER_START: 'genesis', INDEXER_LEASE: '2s' };

/** @throws Error if a run does not end in time */
export async function run(options: OperationOptions): Promise<OperationFigures> {
  await using server = await openChaosServer();
  await using world = await RebuildWorld.open(await server.lend(), await server.lend(), options);
  const counts = { runs: 0, kills: 0, lost: 0, duplicated: 0, altered: 0, pause_max_s: 0 };
  for (let run = 0; run < options.seeds; run += 1) {
    const { killed: killCount, pauseS } = await world.rebuilt(new SeededRandom(options.firstSeed + run));
    const { lost: lostCount, duplicated: duplicatedCount, altered: alteredCount } = await world.differences();
    counts.runs += 1;
    counts.kills += killCount;
    counts.lost += lostCount;
    counts.duplicated += duplicatedCount;
    counts.altered += alteredCount;
    counts.pause_max_s = Math.max(counts.pause_max_s, pauseS);
    options.progress(counts);
  }
  if (options.madeContracts === undefined) return counts;
  return { ...counts, pause_over_made_s: await world.overMade(options.madeContracts) };
}

/** Creates rows like an indexer. One contract in ten is active. Their offsets are lower than all others. */
function madeContracts(schemaName: string, contracts: number): readonly string[] {
  const madeIdsSql = `(select n, sha256(int8send(n)) as id from generate_series(1, ${String(contracts)}) n) made`;
  return [
    `insert into ${schemaName}.contracts ("offset", node_id, template_pk, synchronizer_pk, parties_pk, origin, contract_id, payload)
     select -n, 0, 1, 1, 1, 'c', id, '{"made": true}' from ${madeIdsSql}`,
    `insert into ${schemaName}.live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
     select -n, 0, 1, 1, 1, id from ${madeIdsSql} where n % 10 = 0`,
    `insert into ${schemaName}.ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by, contract_id)
     select -n, 1 - n, 0, 1, 1, 1, 1, 'a', id from ${madeIdsSql} where n % 10 <> 0`,
  ];
}

class RebuildWorld implements AsyncDisposable {
  readonly #sandbox: Sandbox;
  readonly #steps: Steps;
  readonly #disturbed: ChaosDatabase;
  readonly #calm: ChaosDatabase;
  readonly #options: OperationOptions;
  readonly #calmIndexer: Daemon;
  #indexer: Daemon;
  #microseconds = Date.UTC(2026, 0, 5, 8) * 1000;

  private constructor(sandbox: Sandbox, databases: readonly [ChaosDatabase, ChaosDatabase], options: OperationOptions) {
    this.#sandbox = sandbox;
    this.#steps = new Steps(sandbox.ledger, 7);
    [this.#disturbed, this.#calm] = databases;
    this.#options = options;
    this.#grow(200);
    this.#indexer = this.#start(this.#disturbed);
    this.#calmIndexer = this.#start(this.#calm);
  }

  static async open(
    calmDatabase: ChaosDatabase,
    disturbedDatabase: ChaosDatabase,
    options: OperationOptions,
  ): Promise<RebuildWorld> {
    const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    const world = new RebuildWorld(sandbox, [calmDatabase, disturbedDatabase], options);
    await world.#fill();
    return world;
  }

  /** Runs one rebuild, with kills chosen by the seed, until it has swapped. Then drops the previous schema. */
  async rebuilt(random: SeededRandom): Promise<{ readonly killed: number; readonly pauseS: number }> {
    let killCount = 0;
    const targetKills = random.between(1, maxKills);
    const growTimer = setInterval(() => this.#grow(1), growEveryMs);
    let pauseS = 0;
    try {
      do {
        if (killCount < targetKills) {
          await this.#violate(this.#rebuild(['--yes']), random);
          killCount += 1;
        } else pauseS = await this.#undisturbed();
      } while (!(await this.#isSwapped()));
    } finally {
      clearInterval(growTimer);
    }
    await this.#carriedOut(['--drop-previous', '--yes']);
    return { killed: killCount, pauseS };
  }

  /** Creates this many contracts in both schemas and then runs a rebuild. Resolves to the pause, in seconds. */
  async overMade(contracts: number): Promise<number> {
    await this.#carriedOut(['--no-swap', '--yes']);
    for (const name of [schema, `${schema}_next`]) {
      for (const statement of madeContracts(name, contracts)) await this.#disturbed.client.query(statement);
    }
    const growTimer = setInterval(() => this.#grow(1), growEveryMs);
    try {
      return await this.#undisturbed();
    } finally {
      clearInterval(growTimer);
    }
  }

  /** Runs the rebuild without kills, because restarts must not count for the measured pause. */
  async #undisturbed(): Promise<number> {
    const watch = this.#watchPause();
    await this.#carriedOut(['--yes']);
    await this.#stored();
    return watch.stop();
  }

  async #carriedOut(args: readonly string[]): Promise<void> {
    const child = this.#rebuild(args);
    if ((await child.ended()) === 0) return;
    throw new Error(`rebuild ${args.join(' ')} failed: ${child.output().slice(-2_000)}`);
  }

  async differences(): Promise<{ readonly lost: number; readonly duplicated: number; readonly altered: number }> {
    await this.#stored();
    const digests = await Promise.all([this.#disturbed, this.#calm].map(({ url }) => digestOf(url, schema, 'named')));
    if (digests[0] === digests[1]) return { lost: 0, duplicated: 0, altered: 0 };
    const {
      lost: lostCount,
      duplicated: duplicatedCount,
      altered: alteredCount,
    } = await differingRowsOf(this.#calm, this.#disturbed);
    // If the digests differ although no row does, this counts as one difference.
    return {
      lost: lostCount,
      duplicated: duplicatedCount,
      altered: Math.max(alteredCount, lostCount + duplicatedCount === 0 ? 1 : 0),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#indexer.kill(), this.#calmIndexer.kill()]);
    await this.#sandbox.close();
    this.#disturbed.giveBack();
    this.#calm.giveBack();
  }

  #start({ url }: ChaosDatabase): Daemon {
    return startDaemon({ ledgerUrl: this.#sandbox.url, databaseUrl: url, schema, env });
  }

  #rebuild(args: readonly string[]): RebuildProcess {
    return startRebuild({ ledgerUrl: this.#sandbox.url, databaseUrl: this.#disturbed.url }, args);
  }

  #grow(updates: number): void {
    for (let updateIndex = 0; updateIndex < updates; updateIndex += 1) {
      this.#microseconds += 40_000_000;
      this.#steps.step(this.#microseconds);
    }
  }

  /** Adds updates until the ledger has this many contracts and everything is stored. */
  async #fill(): Promise<void> {
    const { contracts } = this.#options;
    for (;;) {
      await this.#stored();
      const contractCount = await this.#count(this.#calm, 'contracts');
      if (contractCount >= contracts) return;
      // An update creates about one contract. Small batches, so that the ledger responds in between.
      this.#grow(Math.min(2_000, contracts - contractCount));
    }
  }

  async #stored(): Promise<void> {
    const end = this.#sandbox.ledger.ledgerEnd();
    for (const database of [this.#disturbed, this.#calm]) {
      await waitFor(
        `offset ${String(end)} is stored`,
        async () => ((await this.#checkpoint(database)) >= end ? true : undefined),
        this.#options.stepTimeoutMs,
      );
    }
  }

  async #checkpoint({ client }: ChaosDatabase): Promise<number> {
    const { rows } = await client.query<{ at: string | null }>('select explore.latest_offset() as at');
    return Number(rows[0]?.at ?? -1);
  }

  async #count({ client }: ChaosDatabase, table: string): Promise<number> {
    const { rows } = await client.query<{ count: string }>(`select count(*) from ${schema}.${table}`);
    return Number(rows[0]?.count);
  }

  async #isSwapped(): Promise<boolean> {
    const { client } = this.#disturbed;
    // The session of a process that was killed during the swap ends only when the server notices.
    await waitFor('the session of the rebuild is over', async () => {
      const { rows } = await client.query<{ left: string }>(
        `select count(*) as left from pg_stat_activity
          where datname = current_database() and application_name = 'ledger-indexer rebuild'`,
      );
      return rows[0]?.left === '0' ? true : undefined;
    });
    const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [`${schema}_previous`]);
    return rowCount === 1;
  }

  /** Kills the rebuild at one of its steps or at a random moment; in one of five cases, kills the indexer instead. */
  async #violate(child: RebuildProcess, random: SeededRandom): Promise<void> {
    const step = random.pick(steps);
    const killDelay = random.between(0, 3) === 0 ? pause(random.between(0, 4_000)) : child.says(step);
    // A resumed rebuild does not reach all steps again.
    await Promise.race([killDelay.catch(() => undefined), child.ended()]);
    if (random.between(0, 4) === 0) {
      await this.#indexer.kill();
      this.#indexer = this.#start(this.#disturbed);
      await child.ended();
    } else await child.kill();
  }

  /** Measures the longest time, in seconds, in which readers saw no newer checkpoint although the ledger had one. */
  #watchPause(): { stop(): number } {
    let longestPauseMs = 0;
    const runEnded = new AbortController();
    let highestOffset = -1;
    let since = performance.now();
    const checkVisible = async (): Promise<void> => {
      while (!runEnded.signal.aborted) {
        const { rows } = await this.#disturbed.aside.query<{ at: string }>('select explore.latest_offset() as at');
        const at = Number(rows[0]?.at);
        if (at > highestOffset || at >= this.#sandbox.ledger.ledgerEnd()) {
          if (highestOffset >= 0) longestPauseMs = Math.max(longestPauseMs, performance.now() - since);
          highestOffset = at;
          since = performance.now();
        }
        await pause(pollIntervalMs);
      }
    };
    void checkVisible();
    return {
      stop: () => {
        runEnded.abort();
        return Math.round(longestPauseMs) / 1000;
      },
    };
  }
}
