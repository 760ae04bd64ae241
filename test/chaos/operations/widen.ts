/**
 * Extends a filter while the built program runs. The program is killed at named steps and at random, and resumes.
 * Active contracts and all later events are compared with an index that had the filter from the beginning. All runs use
 * one ledger, with new traffic in each. A final run without kills, under a steady load, measures how far the stream
 * falls behind while contracts are added.
 */
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { accountTemplate } from '../../../packages/ledger-sandbox/src/contracts/keyed-model.ts';
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import { assign, unassign } from '../../../packages/ledger-sandbox/src/ledger/reassignments.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { startDaemon, type Daemon } from '../../e2e/runs/daemon.ts';
import { query } from '../../support/database.ts';
import { pause, waitFor } from '../../support/wait-for.ts';
import { differences, stageOf, stages } from '../../support/extended-filter.ts';
import { openChaosServer, type ChaosDatabase } from '../databases.ts';
import type { OperationFigures, OperationOptions } from './operation.ts';

const previousParty = 'former::1220aa';
const addedParty = 'added::1220bb';
const killsOfRun = 3;
const contractsOfUpdate = 100;
/** The load during runs with kills, and the load during the run that measures the lag. */
const updatesPerSecond = { killed: 100, measured: 500 };
const tickMs = 20;
/** Number of open contracts above which the load archives or reassigns contracts. Below it, each update creates one. */
const maxInFlight = 200;
/** Approximate number of contracts in flight to another synchronizer. Release 3.7 lists them only on request. */
const inFlightKept = 20;

/** @returns totals of all runs; `lag_max_s` comes from the run without kills */
export async function run({
  firstSeed,
  seeds,
  contracts,
  stepTimeoutMs,
  progress,
}: OperationOptions): Promise<OperationFigures> {
  const sums = { runs: 0, kills: 0, in_flight: 0, lost: 0, duplicated: 0, altered: 0 };
  await using server = await openChaosServer();
  await using world = await World.open(await server.lend(), stepTimeoutMs);
  world.fill(contracts);
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const runResult = await runOnce(world, seed);
    sums.runs += 1;
    sums.kills += runResult.kills;
    sums.in_flight += runResult.in_flight;
    sums.lost += runResult.lost;
    sums.duplicated += runResult.duplicated;
    sums.altered += runResult.altered;
    progress(sums);
  }
  const lagFigures = await lagRun(world);
  return { ...sums, ...lagFigures };
}

/** A reassignment of a contract to another synchronizer. */
interface Reassignment {
  readonly contractId: string;
  readonly reassignmentId: string;
  readonly leftAt: number;
  /** Offset of the assignment; absent while in flight. */
  arrivedAt?: number;
}

class World implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: ChaosDatabase;
  readonly #patienceMs: number;
  #made = 0;
  readonly #open: string[] = [];
  /** Contracts that the indexed party also sees. `inFlightAt` returns only contracts that it does not see. */
  readonly #shared = new Set<string>();
  readonly #inFlight: Reassignment[] = [];
  /** All reassignments, in the order in which they began. */
  readonly #journeys: Reassignment[] = [];
  /** Offset and time (in milliseconds) of each update of the load. */
  readonly madeAt: { readonly offset: number; readonly at: number }[] = [];

  private constructor(sandbox: Sandbox, database: ChaosDatabase, stepTimeoutMs: number) {
    this.sandbox = sandbox;
    this.database = database;
    this.#patienceMs = stepTimeoutMs;
  }

  static async open(database: ChaosDatabase, stepTimeoutMs: number): Promise<World> {
    const sandbox = await startSandbox({ release: '3.7', limits: { checkpointIntervalMs: 50 } });
    for (const party of [previousParty, addedParty]) sandbox.ledger.addLocalParty(party);
    return new World(sandbox, database, stepTimeoutMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandbox.close();
    this.database.giveBack();
  }

  /** Starts an indexer with the narrow filter that seeds at the ledger end. Rows of the previous run are deleted. */
  async begin(): Promise<Daemon> {
    await this.database.endOthers();
    await this.database.empty();
    this.madeAt.length = 0;
    const daemon = this.start('ledger', narrowFilter);
    await this.reaches('ledger', this.#ledger.ledgerEnd());
    return daemon;
  }

  get #ledger(): Ledger {
    return this.sandbox.ledger;
  }

  /** Creates contracts of the added party. The indexed party also sees a tenth of them. */
  fill(contracts: number): void {
    for (let updateIndex = 0; updateIndex < contracts; updateIndex += contractsOfUpdate) {
      const commands = Array.from({ length: Math.min(contractsOfUpdate, contracts - updateIndex) }, (_, index) => {
        const owner = index % 10 === 0 ? previousParty : addedParty;
        this.#made += 1;
        const argument = { bank: addedParty, owner, number: String(this.#made), balance: '1.0', version: '1' };
        return { kind: 'create' as const, templateId: `#${accountTemplate}`, argument };
      });
      for (const event of this.#ledger.submit({ commands, actAs: [addedParty, previousParty] }).events) {
        if (!('CreatedEvent' in event)) continue;
        const { contractId, witnessParties } = event.CreatedEvent;
        this.#open.push(contractId);
        if (witnessParties.includes(previousParty)) this.#shared.add(contractId);
      }
    }
  }

  /** Adds one update: a create, an archive, or the beginning or end of a reassignment, of old or new contracts. */
  load(random: Random): void {
    const isReassignment = random.chance(0.1);
    const isAssignment =
      isReassignment && this.#inFlight.length > random.between(0, 2 * inFlightKept)
        ? this.#inFlight.shift()
        : undefined;
    if (isAssignment !== undefined) {
      isAssignment.arrivedAt = assign(this.#ledger, isAssignment.reassignmentId);
      this.#open.push(isAssignment.contractId);
    } else if (this.#open.length > maxInFlight && random.chance(0.5)) {
      const [contractId = ''] = this.#open.splice(random.between(0, this.#open.length - 1), 1);
      if (isReassignment) {
        this.#leave(contractId);
      } else this.#ledger.exercise(contractId, 'Archive', {}, [addedParty, previousParty]);
    } else {
      this.#made += 1;
      const bank = random.chance(0.5) ? previousParty : addedParty;
      const argument = { bank, owner: addedParty, number: String(this.#made), balance: '1.0', version: '1' };
      const { contractId } = this.#ledger.create(`#${accountTemplate}`, argument, [bank, addedParty]);
      this.#open.push(contractId);
      if (bank === previousParty) this.#shared.add(contractId);
    }
    this.madeAt.push({ offset: this.#ledger.ledgerEnd(), at: performance.now() });
  }

  #leave(contractId: string): void {
    const reassignmentId = unassign(this.#ledger, contractId);
    const reassignmentRecord = { contractId, reassignmentId, leftAt: this.#ledger.ledgerEnd() };
    this.#inFlight.push(reassignmentRecord);
    this.#journeys.push(reassignmentRecord);
  }

  /** Contracts that only the added party sees and that were in flight at this offset. */
  inFlightAt(offset: number): readonly string[] {
    return this.#journeys
      .filter(({ contractId, leftAt: unassignedOffset, arrivedAt: arrivedOffset = Infinity }) => {
        return !this.#shared.has(contractId) && unassignedOffset <= offset && offset < arrivedOffset;
      })
      .map(({ contractId }) => contractId)
      .sort();
  }

  /** Adds updates at a constant rate until it is stopped. */
  traffic(random: Random, updatesPerSecond: number): { stop(): void } {
    const startMs = performance.now();
    let sentCount = 0;
    const timer = setInterval(() => {
      const dueUpdates = ((performance.now() - startMs) * updatesPerSecond) / 1_000;
      for (; sentCount < dueUpdates; sentCount += 1) this.load(random);
    }, tickMs);
    return { stop: () => clearInterval(timer) };
  }

  start(schema: string, env: Readonly<Record<string, string>>): Daemon {
    return startDaemon({ ledgerUrl: this.sandbox.url, databaseUrl: this.database.url, schema, env });
  }

  /** Runs `filter extend` in this process. */
  async command(args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
    const { runCommand } = await import('../../support/run-command.ts');
    const { filterCommand } = await import('../../../src/cli/maintain/filter.ts');
    const settings = {
      LEDGER_URL: this.sandbox.url,
      DATABASE_URL: this.database.url,
      POSTGRES_SCHEMA: 'ledger',
      ...env,
    };
    await runCommand(filterCommand, ['extend', ...args], settings);
  }

  async reaches(schema: string, offset: number): Promise<void> {
    await waitFor(
      `${schema} is at ${String(offset)}`,
      async () => ((await this.checkpoint(schema)) >= offset ? true : undefined),
      this.#patienceMs,
    );
  }

  async checkpoint(schema: string): Promise<number> {
    const { rows } = await this.database.client
      .query<{ checkpoint: string | null }>(`select checkpoint from ${schema}.stream`)
      .catch(() => ({ rows: [] }));
    return Number(rows[0]?.checkpoint ?? -1);
  }

  /** The checkpoint of the stream, and the current step of the background job. */
  async readProgress(): Promise<{ readonly checkpoint: number; readonly step: string }> {
    const { rows } = await this.database.client.query<{ checkpoint: string | null; step: string | null }>(
      `select checkpoint, (select step from ledger.jobs where name = 'filter-extend' and state = 'working') as step from ledger.stream`,
    );
    return { checkpoint: Number(rows[0]?.checkpoint ?? -1), step: rows[0]?.step ?? 'nothing' };
  }

  /** Waits for this step or a later one. */
  async comesTo(stageNumber: number): Promise<void> {
    await waitFor(
      `the step ${stages[stageNumber] ?? ''} to be killed at`,
      async () => (stages.indexOf(await stageOf(this.database.url)) >= stageNumber ? true : undefined),
      this.#patienceMs,
    );
  }

  async extended(): Promise<void> {
    await waitFor(
      'the filter is extended',
      async () => {
        const [job] = await query(
          this.database.url,
          `select state, problem from ledger.jobs where name = 'filter-extend'`,
        );
        if (job?.['state'] === 'failed') throw new Error(String(job['problem']));
        return job?.['state'] === 'done' ? true : undefined;
      },
      this.#patienceMs,
    );
  }
}

const narrowFilter = { LEDGER_PARTIES: previousParty };
const wideFilter = { LEDGER_PARTIES: `${addedParty},${previousParty}` };

interface ExtendResult {
  readonly kills: number;
  /** Number of contracts outside of the previous filter that were in flight when the new filter took effect. */
  readonly in_flight: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly altered: number;
}

async function runOnce(world: World, seed: number): Promise<ExtendResult> {
  const random = new Random(seed);
  let daemon = await world.begin();
  const traffic = world.traffic(random, updatesPerSecond.killed);
  try {
    await world.command(['--yes'], wideFilter);
    for (let kill = 0; kill < killsOfRun; kill += 1) {
      await killAt(world, daemon, random, seed + kill);
      daemon = world.start('ledger', kill % 2 === 0 ? wideFilter : narrowFilter);
    }
    await world.extended();
  } finally {
    traffic.stop();
  }
  const end = world.sandbox.ledger.ledgerEnd();
  await world.reaches('ledger', end);
  await daemon.kill();
  return { kills: killsOfRun, ...(await compareStreams(world, end)) };
}

/** Kills the indexer at a named step, or shortly after it. */
async function killAt(world: World, daemon: Daemon, random: Random, stageNumber: number): Promise<void> {
  await world.comesTo(stageNumber % (stages.length - 1));
  await pause(random.between(0, 300));
  await daemon.kill();
}

async function compareStreams(world: World, end: number): Promise<Omit<ExtendResult, 'kills'>> {
  const { url } = world.database;
  // This index starts at genesis and continues in each run, so its rows are those of an index whose filter was never
  // extended.
  const freshIndexer = world.start('fresh', { ...wideFilter, INDEXER_START: 'genesis' });
  await world.reaches('fresh', end);
  await freshIndexer.kill();
  const [range] = await query(url, 'select max(from_offset)::int as at from ledger.coverage');
  const from = Number(range?.['at']);
  const inFlight = world.inFlightAt(from);
  const rowDifferences = await differences(url, 'ledger', 'fresh', from, Infinity);
  rowDifferences.push(...(await countMissing(inFlight, url)));
  // A row that differs between both sides is reported for each side.
  const differenceKeys = (side: string): readonly string[] =>
    rowDifferences
      .filter((line) => line.startsWith(side))
      .map((line) => line.slice(side.length).replace(/"(?!offset|node_id)[a-z_]+": .*$/, ''));
  const [ledgerOnlyKeys, freshOnlyKeys] = [differenceKeys('only ledger: '), differenceKeys('only fresh: ')];
  const alteredKeys = ledgerOnlyKeys.filter((key) => freshOnlyKeys.includes(key)).length;
  if (rowDifferences.length > 0) for (const line of rowDifferences.slice(0, 5)) console.error(line);
  return {
    in_flight: inFlight.length,
    lost: freshOnlyKeys.length - alteredKeys,
    duplicated: ledgerOnlyKeys.length - alteredKeys,
    altered: alteredKeys,
  };
}

/** Contracts in flight when the filter took effect and not stored. Only the list contains them, not the updates. */
async function countMissing(inFlight: readonly string[], url: string): Promise<readonly string[]> {
  const storedRows = await query(
    url,
    'select ledger.id_text(contract_id) as id from ledger.reassignments where incomplete',
  );
  const ids = new Set(storedRows.map(({ id }) => id));
  return inFlight.filter((id) => !ids.has(id)).map((id) => `only fresh: in flight ${id}`);
}

/** Measures the longest time that an update waited to be stored, from the request until all contracts are added. */
async function lagRun(world: World) {
  const daemon = await world.begin();
  const traffic = world.traffic(new Random(7), updatesPerSecond.measured);
  await pause(3_000);
  const lagBefore = await lagWhile(world, () => pause(5_000));
  const startMs = performance.now();
  const lagDuring = await lagWhile(world, async () => {
    await world.command(['--yes'], wideFilter);
    await world.extended();
  });
  const seconds = (performance.now() - startMs) / 1_000;
  traffic.stop();
  await daemon.kill();
  const longestLag = (lagsByName: ReadonlyMap<string, number>): number => Math.max(...lagsByName.values());
  console.log(`  seconds behind, by step of the background job: ${JSON.stringify(Object.fromEntries(lagDuring))}`);
  return { lag_max_s: longestLag(lagDuring), lag_before_max_s: longestLag(lagBefore), widen_s: seconds };
}

/** The longest wait during each step of the job, in seconds. */
async function lagWhile(world: World, work: () => Promise<void>): Promise<ReadonlyMap<string, number>> {
  const runEnded = new AbortController();
  const longestLags = new Map<string, number>([['nothing', 0]]);
  const watching = (async () => {
    for (let next = 0; !runEnded.signal.aborted;) {
      const { checkpoint, step } = await world.readProgress();
      const now = performance.now();
      while ((world.madeAt[next]?.offset ?? Infinity) <= checkpoint) next += 1;
      const nextMade = world.madeAt[next];
      if (nextMade !== undefined)
        longestLags.set(step, Math.max(longestLags.get(step) ?? 0, (now - nextMade.at) / 1_000));
      await pause(20);
    }
  })();
  try {
    await work();
  } finally {
    runEnded.abort();
    await watching;
  }
  return longestLags;
}
