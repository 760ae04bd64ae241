/**
 * Checks that the tests detect bugs in areas where they once detected none. Each bug is injected into a copy of the
 * project, and a test must fail. The tests must first pass in a copy without a bug; otherwise a failure is no evidence.
 */
import { areas } from '../../planted/areas.ts';
import { fastTestsOf, type PlantedArea, type PlantedDefect, type TestSelection } from '../../planted/planted.ts';
import { writeFastFigure } from './fast-figure.ts';
import { ProjectCopy, type TestRun } from './project-copy.ts';
import { inLanes, type Tier, type TierContext } from '../tiers/tier.ts';

/** Each of these runs starts its own Postgres server and processes. */
const mostLanes = 2;
/** Minimum number of bugs for which an area counts as tested. */
const leastOfArea = 3;

interface Trial {
  readonly area: PlantedArea;
  readonly defect: PlantedDefect;
  /** The tests that must fail. */
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

/** The trials that the options select. Only with `--tests fast` can a bug have no test. */
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

/** Runs the trials and returns how many bugs were detected. */
async function tryAll(context: TierContext, trials: readonly Trial[]): Promise<number> {
  await using project = await ProjectCopy.make();
  const blind = new Set<string>();
  const lanes = Math.min(mostLanes, context.lanes);
  await inLanes(lanes, distinct(trials.map(({ tests }) => tests)), async ([key, tests]) => {
    if (!(await passes(context, project, tests))) blind.add(key);
  });
  let noticed = 0;
  await inLanes(lanes, trials, async ({ area, defect, tests }) => {
    // Tests that also fail without the bug, or do not run on this machine, detect nothing.
    const caught = !blind.has(keyOf(tests)) && (await catches(context, project, defect, tests));
    context.report.planted(area.name, caught);
    if (caught) noticed += 1;
  });
  return noticed;
}

/** The file contains the result for all bugs, so the result for some of them is only printed. */
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

/** Describes a run in which no test failed by its output, for example if tests were skipped or a setup failed. */
function whatWasSeen({ failed, output }: TestRun): readonly string[] {
  return failed.length > 0 ? failed : [output];
}
