/** Runs one seed: a history, random faults while it is indexed, a phase without faults, and the outcome. */
import { CheckpointWatch } from './checkpoint-watch.ts';
import type { ChaosDatabase } from '../databases.ts';
import type { ChaosWorld, FaultKind } from '../faults/fault-kind.ts';
import { faultKinds } from '../faults/fault-kinds.ts';
import { endAfter, historyOf, type History } from '../history/history.ts';
import { startLife, type IndexerLife } from './indexer-life.ts';
import { ModelLedger } from '../model/model-ledger.ts';
import { versionOf } from '../model/model-list.ts';
import { outcomeOf, type RunOutcome } from '../model/oracle.ts';
import { SeededRandom } from '../history/random.ts';
import { WireFaults } from '../faults/wire-faults.ts';

const maxFaults = 8;

/** Choices that a seed makes before the run. */
export interface Plan {
  readonly seed: number;
  readonly history: History;
  /** Number of items that are visible while the indexer seeds. */
  readonly before: number;
  readonly seedFaults: readonly FaultKind[];
  readonly followFaults: readonly FaultKind[];
  readonly env: Readonly<Record<string, string>>;
  readonly tokens: boolean;
  /** Maximum number of entries of a list over HTTP. */
  readonly listLimit: number;
}

const followFaultKinds = faultKinds.filter(({ moments: phases }) => phases.includes('follow'));
const seeds = faultKinds.filter(({ moments: phases }) => phases.includes('seed'));
/** Faults that can only happen while the indexer seeds. They have fewer opportunities. */
const seedFaultKinds = seeds.filter(({ moments: phases }) => !phases.includes('follow'));

/**
 * The kind of fault that is next for this seed, followed by random kinds. With random kinds only, some kinds would be
 * missing for a long time.
 */
function draw(seed: number, random: SeededRandom, count: number, kinds: Record<'turns' | 'all', readonly FaultKind[]>) {
  const faultOrder = kinds.turns[seed % kinds.turns.length];
  const otherFaults = Array.from({ length: count }, () => random.pick(kinds.all));
  return [...(faultOrder === undefined ? [] : [faultOrder]), ...otherFaults].slice(0, count);
}

/** @param fault part of fault names: every seed gets a matching fault while it follows; by default all match */
export function planOf(seed: number, fault = ''): Plan {
  const random = new SeededRandom(seed ^ 0x5eed);
  const history = historyOf(seed, { updates: random.between(40, 110) });
  const faults = random.between(6, maxFaults);
  const seedFaultCount = random.chance(0.85) ? random.between(1, 2) : 0;
  return {
    seed,
    history,
    before: Math.floor(history.items.length * (0.1 + 0.3 * random.next())),
    seedFaults: draw(seed, random, seedFaultCount, { turns: seedFaultKinds, all: seeds }),
    followFaults: draw(seed, random, faults - seedFaultCount, {
      turns: followFaultKinds.filter(({ name }) => name.includes(fault)),
      all: followFaultKinds,
    }),
    env: {
      INDEXER_BATCH_UPDATES: String(random.between(1, 12)),
      INDEXER_WRITE_CONCURRENCY: String(random.between(1, 4)),
      INDEXER_BUFFER_UPDATES: String(random.pick([3, 20, 2000])),
      INDEXER_STOP_TIMEOUT: '5s',
    },
    tokens: random.chance(0.7),
    listLimit: random.pick([200, 3]),
  };
}

export interface SeededOutcome {
  readonly outcome: RunOutcome | undefined;
  /** Names of the faults that happened. */
  readonly hits: readonly string[];
  readonly problems: readonly string[];
  readonly log: readonly string[];
}

/** Indexes the history under the faults of the plan. @param stepTimeoutMs time limit of each step, faults included */
export async function runSeed(database: ChaosDatabase, plan: Plan, stepTimeoutMs: number): Promise<SeededOutcome> {
  await using ledger = await ModelLedger.start(plan.history, plan.before);
  ledger.version = versionOf(plan.seed);
  ledger.tokens = plan.tokens;
  ledger.listLimit = plan.listLimit;
  await using watch = await CheckpointWatch.over(database);
  const run = new SeededRun(database, plan, ledger, watch, stepTimeoutMs);
  try {
    await run.throughFaults();
    await run.quietly();
    const outcome = await outcomeOf(database, plan.history);
    return { outcome, hits: run.hits, problems: run.problems, log: run.log };
  } catch (error) {
    await run.end();
    const problem = error instanceof Error ? error.message : String(error);
    return { outcome: undefined, hits: run.hits, problems: [...run.problems, problem], log: run.log };
  }
}

class SeededRun {
  readonly hits: string[] = [];
  readonly problems: string[] = [];
  readonly #database: ChaosDatabase;
  readonly #plan: Plan;
  readonly #watch: CheckpointWatch;
  readonly #world: ChaosWorld;
  #life: IndexerLife | undefined;
  #olderLog: string[] = [];
  readonly #patienceMs: number;
  readonly #gone: IndexerLife[] = [];
  /** Whether the faults so far may leave the indexer parked. */
  #mayPark = false;

  constructor(database: ChaosDatabase, plan: Plan, ledger: ModelLedger, watch: CheckpointWatch, stepTimeoutMs: number) {
    this.#patienceMs = stepTimeoutMs;
    this.#database = database;
    this.#plan = plan;
    this.#watch = watch;
    this.#world = { ledger, database, wires: new WireFaults(), random: new SeededRandom(plan.seed ^ 0xfa17) };
  }

  get log(): readonly string[] {
    return [...this.#olderLog, ...(this.#life?.log ?? [])];
  }

  /** Applies one fault after the other, each on its own part of the history. */
  async throughFaults(): Promise<void> {
    const { history, before: undisturbedCount, seedFaults, followFaults } = this.#plan;
    for (const kind of seedFaults) this.#arm(kind);
    await this.#start();
    await this.#reaches(endAfter(history, undisturbedCount), 'the seed is stored');
    this.#disarm();
    let visibleItems = Math.max(undisturbedCount, this.#world.ledger.visible);
    const share = Math.ceil((history.items.length - visibleItems) / (followFaults.length + 1));
    for (const kind of followFaults) {
      this.#arm(kind);
      visibleItems = Math.min(history.items.length, visibleItems + share);
      this.#world.ledger.grow(visibleItems);
      await this.#reaches(
        endAfter(history, visibleItems),
        `offset ${String(endAfter(history, visibleItems))} after ${kind.name}`,
      );
      this.#disarm();
    }
  }

  /** Runs without faults: the indexer must now reach the end of the history. */
  async quietly(): Promise<void> {
    const { history } = this.#plan;
    this.#world.ledger.grow(history.items.length);
    await this.#reaches(endAfter(history, history.items.length), 'the end, in peace');
    await this.end();
  }

  async end(): Promise<void> {
    await this.#life?.stop();
    for (const indexerLife of this.#gone) await indexerLife.swept();
  }

  #arm(kind: FaultKind): void {
    this.#mayPark ||= kind.needs === 'restart';
    void this.#suffer(kind);
  }

  async #suffer(kind: FaultKind): Promise<void> {
    await kind.arm(this.#world);
    this.hits.push(kind.name);
    if (kind.needs === 'death') await this.#dieAndStart();
    else if (kind.needs === 'takeover') await this.#giveWay();
    else if (kind.name === 'indexer: stopped and started') await this.#restart();
    this.#watch.nudge();
  }

  #disarm(): void {
    this.#world.wires.disarm();
    this.#world.ledger.disarm();
  }

  async #start(): Promise<void> {
    this.#world.wires.reborn();
    this.#life = await this.#another();
  }

  #another(): Promise<IndexerLife> {
    const { ledger, wires } = this.#world;
    const { env } = this.#plan;
    return startLife({ ledgerUrl: ledger.url, databaseUrl: this.#database.url, env, taps: wires.taps });
  }

  async #giveWay(): Promise<void> {
    const second = await this.#another();
    this.#bury()?.drop();
    this.#life = second;
  }

  async #dieAndStart(): Promise<void> {
    this.#bury()?.drop();
    await this.#start();
  }

  async #restart(): Promise<void> {
    await this.#bury()?.stop();
    await this.#start();
  }

  /** Removes the current life and keeps its log. */
  #bury(): IndexerLife | undefined {
    const indexerLife = this.#life;
    if (indexerLife === undefined) return undefined;
    this.#olderLog = [...this.#olderLog, ...indexerLife.log];
    this.#gone.push(indexerLife);
    this.#life = undefined;
    return indexerLife;
  }

  async #reaches(offset: number, subject: string): Promise<void> {
    const deadlineMs = performance.now() + this.#patienceMs;
    while (performance.now() < deadlineMs) {
      const indexerLife = this.#life;
      if (indexerLife === undefined) {
        // Between two lives.
        await new Promise((resolve) => setTimeout(resolve, 2));
        continue;
      }
      const stopped = (): boolean => indexerLife !== this.#life || indexerLife.parked();
      if (await this.#watch.reaches(offset, deadlineMs - performance.now(), indexerLife, stopped)) return;
      if (indexerLife !== this.#life) continue;
      if (indexerLife.parked()) await this.#unpark(indexerLife, subject);
      else if (indexerLife.ended() !== undefined) throw new Error(`${subject}: it ended, ${indexerLife.ended() ?? ''}`);
    }
    const checkpoint = await this.#watch.checkpoint();
    throw new Error(
      `${subject}: not within ${String(this.#patienceMs)} ms, the checkpoint is ${String(checkpoint)} of ${String(offset)}`,
    );
  }

  async #unpark(indexerLife: IndexerLife, subject: string): Promise<void> {
    if (!this.#mayPark) {
      const reason = indexerLife.log.findLast((line) => line.includes('parked')) ?? '';
      this.problems.push(`${subject}: it parked without a cause: ${reason.slice(0, 600)}`);
    }
    await this.#restart();
  }
}
