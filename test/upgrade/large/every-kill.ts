/** Ends the migration of the recorded database at every Nth of its statements. */
import type { NewerBuild } from '../newer-build.ts';
import { MigrationKills } from '../kills.ts';
import { restoreRecording } from '../recording.ts';

/** Resolves to whether every kill left a complete step, and every next attempt finished. */
export async function killEvery(
  stride: number,
  newer: NewerBuild,
  print: (name: string, value: unknown) => void,
): Promise<boolean> {
  await using restored = await restoreRecording();
  const kills = await MigrationKills.over(restored.url, newer);
  const { states, statements } = await kills.undisturbed();
  const steps = new Map(states.map((state) => [JSON.stringify(state), 0]));
  let failures = 0;
  let killed = 0;
  for (let statement = 1; statement <= statements; statement += stride) {
    const { isKilled, afterKill, afterRetry } = await kills.killAt(statement);
    killed += isKilled ? 1 : 0;
    const step = JSON.stringify(afterKill);
    steps.set(step, (steps.get(step) ?? 0) + 1);
    if (JSON.stringify(afterRetry) === JSON.stringify(states.at(-1)) && isKilled) continue;
    failures += 1;
    print('FAILED at statement', statement);
  }
  print('kills', { statements, killed, failures, states: [...steps.values()] });
  // Nothing, the tables, the views without comments, and everything.
  return failures === 0 && steps.size <= states.length + 2;
}
