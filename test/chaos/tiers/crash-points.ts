/**
 * Runs every crash point. A short history is indexed repeatedly, and each time the indexer dies before another message
 * on one of its connections. Between two messages, nothing outside of its process changes. So this covers a death at
 * every moment.
 */
import { CheckpointWatch } from './checkpoint-watch.ts';
import { differences } from '../model/comparison.ts';
import type { ChaosDatabase } from '../databases.ts';
import { historyOf, offsetAfter, type History } from '../history/history.ts';
import { startLife, type IndexerLife } from './indexer-life.ts';
import { ModelLedger } from '../model/model-ledger.ts';
import { outcomeOf, type RunOutcome } from '../model/oracle.ts';
import { runInLanes, type ChaosTier, type TierContext } from './tier.ts';
import { passVerdict, type Tap } from '../faults/wire-proxy.ts';
import type { Direction, Protocol } from '../faults/wire-units.ts';

/** One direction of the connections to one server. */
interface WireDirection {
  readonly protocol: Protocol;
  readonly direction: Direction;
}

const wires: readonly WireDirection[] = [
  { protocol: 'postgres', direction: 'up' },
  { protocol: 'postgres', direction: 'down' },
  { protocol: 'ledger', direction: 'up' },
  { protocol: 'ledger', direction: 'down' },
];

const nameOf = ({ protocol, direction }: WireDirection): string => `${protocol} ${direction}`;

const updates = 40;
const seededUpdates = 14;
const limitMs = 60_000;

interface Setting {
  readonly history: History;
  /** Number of items that are visible before the indexer follows. */
  readonly before: number;
}

function settingOf(seed: number): Setting {
  const history = historyOf(seed, { updates });
  return { history, before: seededUpdates };
}

/** Resolves when the indexer must die. */
class Death {
  readonly happened: Promise<void>;
  dead = false;
  #die: () => void = () => undefined;
  #life: IndexerLife | undefined;

  constructor() {
    this.happened = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  of(indexerLife: IndexerLife): void {
    this.#life = indexerLife;
    if (this.dead) indexerLife.drop();
  }

  strike(): void {
    if (this.dead) return;
    this.dead = true;
    this.#life?.drop();
    this.#die();
  }
}

/** Counts the messages of one run per wire, and kills the indexer before message number `point.at` (from 1). */
function counting(
  counts: Map<string, number>,
  crashPoint: { readonly wire: WireDirection; readonly at: number } | undefined,
  indexerDeath: Death,
) {
  const unitTap =
    (protocol: Protocol): Tap =>
    (unit) => {
      if (indexerDeath.dead) return { act: 'drop' };
      const name = nameOf({ protocol, direction: unit.direction });
      const number = (counts.get(name) ?? 0) + 1;
      counts.set(name, number);
      if (crashPoint === undefined || number !== crashPoint.at || name !== nameOf(crashPoint.wire)) return passVerdict;
      indexerDeath.strike();
      return { act: 'drop' };
    };
  return { postgres: unitTap('postgres'), ledger: unitTap('ledger') };
}

interface PointRun {
  readonly outcome: RunOutcome;
  /** Whether the indexer died. */
  readonly died: boolean;
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Indexes the history from an empty database to a clean stop. The indexer dies at the given point, and a second one
 * continues.
 */
async function runPoint(
  database: ChaosDatabase,
  { history, before: undisturbedCount }: Setting,
  crashPoint: { readonly wire: WireDirection; readonly at: number } | undefined,
): Promise<PointRun> {
  await using ledger = await ModelLedger.start(history, undisturbedCount);
  ledger.onFollow = () => {
    ledger.grow(history.items.length);
  };
  await using watch = await CheckpointWatch.over(database);
  const end = offsetAfter(history, history.items.length);
  const indexerDeath = new Death();
  const counts = new Map<string, number>();
  const urls = { ledgerUrl: ledger.url, databaseUrl: database.url };
  const indexerLife = await startLife({ ...urls, taps: counting(counts, crashPoint, indexerDeath) });
  indexerDeath.of(indexerLife);
  void indexerDeath.happened.then(() => watch.nudge());
  const hasReached = await watch.reaches(end, limitMs, indexerLife, () => indexerDeath.dead);
  if (hasReached) await Promise.race([indexerLife.stop(), indexerDeath.happened]);
  if (!hasReached && !indexerDeath.dead) {
    indexerLife.drop();
    throw new Error(`it did not get to ${String(end)}: ${indexerLife.ended() ?? indexerLife.log.slice(-3).join(' ')}`);
  }
  if (indexerDeath.dead) {
    await database.endOthers();
    const second = await startLife(urls);
    const reachedAgain = await watch.reaches(end, limitMs, second);
    await second.stop();
    if (!reachedAgain)
      throw new Error(`after the crash it did not get to ${String(end)}: ${second.log.slice(-3).join(' ')}`);
  }
  await indexerLife.swept();
  return { outcome: await outcomeOf(database, history), died: indexerDeath.dead, counts };
}

export const crashPoints: ChaosTier = {
  name: 'crash-points',
  what: 'a death before every message of both wires: seed, follow and stop',
  run: async (context) => {
    const setting = settingOf(context.firstSeed);
    const reference = await context.server.lend();
    const fail = (problems: readonly string[]): void =>
      context.report.fail({ tier: 'crash-points', replay: replayOf(context, undefined), found: problems });
    const undisturbedRun = await runPoint(reference, setting, undefined).catch((error: unknown) => {
      fail([`undisturbed: ${String(error)}`]);
      return undefined;
    });
    // Without an undisturbed run there are no rows to compare with.
    if (undisturbedRun === undefined) return;
    if (undisturbedRun.outcome.contradictions.length > 0) fail(undisturbedRun.outcome.contradictions);
    const selectedPoints = [...pointsOf(undisturbedRun.counts, context.stride)];
    const requestedPoints =
      context.point === undefined
        ? selectedPoints
        : selectedPoints.filter((crashPoint) => pointName(crashPoint) === context.point);
    context.say(
      `crash points: ${[...undisturbedRun.counts].map(([wire, count]) => `${wire} ${String(count)}`).join(', ')}`,
    );
    await runInLanes(context.lanes, requestedPoints, (crashPoint) =>
      tryPoint(context, setting, reference, undisturbedRun.outcome, crashPoint),
    );
    reference.giveBack();
  },
};

function* pointsOf(counts: ReadonlyMap<string, number>, stride: number) {
  let round = 0;
  for (const wire of wires) {
    // Because of background work, the number of messages varies slightly between runs.
    const maxMessages = counts.get(nameOf(wire)) ?? 0;
    for (let pointIndex = 1; pointIndex <= maxMessages; pointIndex += 1) {
      round += 1;
      if (round % stride === 0) yield { wire, at: pointIndex };
    }
  }
}

async function tryPoint(
  context: TierContext,
  setting: Setting,
  reference: ChaosDatabase,
  expected: RunOutcome,
  crashPoint: { readonly wire: WireDirection; readonly at: number },
): Promise<void> {
  const { report, server } = context;
  const kind = `crash: ${nameOf(crashPoint.wire)}`;
  report.expect(kind);
  const database = await server.lend();
  const problems: string[] = [];
  try {
    const { outcome, died: hasDied } = await runPoint(database, setting, crashPoint);
    if (!hasDied) {
      database.giveBack();
      return;
    }
    problems.push(...outcome.contradictions);
    const reachedRun = { database: database, outcome: outcome };
    problems.push(...(await differences(report, { database: reference, outcome: expected }, reachedRun)));
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  report.crashPoints += 1;
  report.hit(kind);
  if (problems.length === 0) report.crashPointsEqual += 1;
  else
    report.fail({
      tier: 'crash-points',
      replay: replayOf(context, crashPoint),
      found: [`${nameOf(crashPoint.wire)} ${String(crashPoint.at)}`, ...problems],
    });
  database.giveBack();
}

const pointName = ({ wire, at: messageIndex }: { readonly wire: WireDirection; readonly at: number }): string =>
  `${wire.protocol}-${wire.direction}-${String(messageIndex)}`;

function replayOf(
  { firstSeed }: TierContext,
  crashPoint: { readonly wire: WireDirection; readonly at: number } | undefined,
): string {
  const pointOption = crashPoint === undefined ? '' : ` --point ${pointName(crashPoint)}`;
  return `npm run chaos -- --tier crash-points --seed ${String(firstSeed)}${pointOption}`;
}
