/**
 * Compares the rate of the stream with projections and without: both fill an empty database with the same history, in
 * alternating order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../figures/figures.ts';
import { schema, withClient } from '../postgres.ts';
import { fillHistory } from './fill.ts';
import type { AnswersOptions } from './options.ts';
import { pairedRounds, type Pair } from './paired-rounds.ts';

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
  readonly rounds: readonly Pair<FollowRun>[];
  /** Median of the rates with projections divided by the rates without, by round. */
  readonly ratio: number | undefined;
}

export async function measureFollowing({ updates, followRounds }: AnswersOptions): Promise<FollowReport> {
  const rounds = await pairedRounds(followRounds, async ({ url }, projections): Promise<FollowRun> => {
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
  return { updates, rounds, ratio: median(rounds.map(rateRatio)) };
}

function rateRatio({ off, builtIn }: Pair<FollowRun>): number {
  return builtIn.updatesPerSecond / off.updatesPerSecond;
}

/**
 * Share of the updates up to the checkpoint whose rows every projection has stored. Sums do not count, because they wait
 * for the end of their block.
 */
function storedShare(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ share: string }>(
      `select count(*) filter (where p.covered @> u."offset") / count(*)::numeric as share
         from ${schema}.updates u cross join (select range_intersect_agg(covered) as covered from ${schema}.projections where not is_summed) p`,
    );
    return Number(rows[0]?.share ?? 0);
  });
}

export function followTable({ updates, rounds, ratio }: FollowReport): string {
  return [
    `${String(updates)} updates; updates/s without projections, with projections, ratio, time share of projections, stored meanwhile, rest after`,
    ...rounds.map((round) =>
      [
        Math.round(round.off.updatesPerSecond),
        Math.round(round.builtIn.updatesPerSecond),
        rateRatio(round).toFixed(3),
        `${(round.builtIn.projectionShare * 100).toFixed(1)} %`,
        `${(round.builtIn.storedWhileFollowing * 100).toFixed(0)} %`,
        `${round.builtIn.catchUpSeconds.toFixed(1)} s`,
      ].join('  '),
    ),
    `median of the ratios ${ratio?.toFixed(3) ?? '-'}`,
  ].join('\n');
}
