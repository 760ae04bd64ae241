/**
 * Compares latency with two sets of projections at a given pace of the demo's traffic, and measures the lag of built-in
 * projections and of those of users.
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
import { comparedSettings, pairedRounds, type Pair } from './paired-rounds.ts';
import type { AnswersServer } from './server.ts';
import { addOwnProjections, isUsual, type ProjectionSetting } from './user-projections.ts';

/** Time at the same pace that is not counted. */
const warmUpMs = 2_000;
/** Quiet time before the traffic, in which Postgres writes what the month changed. */
const settleMs = 2_000;

const checkpointPolls = { sql: `select checkpoint as reached from ${schema}.stream`, pauseMs: 1 } as const;
/** The last offset before the first one that one of these projections has not stored. Sums do not count. */
const coveredPolls = (condition: string) =>
  ({
    sql: `select case when gaps = '{}' then checkpoint else lower(gaps) - 1 end as reached
          from (select s.checkpoint, int8multirange(int8range(null, s.checkpoint, '(]')) - p.covered as gaps
                  from ${schema}.stream s
                 cross join (select range_intersect_agg(covered) as covered
                               from ${schema}.projections p where not is_summed and ${condition}) p) c`,
    pauseMs: 20,
  }) as const;
const builtInPolls = coveredPolls('p.view_name is null');
const userPolls = coveredPolls(`p.view_name is not null and ${isUsual}`);

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
  /** From making an update until all built-in projections have stored its rows. */
  readonly lag: Delays | undefined;
  /** The same for projections of users, except for hostile ones. */
  readonly userLag: Delays | undefined;
  /** Time of the transactions of projections, as a share of the time of the traffic. */
  readonly projectionShare: number;
  /** CPU time as a share of one core. */
  readonly indexerShare: number | undefined;
  readonly postgresShare: number | undefined;
}

export interface PacedReport {
  readonly updates: number;
  readonly pace: number;
  readonly settings: Pair<ProjectionSetting>;
  readonly rounds: readonly Pair<PacedRun>[];
  /** Median of the measured p99 of the latency divided by p99 of the base, by round. */
  readonly ratio: number | undefined;
}

export async function measurePaced(options: AnswersOptions, pace: number): Promise<PacedReport> {
  const settings = comparedSettings(options);
  const rounds = await pairedRounds(options.followRounds, settings, (server, projections) =>
    runPaced(server, { ...options, pace, projections }),
  );
  return { updates: options.updates, pace, settings, rounds, ratio: median(rounds.map(p99Ratio)) };
}

function p99Ratio({ base, measured }: Pair<PacedRun>): number {
  return measured.latency.p99 / base.latency.p99;
}

interface PacedPlan extends Pick<AnswersOptions, 'updates' | 'userProjections' | 'hostile'> {
  readonly pace: number;
  readonly projections: ProjectionSetting;
}

/** Stores the month and its projections at full speed, then measures the rest of the updates at the pace. */
async function runPaced(server: AnswersServer, plan: PacedPlan): Promise<PacedRun> {
  const { url } = server;
  const demo = await startDemo(url, plan);
  await waitForGoal(url, demo.indexer, { checkpoint: demo.month.ledgerEnd });
  await untilViewsExist(url, demo);
  if (plan.projections === 'all') await addUsers(url, plan, demo);
  const goal = { offset: demo.month.ledgerEnd };
  const polls = [
    ...(plan.projections === 'off' ? [] : [builtInPolls]),
    ...(plan.projections === 'all' ? [userPolls] : []),
  ];
  for (const poll of polls) await Promise.race([pollOffsets(url, { ...poll, goal }), demo.indexer.died]);
  await sleep(settleMs);
  printStatus(`${String(plan.pace)} updates/s, projections ${plan.projections}`);
  goal.offset = Number.POSITIVE_INFINITY;
  const following = Promise.all([checkpointPolls, ...polls].map((poll) => pollOffsets(url, { ...poll, goal })));
  const cost = await startShares(server, demo);
  demo.send({ kind: 'begin' });
  const full = demo.message('full');
  const { ledgerEnd, made } = await Promise.race([full, demo.indexer.died, following.then(() => full)]);
  const { seconds, ...shares } = await cost();
  goal.offset = ledgerEnd;
  const seen = await Promise.race([following, demo.indexer.died]);
  await demo.stop();
  const [latency, lag, userLag] = seen.map((one) => delaysOf(delaysBetween(made, one, warmUpMs)));
  if (latency === undefined) throw new Error('no offsets');
  return { updatesPerSecond: (plan.updates - demo.month.updates) / seconds, latency, lag, userLag, ...shares };
}

/** Hostile projections begin to fail when a fifth of the traffic is stored. */
async function addUsers(url: string, plan: PacedPlan, { month }: DemoRun): Promise<void> {
  const hostileAfter = plan.hostile ? month.ledgerEnd + Math.round((plan.updates - month.updates) / 5) : undefined;
  await addOwnProjections(url, { count: plan.userProjections, hostileAfter });
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
  'users p50',
  'p99',
  'max s',
  'time share',
  'indexer core',
  'pg core',
];

export function pacedTable({ updates, pace, settings, rounds, ratio }: PacedReport): string {
  const rows = rounds.flatMap(({ base, measured }, round) => [
    [String(round + 1), settings.base, ...cellsOf(base)],
    ['', settings.measured, ...cellsOf(measured)],
  ]);
  return [
    `${String(updates)} updates with the month, then ${String(pace)} updates/s`,
    aligned([heads, ...rows]),
    `p99 with projections ${settings.measured} / ${settings.base}, median of the rounds: ${ratio?.toFixed(3) ?? '-'} (${rounds.map((round) => p99Ratio(round).toFixed(2)).join(', ')})`,
  ].join('\n\n');
}

function cellsOf({ updatesPerSecond, latency, lag, userLag, projectionShare, ...cpu }: PacedRun) {
  const seconds = (ms: number | undefined): string => (ms === undefined ? '-' : (ms / 1000).toFixed(2));
  return [
    updatesPerSecond.toFixed(0),
    ...[latency.p50, latency.p95, latency.p99].map((ms) => ms.toFixed(1)),
    ...[lag, userLag].flatMap((one) => [one?.p50, one?.p99, one?.max].map(seconds)),
    `${(projectionShare * 100).toFixed(1)} %`,
    (cpu.indexerShare ?? Number.NaN).toFixed(2),
    (cpu.postgresShare ?? Number.NaN).toFixed(2),
  ];
}
