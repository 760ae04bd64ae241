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
import { Seeded } from '../history/random.ts';
import { rowsThatDiffer } from '../model/oracle.ts';
import type { OperationFigures, OperationOptions } from './operation.ts';

/** Interval of new updates while a rebuild runs. */
const growEveryMs = 25;
const lookEveryMs = 10;
/** Maximum number of kills in one run. */
const kills = 3;
const env = { INDEXER_START: 'genesis', INDEXER_LEASE: '2s' };

/** @throws Error if a run does not end in time */
export async function run(options: OperationOptions): Promise<OperationFigures> {
  await using server = await openChaosServer();
  await using world = await RebuildWorld.open(await server.lend(), await server.lend(), options);
  const found = { runs: 0, kills: 0, lost: 0, duplicated: 0, altered: 0, pause_max_s: 0 };
  for (let run = 0; run < options.seeds; run += 1) {
    const { killed, pauseS } = await world.rebuilt(new Seeded(options.firstSeed + run));
    const { lost, duplicated, altered } = await world.differences();
    found.runs += 1;
    found.kills += killed;
    found.lost += lost;
    found.duplicated += duplicated;
    found.altered += altered;
    found.pause_max_s = Math.max(found.pause_max_s, pauseS);
    options.progress(found);
  }
  if (options.madeContracts === undefined) return found;
  return { ...found, pause_over_made_s: await world.overMade(options.madeContracts) };
}

/** Creates rows like an indexer. One contract in ten is active. Their offsets are lower than all others. */
function madeContracts(storage: string, contracts: number): readonly string[] {
  const made = `(select n, sha256(int8send(n)) as id from generate_series(1, ${String(contracts)}) n) made`;
  return [
    `insert into ${storage}.contracts ("offset", node_id, template_pk, synchronizer_pk, parties_pk, origin, contract_id, payload)
     select -n, 0, 1, 1, 1, 'c', id, '{"made": true}' from ${made}`,
    `insert into ${storage}.live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
     select -n, 0, 1, 1, 1, id from ${made} where n % 10 = 0`,
    `insert into ${storage}.ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by, contract_id)
     select -n, 1 - n, 0, 1, 1, 1, 1, 'a', id from ${made} where n % 10 <> 0`,
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

  static async open(one: ChaosDatabase, other: ChaosDatabase, options: OperationOptions): Promise<RebuildWorld> {
    const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    const world = new RebuildWorld(sandbox, [one, other], options);
    await world.#fill();
    return world;
  }

  /** Runs one rebuild, with kills chosen by the seed, until it has swapped. Then drops the previous schema. */
  async rebuilt(random: Seeded): Promise<{ readonly killed: number; readonly pauseS: number }> {
    let killed = 0;
    const targetKills = random.between(1, kills);
    const growing = setInterval(() => this.#grow(1), growEveryMs);
    let pauseS = 0;
    try {
      do {
        if (killed < targetKills) {
          await this.#violate(this.#rebuild(['--yes']), random);
          killed += 1;
        } else pauseS = await this.#undisturbed();
      } while (!(await this.#isSwapped()));
    } finally {
      clearInterval(growing);
    }
    await this.#carriedOut(['--drop-previous', '--yes']);
    return { killed, pauseS };
  }

  /** Creates this many contracts in both schemas and then runs a rebuild. Resolves to the pause, in seconds. */
  async overMade(contracts: number): Promise<number> {
    await this.#carriedOut(['--no-swap', '--yes']);
    for (const name of [schema, `${schema}_next`]) {
      for (const statement of madeContracts(name, contracts)) await this.#disturbed.client.query(statement);
    }
    const growing = setInterval(() => this.#grow(1), growEveryMs);
    try {
      return await this.#undisturbed();
    } finally {
      clearInterval(growing);
    }
  }

  /** Runs the rebuild without kills, because restarts must not count for the measured pause. */
  async #undisturbed(): Promise<number> {
    const watch = this.#watchPause();
    await this.#carriedOut(['--yes']);
    await this.#stored();
    return watch.stop();
  }

  async #carriedOut(words: readonly string[]): Promise<void> {
    const child = this.#rebuild(words);
    if ((await child.ended()) === 0) return;
    throw new Error(`rebuild ${words.join(' ')} failed: ${child.output().slice(-2_000)}`);
  }

  async differences(): Promise<{ readonly lost: number; readonly duplicated: number; readonly altered: number }> {
    await this.#stored();
    const digests = await Promise.all([this.#disturbed, this.#calm].map(({ url }) => digestOf(url, schema, 'named')));
    if (digests[0] === digests[1]) return { lost: 0, duplicated: 0, altered: 0 };
    const { lost, duplicated, altered } = await rowsThatDiffer(this.#calm, this.#disturbed);
    // If the digests differ although no row does, this counts as one difference.
    return { lost, duplicated, altered: Math.max(altered, lost + duplicated === 0 ? 1 : 0) };
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

  #rebuild(words: readonly string[]): RebuildProcess {
    return startRebuild({ ledgerUrl: this.#sandbox.url, databaseUrl: this.#disturbed.url }, words);
  }

  #grow(updates: number): void {
    for (let made = 0; made < updates; made += 1) {
      this.#microseconds += 40_000_000;
      this.#steps.step(this.#microseconds);
    }
  }

  /** Adds updates until the ledger has this many contracts and everything is stored. */
  async #fill(): Promise<void> {
    const { contracts } = this.#options;
    for (;;) {
      await this.#stored();
      const made = await this.#count(this.#calm, 'contracts');
      if (made >= contracts) return;
      // An update creates about one contract. Small batches, so that the ledger responds in between.
      this.#grow(Math.min(2_000, contracts - made));
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
  async #violate(child: RebuildProcess, random: Seeded): Promise<void> {
    const step = random.pick(steps);
    const moment = random.between(0, 3) === 0 ? pause(random.between(0, 4_000)) : child.says(step);
    // A resumed rebuild does not reach all steps again.
    await Promise.race([moment.catch(() => undefined), child.ended()]);
    if (random.between(0, 4) === 0) {
      await this.#indexer.kill();
      this.#indexer = this.#start(this.#disturbed);
      await child.ended();
    } else await child.kill();
  }

  /** Measures the longest time, in seconds, in which readers saw no newer checkpoint although the ledger had one. */
  #watchPause(): { stop(): number } {
    let longest = 0;
    const over = new AbortController();
    let seen = -1;
    let since = performance.now();
    const look = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const { rows } = await this.#disturbed.aside.query<{ at: string }>('select explore.latest_offset() as at');
        const at = Number(rows[0]?.at);
        if (at > seen || at >= this.#sandbox.ledger.ledgerEnd()) {
          if (seen >= 0) longest = Math.max(longest, performance.now() - since);
          seen = at;
          since = performance.now();
        }
        await pause(lookEveryMs);
      }
    };
    void look();
    return {
      stop: () => {
        over.abort();
        return Math.round(longest) / 1000;
      },
    };
  }
}
