/** Runs the attempts one at a time, and records what the watcher observes during each attempt. */
import { failedVerdict, type Attempt, type Group, type Verdict } from './attempt.ts';
import { pause } from '../support/wait-for.ts';
import type { World } from './world/world.ts';

/** An attempt that runs longer than this counts as a finding. */
const longestAttemptMs = 300_000;

export interface Result extends Verdict {
  readonly id: string;
  readonly group: string;
  readonly what: string;
  readonly expected: string;
  /** Whether the indexer process ended. */
  readonly crashed: boolean;
  readonly ingestionStoppedSeconds: number;
  readonly livezSeconds: number;
  readonly seconds: number;
}

/**
 * Runs the groups. @param logLine receives one line for each group @param save receives all results so far after each
 * group
 */
export async function runGroups(
  world: World,
  groups: readonly Group[],
  logLine: (line: string) => void,
  save: (results: readonly Result[]) => void = () => undefined,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const group of groups) {
    const startMs = performance.now();
    const groupResults: Result[] = [];
    for (const attempt of group.attempts) groupResults.push(await runAttempt(world, group.name, attempt));
    results.push(...groupResults);
    save(results);
    const findings = groupResults.filter(({ held: isHeld }) => !isHeld).length;
    const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
    logLine(`${group.name}: ${String(groupResults.length)} attempts, ${String(findings)} findings, ${seconds} s`);
  }
  return results;
}

async function runAttempt(world: World, group: string, attempt: Attempt): Promise<Result> {
  const { id, what: description, expected } = attempt;
  const startMs = performance.now();
  world.watcher.begin();
  const { held: isHeld, seen: observation } = await bounded(attempt, world);
  const hasCrashed = await world.revive();
  // If ingestion has not resumed, restart the indexer, so that it does not delay the next attempts.
  if (!(await world.watcher.settled())) await world.restart();
  const { stoppedSeconds, livezSeconds } = world.watcher.observed();
  const seconds = (performance.now() - startMs) / 1000;
  const watched = { ingestionStoppedSeconds: stoppedSeconds, livezSeconds, seconds };
  return { id, group, what: description, expected, held: isHeld, seen: observation, crashed: hasCrashed, ...watched };
}

/** An attempt that could not run counts as a finding: without it there is no evidence that the promise was kept. */
async function bounded(attempt: Attempt, world: World): Promise<Verdict> {
  const limit = new AbortController();
  const attemptTimeout = pause(longestAttemptMs, failedVerdict('the attempt did not end'), { signal: limit.signal });
  attemptTimeout.catch(() => undefined);
  try {
    return await Promise.race([attempt.run(world), attemptTimeout]);
  } catch (error) {
    return failedVerdict(`the attempt failed: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    limit.abort();
  }
}
