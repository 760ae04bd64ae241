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
import { outcomeOf, type Outcome } from '../model/oracle.ts';
import { inLanes, type Tier, type TierContext } from './tier.ts';
import { pass, type Tap } from '../faults/wire-proxy.ts';
import type { Direction, Protocol } from '../faults/wire-units.ts';

/** One direction of the connections to one server. */
interface Wire {
  readonly protocol: Protocol;
  readonly direction: Direction;
}

const wires: readonly Wire[] = [
  { protocol: 'postgres', direction: 'up' },
  { protocol: 'postgres', direction: 'down' },
  { protocol: 'ledger', direction: 'up' },
  { protocol: 'ledger', direction: 'down' },
];

const nameOf = ({ protocol, direction }: Wire): string => `${protocol} ${direction}`;

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

  of(life: IndexerLife): void {
    this.#life = life;
    if (this.dead) life.drop();
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
  point: { readonly wire: Wire; readonly at: number } | undefined,
  death: Death,
) {
  const tap =
    (protocol: Protocol): Tap =>
    (unit) => {
      if (death.dead) return { act: 'drop' };
      const name = nameOf({ protocol, direction: unit.direction });
      const number = (counts.get(name) ?? 0) + 1;
      counts.set(name, number);
      if (point === undefined || number !== point.at || name !== nameOf(point.wire)) return pass;
      death.strike();
      return { act: 'drop' };
    };
  return { postgres: tap('postgres'), ledger: tap('ledger') };
}

interface PointRun {
  readonly outcome: Outcome;
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
  { history, before }: Setting,
  point: { readonly wire: Wire; readonly at: number } | undefined,
): Promise<PointRun> {
  await using ledger = await ModelLedger.start(history, before);
  ledger.onFollow = () => {
    ledger.grow(history.items.length);
  };
  await using watch = await CheckpointWatch.over(database);
  const end = offsetAfter(history, history.items.length);
  const death = new Death();
  const counts = new Map<string, number>();
  const urls = { ledgerUrl: ledger.url, databaseUrl: database.url };
  const life = await startLife({ ...urls, taps: counting(counts, point, death) });
  death.of(life);
  void death.happened.then(() => watch.nudge());
  const reached = await watch.reaches(end, limitMs, life, () => death.dead);
  if (reached) await Promise.race([life.stop(), death.happened]);
  if (!reached && !death.dead) {
    life.drop();
    throw new Error(`it did not get to ${String(end)}: ${life.ended() ?? life.log.slice(-3).join(' ')}`);
  }
  if (death.dead) {
    await database.endOthers();
    const second = await startLife(urls);
    const again = await watch.reaches(end, limitMs, second);
    await second.stop();
    if (!again) throw new Error(`after the crash it did not get to ${String(end)}: ${second.log.slice(-3).join(' ')}`);
  }
  await life.swept();
  return { outcome: await outcomeOf(database, history), died: death.dead, counts };
}

export const crashPoints: Tier = {
  name: 'crash-points',
  what: 'a death before every message of both wires: seed, follow and stop',
  run: async (context) => {
    const setting = settingOf(context.firstSeed);
    const reference = await context.server.lend();
    const fail = (found: readonly string[]): void =>
      context.report.fail({ tier: 'crash-points', replay: replayOf(context, undefined), found });
    const undisturbed = await runPoint(reference, setting, undefined).catch((thrown: unknown) => {
      fail([`undisturbed: ${String(thrown)}`]);
      return undefined;
    });
    // Without an undisturbed run there are no rows to compare with.
    if (undisturbed === undefined) return;
    if (undisturbed.outcome.contradictions.length > 0) fail(undisturbed.outcome.contradictions);
    const all = [...pointsOf(undisturbed.counts, context.stride)];
    const points = context.point === undefined ? all : all.filter((point) => pointName(point) === context.point);
    context.say(
      `crash points: ${[...undisturbed.counts].map(([wire, count]) => `${wire} ${String(count)}`).join(', ')}`,
    );
    await inLanes(context.lanes, points, (point) => tryPoint(context, setting, reference, undisturbed.outcome, point));
    reference.giveBack();
  },
};

function* pointsOf(counts: ReadonlyMap<string, number>, stride: number) {
  let turn = 0;
  for (const wire of wires) {
    // Because of background work, the number of messages varies slightly between runs.
    const most = counts.get(nameOf(wire)) ?? 0;
    for (let at = 1; at <= most; at += 1) {
      turn += 1;
      if (turn % stride === 0) yield { wire, at };
    }
  }
}

async function tryPoint(
  context: TierContext,
  setting: Setting,
  reference: ChaosDatabase,
  expected: Outcome,
  point: { readonly wire: Wire; readonly at: number },
): Promise<void> {
  const { report, server } = context;
  const kind = `crash: ${nameOf(point.wire)}`;
  report.expect(kind);
  const database = await server.lend();
  const found: string[] = [];
  try {
    const { outcome, died } = await runPoint(database, setting, point);
    if (!died) {
      database.giveBack();
      return;
    }
    found.push(...outcome.contradictions);
    const reached = { database: database, outcome: outcome };
    found.push(...(await differences(report, { database: reference, outcome: expected }, reached)));
  } catch (thrown) {
    found.push(thrown instanceof Error ? thrown.message : String(thrown));
  }
  report.crashPoints += 1;
  report.hit(kind);
  if (found.length === 0) report.crashPointsEqual += 1;
  else
    report.fail({
      tier: 'crash-points',
      replay: replayOf(context, point),
      found: [`${nameOf(point.wire)} ${String(point.at)}`, ...found],
    });
  database.giveBack();
}

const pointName = ({ wire, at }: { readonly wire: Wire; readonly at: number }): string =>
  `${wire.protocol}-${wire.direction}-${String(at)}`;

function replayOf({ firstSeed }: TierContext, point: { readonly wire: Wire; readonly at: number } | undefined): string {
  const at = point === undefined ? '' : ` --point ${pointName(point)}`;
  return `npm run chaos -- --tier crash-points --seed ${String(firstSeed)}${at}`;
}
