/**
 * Compares the rate of the stream with projections and without: both fill an empty database with the same history, in
 * alternating order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isEnding } from '../cleanup.ts';
import { median } from '../figures/figures.ts';
import { printStatus } from '../figures/terminal.ts';
import { schema, withClient } from '../postgres.ts';
import { fillHistory, type FillRun } from './fill.ts';
import { openFolder } from './history-folder.ts';
import type { AnswersOptions } from './options.ts';
import { migrateDatabase, startServer } from './server.ts';

interface FollowRound {
  /** Updates per second without projections, and with them. */
  readonly off: number;
  readonly builtIn: number;
  /** Share of the updates whose rows were stored when the last update was. */
  readonly storedWhileFollowing: number;
  /** Time from the last update until all rows were stored, seconds. */
  readonly catchUpSeconds: number;
}

export interface FollowReport {
  readonly updates: number;
  readonly rounds: readonly FollowRound[];
  /** Median of the rates with projections divided by the rates without, by round. */
  readonly ratio: number | undefined;
}

export async function measureFollowing({ updates, followRounds }: AnswersOptions): Promise<FollowReport> {
  const rounds: FollowRound[] = [];
  for (let round = 0; round < followRounds && !isEnding(); round += 1) rounds.push(await followRound(updates, round));
  return { updates, rounds, ratio: median(rounds.map(({ off, builtIn }) => builtIn / off)) };
}

async function followRound(updates: number, round: number): Promise<FollowRound> {
  let off = 0;
  let builtIn = 0;
  let storedWhileFollowing = 0;
  let catchUpSeconds = 0;
  for (const projections of round % 2 === 0 ? (['off', 'built-in'] as const) : (['built-in', 'off'] as const)) {
    printStatus(`round ${String(round + 1)}, projections ${projections}`);
    if (projections === 'off') off = await rateOf({ updates, projections });
    else {
      builtIn = await rateOf({ updates, projections }, async (url) => {
        const begin = performance.now();
        storedWhileFollowing = await storedShare(url);
        while ((await storedShare(url)) < 1) await sleep(50);
        catchUpSeconds = (performance.now() - begin) / 1000;
      });
    }
  }
  return { off, builtIn, storedWhileFollowing, catchUpSeconds };
}

/** Updates per second of one run over an empty database. */
async function rateOf(run: FillRun, onStored?: (url: string) => Promise<void>): Promise<number> {
  const server = await startServer(openFolder(undefined));
  await migrateDatabase(server.url);
  const seconds = await fillHistory(server.url, {
    ...run,
    onStored: () => onStored?.(server.url) ?? Promise.resolve(),
  });
  await server.stop();
  return run.updates / seconds;
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
    `${String(updates)} updates; updates/s without projections, with projections, ratio, stored meanwhile, rest after`,
    ...rounds.map((round) =>
      [
        Math.round(round.off),
        Math.round(round.builtIn),
        (round.builtIn / round.off).toFixed(3),
        `${(round.storedWhileFollowing * 100).toFixed(0)} %`,
        `${round.catchUpSeconds.toFixed(1)} s`,
      ].join('  '),
    ),
    `median of the ratios ${ratio?.toFixed(3) ?? '-'}`,
  ].join('\n');
}
