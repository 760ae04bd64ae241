/**
 * Compares the rate of the stream with two sets of projections: both fill an empty database with the same history, in
 * alternating order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../figures/figures.ts';
import { schema, withClient } from '../postgres.ts';
import { fillHistory } from './fill.ts';
import type { AnswersOptions } from './options.ts';
import { comparedSettings, pairedRounds, type Pair } from './paired-rounds.ts';
import { addOwnProjections, isUsual, type ProjectionSetting } from './user-projections.ts';

interface FollowRun {
  readonly updatesPerSecond: number;
  /** Time of the transactions of projections until the last update was stored, as a share of that time. */
  readonly projectionShare: number;
  /** Share of the updates whose rows were stored when the last update was. */
  readonly storedWhileFollowing: number;
  /** Time from the last update until all rows were stored, seconds. */
  readonly catchUpSeconds: number;
}

export interface FollowReport {
  readonly updates: number;
  readonly settings: Pair<ProjectionSetting>;
  readonly rounds: readonly Pair<FollowRun>[];
  /** Median of the measured rates divided by the rates of the base, by round. */
  readonly ratio: number | undefined;
}

export async function measureFollowing(options: AnswersOptions): Promise<FollowReport> {
  const { updates, followRounds, userProjections, hostile } = options;
  const settings = comparedSettings(options);
  const rounds = await pairedRounds(followRounds, settings, async ({ url }, projections): Promise<FollowRun> => {
    const hostileAfter = hostile ? Math.round(updates * hostileShare) : undefined;
    if (projections === 'all') await addOwnProjections(url, { count: userProjections, hostileAfter });
    let projectionSeconds = 0;
    let storedWhileFollowing = 0;
    let catchUpSeconds = 0;
    const seconds = await fillHistory(url, {
      updates,
      projections,
      onStored: async (demo) => {
        if (projections === 'off') return;
        const begin = performance.now();
        projectionSeconds = await demo.projectionSeconds();
        storedWhileFollowing = await storedShare(url);
        while ((await storedShare(url)) < 1) await sleep(50);
        catchUpSeconds = (performance.now() - begin) / 1000;
      },
    });
    const projectionShare = projectionSeconds / seconds;
    return { updatesPerSecond: updates / seconds, projectionShare, storedWhileFollowing, catchUpSeconds };
  });
  return { updates, settings, rounds, ratio: median(rounds.map(rateRatio)) };
}

/** Share of the history after which hostile projections begin to fail. */
const hostileShare = 0.7;

function rateRatio({ base, measured }: Pair<FollowRun>): number {
  return measured.updatesPerSecond / base.updatesPerSecond;
}

/**
 * Share of the updates up to the checkpoint whose rows every projection has stored. Sums do not count, because they wait
 * for the end of their block, and hostile ones do not.
 */
function storedShare(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ share: string }>(
      `select count(*) filter (where p.covered @> u."offset") / count(*)::numeric as share
         from ${schema}.updates u cross join (select range_intersect_agg(covered) as covered from ${schema}.projections p where not is_summed and ${isUsual}) p`,
    );
    return Number(rows[0]?.share ?? 0);
  });
}

export function followTable({ updates, settings, rounds, ratio }: FollowReport): string {
  return [
    `${String(updates)} updates; updates/s with projections ${settings.base}, ${settings.measured}, ratio, time share of projections, stored meanwhile, rest after`,
    ...rounds.map((round) =>
      [
        Math.round(round.base.updatesPerSecond),
        Math.round(round.measured.updatesPerSecond),
        rateRatio(round).toFixed(3),
        `${(round.measured.projectionShare * 100).toFixed(1)} %`,
        `${(round.measured.storedWhileFollowing * 100).toFixed(0)} %`,
        `${round.measured.catchUpSeconds.toFixed(1)} s`,
      ].join('  '),
    ),
    `median of the ratios ${ratio?.toFixed(3) ?? '-'}`,
  ].join('\n');
}
