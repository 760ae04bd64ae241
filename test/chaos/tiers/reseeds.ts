/**
 * The participant prunes past the checkpoint of a stopped indexer. `reseed` bridges the gap while faults interrupt
 * lists and connections, and is repeated until it succeeds. The active contracts at the end of the gap and the earlier
 * rows must equal the model ledger. All tables must be the same as after a reseed without faults.
 */
import { reseedCommand } from '../../../src/cli/maintain/reseed.ts';
import { CheckpointWatch } from './checkpoint-watch.ts';
import { differences } from '../model/comparison.ts';
import { schema, type ChaosDatabase } from '../databases.ts';
import type { FaultKind } from '../faults/fault-kind.ts';
import { faultKinds } from '../faults/fault-kinds.ts';
import { activeSetAt, historyOf, endAfter, offsetAfter, type History } from '../history/history.ts';
import { defaults, startLife, startProxies } from './indexer-life.ts';
import { ModelLedger } from '../model/model-ledger.ts';
import { versionOf } from '../model/model-list.ts';
import { difference, type RunOutcome } from '../model/oracle.ts';
import { digestOf } from '../../support/digest.ts';
import { SeededRandom } from '../history/random.ts';
import { runCommand } from '../../support/run-command.ts';
import { runInLanes, type ChaosTier, type TierContext } from './tier.ts';
import { WireFaults } from '../faults/wire-faults.ts';

/** Fraction of the seeds that this tier runs. */
const share = 0.2;
const updates = 70;
/** Maximum number of times that the command is run. */
const maxRuns = 12;
const cleanClose = 'ledger acs: closed with 1000';

interface ReseedPlan {
  readonly seed: number;
  readonly history: History;
  /** Checkpoint at which the indexer stopped. */
  readonly checkpoint: number;
  /** Numbers of items that are visible at the stop, and while the gap is bridged. */
  readonly visibleItems: readonly [number, number];
  /** Pruned offset of the participant. If it is below the checkpoint, there is no gap. */
  readonly pruned: number;
  readonly tokens: boolean;
  readonly listLimit: number;
  readonly faults: readonly FaultKind[];
}

/** Faults that can interrupt a list without changing it. Every run uses the fault `cleanClose` first. */
const kinds = faultKinds.filter(
  ({ moments: phases, needs: requirement, name }) =>
    phases.includes('seed') && requirement === undefined && !name.includes('pruned'),
);

/**
 * The smallest number of items, at least `items`, whose last offset is the ledger end. With another number, timing
 * would decide whether the indexer stops at the last item or at the ledger end, and the gap would vary.
 */
function itemsAtEnd(history: History, items: number): number {
  const number = history.items.findIndex(
    (_, index) => index + 1 >= items && endAfter(history, index + 1) === offsetAfter(history, index + 1),
  );
  return number < 0 ? history.items.length : number + 1;
}

function planOf(seed: number): ReseedPlan {
  const random = new SeededRandom(seed ^ 0x7e5eed);
  const history = historyOf(seed, { updates });
  const stopped = itemsAtEnd(history, Math.floor(history.items.length * (0.3 + 0.1 * random.next())));
  const resumedItems = Math.floor(history.items.length * (0.7 + 0.1 * random.next()));
  const checkpoint = offsetAfter(history, stopped);
  const faults = kinds.filter(({ name }) => name === cleanClose);
  const tokens = seed % 2 === 0;
  return {
    seed,
    history,
    checkpoint,
    visibleItems: [stopped, resumedItems],
    pruned: seed % 4 === 3 ? 0 : offsetAfter(history, random.between(stopped + 5, resumedItems - 5)),
    tokens,
    // Without tokens, a list longer than the limit cannot be confirmed complete, so no contract ends.
    listLimit: tokens ? random.pick([200, 3]) : 200,
    faults: [...faults, ...Array.from({ length: random.between(0, 2) }, () => random.pick(kinds))],
  };
}

export const reseeds: ChaosTier = {
  name: 'reseeds',
  what: 'gaps bridged by reseed while lists and connections are interrupted',
  run: async (context) => {
    context.report.expect(cleanClose);
    const seeds = Math.ceil(context.seeds * share);
    const allSeeds = Array.from({ length: seeds }, (_, index) => context.firstSeed + index);
    await runInLanes(context.lanes, allSeeds, (seed) => tryReseed(context, planOf(seed)));
  },
};

async function tryReseed(context: TierContext, plan: ReseedPlan): Promise<void> {
  const { server, report } = context;
  const database = await server.lend();
  const reference = await server.lend();
  const problems: string[] = [];
  try {
    const outcome = await runReseed(context, database, plan);
    const expected = await runReseed(context, reference, { ...plan, faults: [] });
    problems.push(...outcome.contradictions, ...expected.contradictions.map((problem) => `undisturbed: ${problem}`));
    problems.push(...(await differences(report, { database: reference, outcome: expected }, { database, outcome })));
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  report.seeds += 1;
  if (problems.length > 0) {
    const faults = plan.faults.map(({ name }) => name).join(', ');
    const replay = `npm run chaos -- --tier reseeds --seed ${String(plan.seed)}`;
    report.fail({ tier: 'reseeds', replay, found: [`seed ${String(plan.seed)}`, ...problems, `planned: ${faults}`] });
  }
  for (const chaosDatabase of [database, reference]) {
    await chaosDatabase.endOthers();
    await chaosDatabase.client.query(`drop schema if exists ${schema}_reseed cascade`);
    chaosDatabase.giveBack();
  }
}

/** Indexes up to the checkpoint, stops, bridges the gap, and indexes to the end. */
async function runReseed(context: TierContext, database: ChaosDatabase, plan: ReseedPlan): Promise<RunOutcome> {
  const { history, checkpoint, visibleItems, pruned: prunedOffset } = plan;
  await using ledger = await ModelLedger.start(history, visibleItems[0]);
  ledger.version = versionOf(plan.seed);
  ledger.tokens = plan.tokens;
  ledger.listLimit = plan.listLimit;
  await follow(database, ledger, checkpoint, context.stepTimeoutMs);
  ledger.grow(visibleItems[1]);
  ledger.pruned = prunedOffset;
  await waitForGapEnd(context, database, ledger, plan);
  const contradictions = await stateAtGapEnd(database, plan);
  ledger.grow(history.items.length);
  await follow(database, ledger, ledger.end, context.stepTimeoutMs);
  contradictions.push(...(await stateAtEnd(database, plan)));
  return { digest: await digestOf(database.url, schema, 'named'), seedOffset: gapEnd(plan), contradictions };
}

const gapEnd = ({ checkpoint, pruned: prunedOffset }: ReseedPlan): number => Math.max(checkpoint, prunedOffset);

async function follow(database: ChaosDatabase, ledger: ModelLedger, to: number, stepTimeoutMs: number): Promise<void> {
  await using watch = await CheckpointWatch.over(database);
  // A probe of offsets without an update could move the checkpoint.
  const env = { INDEXER_START: 'genesis', INDEXER_IDLE_PROBE_AFTER: '10m' };
  const indexerLife = await startLife({ ledgerUrl: ledger.url, databaseUrl: database.url, env });
  const hasReached = await watch.reaches(to, stepTimeoutMs, indexerLife, () => indexerLife.parked());
  await indexerLife.stop();
  if (!hasReached)
    throw new Error(`it did not get to ${String(to)}: ${indexerLife.ended() ?? indexerLife.log.slice(-3).join(' ')}`);
}

/** Runs the command behind proxies with the planned faults, and repeats it until it succeeds. */
async function waitForGapEnd(
  { report }: TierContext,
  database: ChaosDatabase,
  ledger: ModelLedger,
  plan: ReseedPlan,
): Promise<void> {
  const wires = new WireFaults();
  const world = { ledger, database, wires, random: new SeededRandom(plan.seed ^ 0xfa17) };
  for (const kind of plan.faults) void kind.arm(world).then(() => report.hit(kind.name));
  const failures: string[] = [];
  while (failures.length < maxRuns) {
    const proxies = await startProxies({ ledgerUrl: ledger.url, databaseUrl: database.url }, wires.taps);
    const env = {
      ...defaults,
      LEDGER_URL: proxies.ledger.before(ledger.url),
      DATABASE_URL: proxies.postgres.before(database.url),
      POSTGRES_SCHEMA: schema,
      INDEXER_LOG_LEVEL: 'silent',
    };
    try {
      await runCommand(reseedCommand, ['--yes'], env);
      ledger.disarm();
      return;
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    } finally {
      wires.reborn();
      await proxies.postgres[Symbol.asyncDispose]();
      await proxies.ledger[Symbol.asyncDispose]();
    }
  }
  throw new Error(`the gap was not bridged: ${failures.at(-1) ?? ''}`);
}

async function stateAtGapEnd({ client }: ChaosDatabase, plan: ReseedPlan): Promise<string[]> {
  const end = gapEnd(plan);
  const { rows } = await client.query<{ checkpoint: string; active: readonly string[] | null }>(
    `select s.checkpoint,
            (select array_agg(l.contract_id || '@' || y.synchronizer_id)
               from ${schema}.lifetimes l join ${schema}.synchronizers y using (synchronizer_pk)
              where l.deactivated_offset is null) as active
       from ${schema}.stream s`,
  );
  const [row] = rows;
  const problems = difference('active contract', activeSetAt(plan.history, end), row?.active ?? []);
  if (Number(row?.checkpoint) !== end) {
    problems.push(`the gap ends at ${String(row?.checkpoint)} and could end at ${String(end)}`);
  }
  return problems;
}

async function stateAtEnd({ client }: ChaosDatabase, plan: ReseedPlan): Promise<readonly string[]> {
  const { history, checkpoint } = plan;
  const { rows } = await client.query<{ offset: string }>(`select "offset" from ${schema}.updates`);
  const sentUpdates = history.items.filter(
    ({ kind, offset }) => kind !== 'checkpoint' && (offset <= checkpoint || offset > gapEnd(plan)),
  );
  const expectedOffsets = sentUpdates.map(({ offset }) => String(offset));
  return difference(
    'update',
    expectedOffsets,
    rows.map(({ offset }) => offset),
  );
}
