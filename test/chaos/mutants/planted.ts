/**
 * Checks that the tests detect bugs: bugs in areas that once had blind spots are injected into copies of the project,
 * one at a time, and a test has to fail. First the tests have to pass in a copy without one; otherwise a failure is no
 * evidence.
 */
import { areas } from '../../planted/areas.ts';
import { fastTestsOf, type PlantedArea, type PlantedDefect, type TestSelection } from '../../planted/planted.ts';
import { writeFastFigure } from './fast-figure.ts';
import { ProjectCopy, type TestRun } from './project-copy.ts';
import { inLanes, type Tier, type TierContext } from '../tiers/tier.ts';

/** Each of these runs starts Postgres and processes of its own. */
const mostLanes = 2;
/** Fewer bugs do not represent an area. */
const leastOfArea = 3;

interface Trial {
  readonly area: PlantedArea;
  readonly defect: PlantedDefect;
  /** The tests that have to fail. */
  readonly tests: TestSelection;
}

export const planted: Tier = {
  name: 'planted',
  what: `bugs injected in ${String(areas.length)} areas, each of which a test has to detect`,
  run: async (context) => {
    for (const { name, defects } of areas) {
      if (defects.length < leastOfArea) {
        context.report.fail({ tier: 'planted', replay, found: [`${name} has ${String(defects.length)} bugs`] });
      }
    }
    const { trials, untested } = selectTrials(context);
    const noticed = await tryAll(context, trials);
    for (const { area } of untested) context.report.planted(area.name, false);
    if (context.fastOnly) await reportFast(context, noticed, trials.length + untested.length);
  },
};

const replay = 'npm run chaos -- --tier planted';

/** The selected trials. Only with `--tests fast` are there bugs without a test. */
function selectTrials(context: TierContext): { trials: readonly Trial[]; untested: readonly Omit<Trial, 'tests'>[] } {
  const selectedDefects = areas
    .flatMap((area) => area.defects.map((defect) => ({ area, defect })))
    .filter(isMeant(context));
  const tested = selectedDefects.map((each) => ({
    ...each,
    tests: context.fastOnly ? fastTestsOf(each.defect) : each.defect,
  }));
  return {
    trials: tested.filter((each): each is Trial => each.tests !== undefined),
    untested: tested.filter(({ tests }) => tests === undefined),
  };
}

/** How many were detected. */
async function tryAll(context: TierContext, trials: readonly Trial[]): Promise<number> {
  await using project = await ProjectCopy.make();
  const blind = new Set<string>();
  const lanes = Math.min(mostLanes, context.lanes);
  await inLanes(lanes, distinct(trials.map(({ tests }) => tests)), async ([key, tests]) => {
    if (!(await passes(context, project, tests))) blind.add(key);
  });
  let noticed = 0;
  await inLanes(lanes, trials, async ({ area, defect, tests }) => {
    // Tests that fail anyway, or that do not run here, detect nothing.
    const caught = !blind.has(keyOf(tests)) && (await catches(context, project, defect, tests));
    context.report.planted(area.name, caught);
    if (caught) noticed += 1;
  });
  return noticed;
}

/** The file has the result of all bugs, so the result of a part of them is printed and not written. */
async function reportFast({ point }: TierContext, noticed: number, of: number): Promise<void> {
  process.stdout.write(`the fast tier detects ${String(noticed)} of ${String(of)} injected bugs\n`);
  if (point === undefined) await writeFastFigure({ noticed, of });
}

function isMeant({ point }: TierContext) {
  return ({ area, defect }: { readonly area: PlantedArea; readonly defect: PlantedDefect }): boolean =>
    point === undefined || area.name === point || defect.name.includes(point);
}

const keyOf = ({ test, only }: TestSelection): string => JSON.stringify([test, only]);

function distinct(all: readonly TestSelection[]): ReadonlyMap<string, TestSelection> {
  return new Map(all.map((tests) => [keyOf(tests), tests]));
}

async function passes({ report, say }: TierContext, project: ProjectCopy, tests: TestSelection): Promise<boolean> {
  const run = await project.run(tests);
  const what = `test/${tests.test}${tests.only === undefined ? '' : `, "${tests.only}"`}`;
  if (run.ok) say(`passes: ${what}`);
  else report.fail({ tier: 'planted', replay, found: [`without a defect: ${what}`, ...whatWasSeen(run)] });
  return run.ok;
}

async function catches(
  { report, say }: TierContext,
  project: ProjectCopy,
  defect: PlantedDefect,
  tests: TestSelection,
): Promise<boolean> {
  try {
    const run = await project.runWith(defect, tests);
    if (run.failed.length > 0) {
      say(`detected: ${defect.name}: ${run.failed[0] ?? ''}`);
      return true;
    }
    const outcome = run.ok ? [`test/${tests.test} passes`] : ['no test failed', ...whatWasSeen(run)];
    report.fail({ tier: 'planted', replay: again(defect), found: [`not detected: ${defect.name}`, ...outcome] });
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    report.fail({ tier: 'planted', replay: again(defect), found: [`not injected: ${defect.name}`, why] });
  }
  return false;
}

const again = ({ name }: PlantedDefect): string => `${replay} --point ${JSON.stringify(name)}`;

/** A run without a failed test is reported by its output: tests that were skipped, or a setup that failed. */
function whatWasSeen({ failed, output }: TestRun): readonly string[] {
  return failed.length > 0 ? failed : [output];
}
