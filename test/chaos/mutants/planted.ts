/**
 * Checks that the tests detect bugs in areas where they once detected none. Each bug is injected into a copy of the
 * project, and a test must fail. The tests must first pass in a copy without a bug; otherwise a failure is no evidence.
 */
import { areas } from '../../planted/areas.ts';
import { fastTestsOf, type PlantedArea, type PlantedDefect, type TestSelection } from '../../planted/planted.ts';
import { writeFastFigure } from './fast-figure.ts';
import { ProjectCopy, type TestRun } from './project-copy.ts';
import { runInLanes, type ChaosTier, type TierContext } from '../tiers/tier.ts';

/** Each of these runs starts its own Postgres server and processes. */
const maxLanes = 2;
/** Minimum number of bugs for which an area counts as tested. */
const minBugsPerArea = 3;

interface MutantTrial {
  readonly area: PlantedArea;
  readonly defect: PlantedDefect;
  /** The tests that must fail. */
  readonly tests: TestSelection;
}

export const plantedTier: ChaosTier = {
  name: 'planted',
  what: `bugs injected in ${String(areas.length)} areas, each of which a test has to detect`,
  run: async (context) => {
    for (const { name, defects } of areas) {
      if (defects.length < minBugsPerArea) {
        context.report.fail({ tier: 'planted', replay, found: [`${name} has ${String(defects.length)} bugs`] });
      }
    }
    const { trials, untested: untestedDefects } = selectTrials(context);
    const caughtTrials = await runTrials(context, trials);
    for (const { area } of untestedDefects) context.report.planted(area.name, false);
    if (context.fastOnly) await reportFast(context, caughtTrials, trials.length + untestedDefects.length);
  },
};

const replay = 'npm run chaos -- --tier planted';

/** The trials that the options select. Only with `--tests fast` can a bug have no test. */
function selectTrials(context: TierContext): {
  trials: readonly MutantTrial[];
  untested: readonly Omit<MutantTrial, 'tests'>[];
} {
  const selectedDefects = areas
    .flatMap((area) => area.defects.map((defect) => ({ area, defect })))
    .filter(isSelected(context));
  const testedDefects = selectedDefects.map((defect) => ({
    ...defect,
    tests: context.fastOnly ? fastTestsOf(defect.defect) : defect.defect,
  }));
  return {
    trials: testedDefects.filter((trial): trial is MutantTrial => trial.tests !== undefined),
    untested: testedDefects.filter(({ tests }) => tests === undefined),
  };
}

/** Runs the trials and returns how many bugs were detected. */
async function runTrials(context: TierContext, trials: readonly MutantTrial[]): Promise<number> {
  await using project = await ProjectCopy.make();
  const blindTests = new Set<string>();
  const lanes = Math.min(maxLanes, context.lanes);
  await runInLanes(lanes, distinctSelections(trials.map(({ tests }) => tests)), async ([key, tests]) => {
    if (!(await runPasses(context, project, tests))) blindTests.add(key);
  });
  let caughtCount = 0;
  await runInLanes(lanes, trials, async ({ area, defect, tests }) => {
    // Tests that also fail without the bug, or do not run on this machine, detect nothing.
    const isCaught = !blindTests.has(keyOf(tests)) && (await failsOnDefect(context, project, defect, tests));
    context.report.planted(area.name, isCaught);
    if (isCaught) caughtCount += 1;
  });
  return caughtCount;
}

/** The file contains the result for all bugs, so the result for some of them is only printed. */
async function reportFast({ point: pointName }: TierContext, caughtCount: number, trialCount: number): Promise<void> {
  process.stdout.write(`the fast tier detects ${String(caughtCount)} of ${String(trialCount)} injected bugs\n`);
  if (pointName === undefined) await writeFastFigure({ noticed: caughtCount, of: trialCount });
}

function isSelected({ point: pointName }: TierContext) {
  return ({ area, defect }: { readonly area: PlantedArea; readonly defect: PlantedDefect }): boolean =>
    pointName === undefined || area.name === pointName || defect.name.includes(pointName);
}

const keyOf = ({ test, only: testName }: TestSelection): string => JSON.stringify([test, testName]);

function distinctSelections(selections: readonly TestSelection[]): ReadonlyMap<string, TestSelection> {
  return new Map(selections.map((tests) => [keyOf(tests), tests]));
}

async function runPasses(
  { report, say: logLine }: TierContext,
  project: ProjectCopy,
  tests: TestSelection,
): Promise<boolean> {
  const run = await project.run(tests);
  const selectionText = `test/${tests.test}${tests.only === undefined ? '' : `, "${tests.only}"`}`;
  if (run.ok) logLine(`passes: ${selectionText}`);
  else report.fail({ tier: 'planted', replay, found: [`without a defect: ${selectionText}`, ...describeFailure(run)] });
  return run.ok;
}

async function failsOnDefect(
  { report, say: logLine }: TierContext,
  project: ProjectCopy,
  defect: PlantedDefect,
  tests: TestSelection,
): Promise<boolean> {
  try {
    const run = await project.runWith(defect, tests);
    if (run.failed.length > 0) {
      logLine(`detected: ${defect.name}: ${run.failed[0] ?? ''}`);
      return true;
    }
    const outcome = run.ok ? [`test/${tests.test} passes`] : ['no test failed', ...describeFailure(run)];
    report.fail({
      tier: 'planted',
      replay: replayCommand(defect),
      found: [`not detected: ${defect.name}`, ...outcome],
    });
  } catch (error) {
    const failureReason = error instanceof Error ? error.message : String(error);
    report.fail({
      tier: 'planted',
      replay: replayCommand(defect),
      found: [`not injected: ${defect.name}`, failureReason],
    });
  }
  return false;
}

const replayCommand = ({ name }: PlantedDefect): string => `${replay} --point ${JSON.stringify(name)}`;

/** Describes a run in which no test failed by its output, for example if tests were skipped or a setup failed. */
function describeFailure({ failed: failedTests, output }: TestRun): readonly string[] {
  return failedTests.length > 0 ? failedTests : [output];
}
