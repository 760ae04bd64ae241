/** Runs seeds with faults inside the process, and compares each with an undisturbed run of the same history. */
import { differences } from '../model/comparison.ts';
import type { ChaosDatabase } from '../databases.ts';
import { faultKinds } from '../faults/fault-kinds.ts';
import { endAfter } from '../history/history.ts';
import { planOf, runSeed, type Plan, type SeededOutcome } from './seeded-run.ts';
import { runInLanes, type ChaosTier, type TierContext } from './tier.ts';
import { runUndisturbed } from './undisturbed.ts';

export const seededTier: ChaosTier = {
  name: 'seeded',
  what: 'random faults on both wires and at both ends, drawn from seeds',
  run: async (context) => {
    for (const { name } of faultKinds) context.report.expect(name);
    const seeds = Array.from({ length: context.seeds }, (_, index) => context.firstSeed + index);
    await runInLanes(context.lanes, seeds, (seed) => trySeed(context, planOf(seed, context.fault)));
  },
};

async function trySeed(context: TierContext, plan: Plan): Promise<void> {
  const { server, report } = context;
  const database = await server.lend();
  const reference = await server.lend();
  const run = await runSeed(database, plan, context.stepTimeoutMs);
  for (const faultName of run.hits) report.hit(faultName);
  report.seeds += 1;
  const problems = [
    ...run.problems,
    ...(run.outcome?.contradictions ?? []),
    ...(await compare(context, plan, run, database, reference)),
  ];
  if (problems.length > 0) {
    const faults = [...plan.seedFaults, ...plan.followFaults].map(({ name }) => name).join(', ');
    const faultOption = context.fault === undefined ? '' : ` --fault '${context.fault}'`;
    const replay = `npm run chaos -- --tier seeded --seed ${String(plan.seed)} --seeds 1${faultOption}`;
    report.fail({
      tier: 'seeded',
      replay,
      found: [`seed ${String(plan.seed)}`, ...problems, `planned: ${faults}`, `hit: ${run.hits.join(', ')}`],
    });
    context.say(run.log.join(''));
  }
  database.giveBack();
  reference.giveBack();
}

async function compare(
  { report }: TierContext,
  plan: Plan,
  { outcome }: SeededOutcome,
  database: ChaosDatabase,
  reference: ChaosDatabase,
): Promise<readonly string[]> {
  if (outcome === undefined) return [];
  const { history } = plan;
  const seedIndex = history.items.findIndex((_, index) => endAfter(history, index + 1) === outcome.seedOffset) + 1;
  const expected = await runUndisturbed(reference, history, seedIndex);
  const problems = expected.contradictions.map((problem) => `undisturbed: ${problem}`);
  const differ = await differences(report, { database: reference, outcome: expected }, { database, outcome });
  return [...problems, ...differ];
}
