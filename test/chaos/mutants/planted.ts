/**
 * Whether the tests would notice: defects of areas that were blind once are planted in copies of the project, one at a
 * time, and a test has to fail. First the tests have to pass in a copy without one, or nothing is proven.
 */
import { areas } from '../../planted/areas.ts';
import type { PlantedArea, PlantedDefect } from '../../planted/planted.ts';
import { ProjectCopy, type TestRun, type Tests } from './project-copy.ts';
import { inLanes, type Tier, type TierContext } from '../tiers/tier.ts';

/** Each of these runs starts Postgres and processes of its own. */
const mostLanes = 2;
/** Fewer say nothing about an area. */
const leastOfArea = 3;

export const planted: Tier = {
  name: 'planted',
  what: `defects planted in ${String(areas.length)} areas, each of which a test has to notice`,
  run: async (context) => {
    const wanted = areas.flatMap((area) => area.defects.map((defect) => ({ area, defect }))).filter(isMeant(context));
    for (const { name, defects } of areas) {
      if (defects.length < leastOfArea) {
        context.report.fail({ tier: 'planted', replay, found: [`${name} has ${String(defects.length)} defects`] });
      }
    }
    await using project = await ProjectCopy.make();
    const blind = new Set<string>();
    const lanes = Math.min(mostLanes, context.lanes);
    await inLanes(lanes, distinct(wanted.map(({ defect }) => defect)), async ([key, tests]) => {
      if (!(await passes(context, project, tests))) blind.add(key);
    });
    await inLanes(lanes, wanted, async ({ area, defect }) => {
      // Tests that fail anyway, or that do not run here, notice nothing.
      const caught = !blind.has(keyOf(defect)) && (await catches(context, project, defect));
      context.report.planted(area.name, caught);
    });
  },
};

const replay = 'npm run chaos -- --tier planted';

function isMeant({ point }: TierContext) {
  return ({ area, defect }: { readonly area: PlantedArea; readonly defect: PlantedDefect }): boolean =>
    point === undefined || area.name === point || defect.name.includes(point);
}

const keyOf = ({ test, only }: Tests): string => JSON.stringify([test, only]);

function distinct(all: readonly Tests[]): ReadonlyMap<string, Tests> {
  return new Map(all.map((tests) => [keyOf(tests), tests]));
}

async function passes({ report, say }: TierContext, project: ProjectCopy, tests: Tests): Promise<boolean> {
  const run = await project.run(tests);
  const what = `test/${tests.test}${tests.only === undefined ? '' : `, "${tests.only}"`}`;
  if (run.ok) say(`passes: ${what}`);
  else report.fail({ tier: 'planted', replay, found: [`without a defect: ${what}`, ...whatWasSeen(run)] });
  return run.ok;
}

async function catches({ report, say }: TierContext, project: ProjectCopy, defect: PlantedDefect): Promise<boolean> {
  try {
    const run = await project.runWith(defect);
    if (run.failed.length > 0) {
      say(`noticed: ${defect.name}: ${run.failed[0] ?? ''}`);
      return true;
    }
    const outcome = run.ok ? [`test/${defect.test} passes`] : ['no test failed', ...whatWasSeen(run)];
    report.fail({ tier: 'planted', replay: again(defect), found: [`not noticed: ${defect.name}`, ...outcome] });
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    report.fail({ tier: 'planted', replay: again(defect), found: [`not planted: ${defect.name}`, why] });
  }
  return false;
}

const again = ({ name }: PlantedDefect): string => `${replay} --point ${JSON.stringify(name)}`;

/** A run without a failed test is told by its output: tests that were left out, or a set-up that failed. */
function whatWasSeen({ failed, said }: TestRun): readonly string[] {
  return failed.length > 0 ? failed : [said];
}
