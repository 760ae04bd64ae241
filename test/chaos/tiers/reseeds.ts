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
import { difference, type Outcome } from '../model/oracle.ts';
import { digestOf } from '../../support/digest.ts';
import { Seeded } from '../history/random.ts';
import { runCommand } from '../../support/run-command.ts';
import { inLanes, type Tier, type TierContext } from './tier.ts';
import { WireFaults } from '../faults/wire-faults.ts';

/** Fraction of the seeds that this tier runs. */
const share = 0.2;
const updates = 70;
/** Maximum number of times that the command is run. */
const mostRuns = 12;
const clean = 'ledger acs: closed with 1000';

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

/** Faults that can interrupt a list without changing it. Every run uses the fault `clean` first. */
const kinds = faultKinds.filter(
  ({ moments, needs, name }) => moments.includes('seed') && needs === undefined && !name.includes('pruned'),
);

/**
 * The smallest number of items, at least `items`, whose last offset is the ledger end. With another number, timing
 * would decide whether the indexer stops at the last item or at the ledger end, and the gap would vary.
 */
function atItsEnd(history: History, items: number): number {
  const number = history.items.findIndex(
    (_, at) => at + 1 >= items && endAfter(history, at + 1) === offsetAfter(history, at + 1),
  );
  return number < 0 ? history.items.length : number + 1;
}

function planOf(seed: number): ReseedPlan {
  const random = new Seeded(seed ^ 0x7e5eed);
  const history = historyOf(seed, { updates });
  const stopped = atItsEnd(history, Math.floor(history.items.length * (0.3 + 0.1 * random.next())));
  const resumed = Math.floor(history.items.length * (0.7 + 0.1 * random.next()));
  const checkpoint = offsetAfter(history, stopped);
  const faults = kinds.filter(({ name }) => name === clean);
  const tokens = seed % 2 === 0;
  return {
    seed,
    history,
    checkpoint,
    visibleItems: [stopped, resumed],
    pruned: seed % 4 === 3 ? 0 : offsetAfter(history, random.between(stopped + 5, resumed - 5)),
    tokens,
    // Without tokens, a list longer than the limit cannot be confirmed complete, so no contract ends.
    listLimit: tokens ? random.pick([200, 3]) : 200,
    faults: [...faults, ...Array.from({ length: random.between(0, 2) }, () => random.pick(kinds))],
  };
}

export const reseeds: Tier = {
  name: 'reseeds',
  what: 'gaps bridged by reseed while lists and connections are interrupted',
  run: async (context) => {
    context.report.expect(clean);
    const seeds = Math.ceil(context.seeds * share);
    const all = Array.from({ length: seeds }, (_, index) => context.firstSeed + index);
    await inLanes(context.lanes, all, (seed) => tryReseed(context, planOf(seed)));
  },
};

async function tryReseed(context: TierContext, plan: ReseedPlan): Promise<void> {
  const { server, report } = context;
  const database = await server.lend();
  const reference = await server.lend();
  const found: string[] = [];
  try {
    const outcome = await runReseed(context, database, plan);
    const expected = await runReseed(context, reference, { ...plan, faults: [] });
    found.push(...outcome.contradictions, ...expected.contradictions.map((one) => `undisturbed: ${one}`));
    found.push(...(await differences(report, { database: reference, outcome: expected }, { database, outcome })));
  } catch (thrown) {
    found.push(thrown instanceof Error ? thrown.message : String(thrown));
  }
  report.seeds += 1;
  if (found.length > 0) {
    const faults = plan.faults.map(({ name }) => name).join(', ');
    const replay = `npm run chaos -- --tier reseeds --seed ${String(plan.seed)}`;
    report.fail({ tier: 'reseeds', replay, found: [`seed ${String(plan.seed)}`, ...found, `planned: ${faults}`] });
  }
  for (const one of [database, reference]) {
    await one.endOthers();
    await one.client.query(`drop schema if exists ${schema}_reseed cascade`);
    one.giveBack();
  }
}

/** Indexes up to the checkpoint, stops, bridges the gap, and indexes to the end. */
async function runReseed(context: TierContext, database: ChaosDatabase, plan: ReseedPlan): Promise<Outcome> {
  const { history, checkpoint, visibleItems, pruned } = plan;
  await using ledger = await ModelLedger.start(history, visibleItems[0]);
  ledger.version = versionOf(plan.seed);
  ledger.tokens = plan.tokens;
  ledger.listLimit = plan.listLimit;
  await follow(database, ledger, checkpoint, context.stepTimeoutMs);
  ledger.grow(visibleItems[1]);
  ledger.pruned = pruned;
  await bridge(context, database, ledger, plan);
  const contradictions = await atEndOfGap(database, plan);
  ledger.grow(history.items.length);
  await follow(database, ledger, ledger.end, context.stepTimeoutMs);
  contradictions.push(...(await atEnd(database, plan)));
  return { digest: await digestOf(database.url, schema, 'named'), seedOffset: gapEnd(plan), contradictions };
}

const gapEnd = ({ checkpoint, pruned }: ReseedPlan): number => Math.max(checkpoint, pruned);

async function follow(database: ChaosDatabase, ledger: ModelLedger, to: number, stepTimeoutMs: number): Promise<void> {
  await using watch = await CheckpointWatch.over(database);
  // A probe of offsets without an update could move the checkpoint.
  const env = { INDEXER_START: 'genesis', INDEXER_IDLE_PROBE_AFTER: '10m' };
  const life = await startLife({ ledgerUrl: ledger.url, databaseUrl: database.url, env });
  const reached = await watch.reaches(to, stepTimeoutMs, life, () => life.parked());
  await life.stop();
  if (!reached) throw new Error(`it did not get to ${String(to)}: ${life.ended() ?? life.log.slice(-3).join(' ')}`);
}

/** Runs the command behind proxies with the planned faults, and repeats it until it succeeds. */
async function bridge(
  { report }: TierContext,
  database: ChaosDatabase,
  ledger: ModelLedger,
  plan: ReseedPlan,
): Promise<void> {
  const wires = new WireFaults();
  const world = { ledger, database, wires, random: new Seeded(plan.seed ^ 0xfa17) };
  for (const kind of plan.faults) void kind.arm(world).then(() => report.hit(kind.name));
  const failures: string[] = [];
  while (failures.length < mostRuns) {
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
    } catch (thrown) {
      failures.push(thrown instanceof Error ? thrown.message : String(thrown));
    } finally {
      wires.reborn();
      await proxies.postgres[Symbol.asyncDispose]();
      await proxies.ledger[Symbol.asyncDispose]();
    }
  }
  throw new Error(`the gap was not bridged: ${failures.at(-1) ?? ''}`);
}

async function atEndOfGap({ client }: ChaosDatabase, plan: ReseedPlan): Promise<string[]> {
  const end = gapEnd(plan);
  const { rows } = await client.query<{ checkpoint: string; active: readonly string[] | null }>(
    `select s.checkpoint,
            (select array_agg(l.contract_id || '@' || y.synchronizer_id)
               from ${schema}.lifetimes l join ${schema}.synchronizers y using (synchronizer_pk)
              where l.deactivated_offset is null) as active
       from ${schema}.stream s`,
  );
  const [row] = rows;
  const found = difference('active contract', activeSetAt(plan.history, end), row?.active ?? []);
  if (Number(row?.checkpoint) !== end) {
    found.push(`the gap ends at ${String(row?.checkpoint)} and could end at ${String(end)}`);
  }
  return found;
}

async function atEnd({ client }: ChaosDatabase, plan: ReseedPlan): Promise<readonly string[]> {
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
