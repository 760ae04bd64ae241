/**
 * Compares latency with projections and without at a given pace of the demo's traffic, and measures the lag of
 * projections.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { aligned, median } from '../figures/figures.ts';
import { processCpu, treeCpu } from '../figures/process-cpu.ts';
import { printStatus } from '../figures/terminal.ts';
import { percentile } from '../latency.ts';
import { schema } from '../postgres.ts';
import { waitForGoal } from '../progress.ts';
import { startDemo, untilViewsExist, type DemoRun } from './demo-run.ts';
import { delaysBetween, pollOffsets } from './offset-times.ts';
import type { AnswersOptions } from './options.ts';
import { pairedRounds, type Pair, type ProjectionSetting } from './paired-rounds.ts';
import type { AnswersServer } from './server.ts';

/** Time at the same pace that is not counted. */
const warmUpMs = 2_000;
/** Quiet time before the traffic, in which Postgres writes what the month changed. */
const settleMs = 2_000;

const checkpointPolls = { sql: `select checkpoint as reached from ${schema}.stream`, pauseMs: 1 } as const;
/** The last offset before the first one that a projection has not stored. Sums do not count. */
const coveredPolls = {
  sql: `select case when gaps = '{}' then checkpoint else lower(gaps) - 1 end as reached
          from (select s.checkpoint, int8multirange(int8range(null, s.checkpoint, '(]')) - p.covered as gaps
                  from ${schema}.stream s
                 cross join (select range_intersect_agg(covered) as covered
                               from ${schema}.projections where not is_summed) p) c`,
  pauseMs: 20,
} as const;

/** Milliseconds. */
interface Delays {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

interface PacedRun {
  readonly updatesPerSecond: number;
  /** From making an update until another session reads its offset. */
  readonly latency: Delays;
  /** From making an update until all projections have stored its rows. */
  readonly lag: Delays | undefined;
  /** Time of the transactions of projections, as a share of the time of the traffic. */
  readonly projectionShare: number;
  /** CPU time as a share of one core. */
  readonly indexerShare: number | undefined;
  readonly postgresShare: number | undefined;
}

export interface PacedReport {
  readonly updates: number;
  readonly pace: number;
  readonly rounds: readonly Pair<PacedRun>[];
  /** Median of p99 of the latency with projections divided by p99 without, by round. */
  readonly ratio: number | undefined;
}

export async function measurePaced({ updates, followRounds }: AnswersOptions, pace: number): Promise<PacedReport> {
  const rounds = await pairedRounds(followRounds, (server, projections) =>
    runPaced(server, { updates, pace, projections }),
  );
  return { updates, pace, rounds, ratio: median(rounds.map(p99Ratio)) };
}

function p99Ratio({ off, builtIn }: Pair<PacedRun>): number {
  return builtIn.latency.p99 / off.latency.p99;
}

interface PacedPlan {
  readonly updates: number;
  readonly pace: number;
  readonly projections: ProjectionSetting;
}

/** Stores the month and its projections at full speed, then measures the rest of the updates at the pace. */
async function runPaced(server: AnswersServer, plan: PacedPlan): Promise<PacedRun> {
  const { url } = server;
  const demo = await startDemo(url, plan);
  await waitForGoal(url, demo.indexer, { checkpoint: demo.month.ledgerEnd });
  await untilViewsExist(url, demo);
  const goal = { offset: demo.month.ledgerEnd };
  const hasProjections = plan.projections === 'built-in';
  if (hasProjections) await Promise.race([pollOffsets(url, { ...coveredPolls, goal }), demo.indexer.died]);
  await sleep(settleMs);
  printStatus(`${String(plan.pace)} updates/s, projections ${plan.projections}`);
  goal.offset = Number.POSITIVE_INFINITY;
  const following = Promise.all([
    pollOffsets(url, { ...checkpointPolls, goal }),
    hasProjections ? pollOffsets(url, { ...coveredPolls, goal }) : undefined,
  ]);
  const cost = await startShares(server, demo);
  demo.send({ kind: 'begin' });
  const full = demo.message('full');
  const { ledgerEnd, made } = await Promise.race([full, demo.indexer.died, following.then(() => full)]);
  const { seconds, ...shares } = await cost();
  goal.offset = ledgerEnd;
  const [stored, covered] = await Promise.race([following, demo.indexer.died]);
  await demo.stop();
  const delays = (seen: typeof stored): Delays => delaysOf(delaysBetween(made, seen, warmUpMs));
  return {
    updatesPerSecond: (plan.updates - demo.month.updates) / seconds,
    latency: delays(stored),
    lag: covered === undefined ? undefined : delays(covered),
    ...shares,
  };
}

/** Starts a measurement of shares of the elapsed time. */
async function startShares(server: AnswersServer, { indexer, projectionSeconds }: DemoRun) {
  const read = async () => ({
    ms: performance.now(),
    projections: await projectionSeconds(),
    indexer: processCpu(indexer.pid) ?? Number.NaN,
    postgres: treeCpu(server.pid) ?? Number.NaN,
  });
  const begin = await read();
  return async () => {
    const end = await read();
    const seconds = (end.ms - begin.ms) / 1000;
    return {
      seconds,
      projectionShare: (end.projections - begin.projections) / seconds,
      indexerShare: (end.indexer - begin.indexer) / 1e6 / seconds,
      postgresShare: (end.postgres - begin.postgres) / 1e6 / seconds,
    };
  };
}

function delaysOf(sorted: Float64Array): Delays {
  return {
    p50: percentile(sorted, 50),
    p95: percentile(sorted, 95),
    p99: percentile(sorted, 99),
    max: sorted.at(-1) ?? Number.NaN,
  };
}

const heads = [
  'round',
  'projections',
  'updates/s',
  'latency p50',
  'p95',
  'p99 ms',
  'lag p50',
  'p99',
  'max s',
  'time share',
  'indexer core',
  'pg core',
];

export function pacedTable({ updates, pace, rounds, ratio }: PacedReport): string {
  const rows = rounds.flatMap(({ off, builtIn }, round) => [
    [String(round + 1), 'off', ...cellsOf(off)],
    ['', 'built-in', ...cellsOf(builtIn)],
  ]);
  return [
    `${String(updates)} updates with the month, then ${String(pace)} updates/s`,
    aligned([heads, ...rows]),
    `p99 with projections / without, median of the rounds: ${ratio?.toFixed(3) ?? '-'} (${rounds.map((round) => p99Ratio(round).toFixed(2)).join(', ')})`,
  ].join('\n\n');
}

function cellsOf({ updatesPerSecond, latency, lag, projectionShare, indexerShare, postgresShare }: PacedRun) {
  const seconds = (ms: number | undefined): string => (ms === undefined ? '-' : (ms / 1000).toFixed(2));
  return [
    updatesPerSecond.toFixed(0),
    ...[latency.p50, latency.p95, latency.p99].map((ms) => ms.toFixed(1)),
    ...[lag?.p50, lag?.p99, lag?.max].map(seconds),
    `${(projectionShare * 100).toFixed(1)} %`,
    (indexerShare ?? Number.NaN).toFixed(2),
    (postgresShare ?? Number.NaN).toFixed(2),
  ];
}
