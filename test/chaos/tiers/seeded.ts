/** Runs seeds with faults inside the process, and compares each with an undisturbed run of the same history. */
import { differences } from '../model/comparison.ts';
import type { ChaosDatabase } from '../databases.ts';
import { faultKinds } from '../faults/fault-kinds.ts';
import { endAfter } from '../history/history.ts';
import { planOf, runSeed, type Plan, type SeededOutcome } from './seeded-run.ts';
import { inLanes, type Tier, type TierContext } from './tier.ts';
import { undisturbed } from './undisturbed.ts';

export const seeded: Tier = {
  name: 'seeded',
  what: 'random faults on both wires and at both ends, drawn from seeds',
  run: async (context) => {
    for (const { name } of faultKinds) context.report.expect(name);
    const seeds = Array.from({ length: context.seeds }, (_, index) => context.firstSeed + index);
    await inLanes(context.lanes, seeds, (seed) => trySeed(context, planOf(seed, context.fault)));
  },
};

async function trySeed(context: TierContext, plan: Plan): Promise<void> {
  const { server, report } = context;
  const database = await server.lend();
  const reference = await server.lend();
  const run = await runSeed(database, plan, context.stepTimeoutMs);
  for (const hit of run.hits) report.hit(hit);
  report.seeds += 1;
  const found = [
    ...run.problems,
    ...(run.outcome?.contradictions ?? []),
    ...(await compare(context, plan, run, database, reference)),
  ];
  if (found.length > 0) {
    const faults = [...plan.seedFaults, ...plan.followFaults].map(({ name }) => name).join(', ');
    const drawn = context.fault === undefined ? '' : ` --fault '${context.fault}'`;
    const replay = `npm run chaos -- --tier seeded --seed ${String(plan.seed)} --seeds 1${drawn}`;
    report.fail({
      tier: 'seeded',
      replay,
      found: [`seed ${String(plan.seed)}`, ...found, `planned: ${faults}`, `hit: ${run.hits.join(', ')}`],
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
  const seeded = history.items.findIndex((_, index) => endAfter(history, index + 1) === outcome.seedOffset) + 1;
  const expected = await undisturbed(reference, history, seeded);
  const found = expected.contradictions.map((one) => `undisturbed: ${one}`);
  const differ = await differences(report, { database: reference, outcome: expected }, { database, outcome });
  return [...found, ...differ];
}
