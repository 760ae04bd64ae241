/**
 * Provokes the faults that operators meet, one after the other, around the built program. Each interface must name the
 * current cause and its remedy, within ten seconds and after five minutes. It must not name the cause after it has
 * ended.
 */
import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { catalogue } from '../../../src/errors/catalogue.ts';
import { promtoolSkipReason } from '../../support/skips/promtool.ts';
import { pause, waitFor } from '../../support/wait-for.ts';
import { runInLanes, type ChaosTier, type TierContext } from '../tiers/tier.ts';
import { firingAlerts } from './alerts.ts';
import type { AlertCause, AlertCodes } from './cause.ts';
import { diskCauses } from './disk-causes.ts';
import { participantCauses } from './participant-causes.ts';
import { postgresCauses } from './postgres-causes.ts';
import { sampleSurfaces, loggedCodes, type SurfaceText, type SurfaceSample } from './surfaces.ts';
import { writeTable } from './table.ts';
import { tokenCauses } from './token-causes.ts';
import { acceleration, CauseWorld } from './world.ts';

export const allCauses: readonly AlertCause[] = [
  ...participantCauses,
  ...tokenCauses,
  ...postgresCauses,
  ...diskCauses,
];

/** Seconds until a cause must be reported. */
const defaultLimitSeconds = 10;
/** Seconds by the clock of the indexer: five minutes of retries, and the last attempt after them. */
const laterSeconds = 345;
/** Seconds by the clock of the indexer: as long as the range of an alert, so that the metrics can be extrapolated. */
const recoverySeconds = 150;
const endsWithinMs = 60_000;
const maxLanes = 2;

const rules = [
  '../../../grafana/alerts/ledger-indexer.rules.yaml',
  '../../../../../grafana/alerts/ledger-indexer.rules.yaml',
]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path));

export const causes: ChaosTier = {
  name: 'causes',
  what: `${String(allCauses.length)} causes that operators meet, each of which every surface has to name`,
  run: async (context) => {
    const selectedCauses = allCauses.filter(
      ({ group, what: description }) =>
        context.point === undefined || `${group}: ${description}`.includes(context.point),
    );
    if (promtoolSkipReason !== undefined) process.stdout.write(`alerts are not evaluated: ${promtoolSkipReason}\n`);
    await runInLanes(Math.min(maxLanes, context.lanes), selectedCauses, (cause) => tryCause(context, cause));
    const { causes: triedCount, causesNamed } = context.report;
    if (triedCount === allCauses.length && causesNamed === triedCount) await writeTable(allCauses);
  },
};

async function tryCause(context: TierContext, cause: AlertCause): Promise<void> {
  const name = `${cause.group}: ${cause.what}`;
  if (cause.missing !== undefined) {
    process.stdout.write(`not provoked: ${name}: ${cause.missing}\n`);
    return;
  }
  context.report.causes += 1;
  const contradictionTexts = await contradictions(cause).catch((error: unknown) => [String(error)]);
  if (contradictionTexts.length === 0) {
    context.report.causesNamed += 1;
    context.say(`named: ${name}`);
  } else
    context.report.fail({
      tier: 'causes',
      replay: `npm run chaos -- --tier causes --point ${JSON.stringify(cause.what)}`,
      found: contradictionTexts,
    });
}

/** Differences between the expected and the actual reports of a cause; empty if there are none. */
async function contradictions(cause: AlertCause): Promise<readonly string[]> {
  await using world = await CauseWorld.open(cause.world);
  const healthyTime = Date.now() / 1000;
  const healthySample = await sampleSurfaces(world);
  await cause.provoke(world);
  await pause((cause.within ?? defaultLimitSeconds) * 1000);
  const earlySample = await waitForSample(world, cause.soon);
  if (cause.isRealTime !== true) world.accelerate();
  const wasReady = await checkReadyFor(world, laterSeconds);
  const alertCodes = cause.later ?? cause.soon;
  const laterSample = await waitForSample(world, alertCodes);
  await pause((recoverySeconds * 1000) / (cause.isRealTime === true ? 1 : acceleration));
  const last = await waitForSample(world, alertCodes);
  return [
    ...wrongSurfaces('at first', earlySample, cause.soon),
    ...wrongSurfaces('after five minutes', laterSample, alertCodes),
    ...(wasReady === undefined ? [] : [`it was ready for a moment while the cause lasted: ${wasReady}`]),
    ...strayCodesOf(cause, healthySample, laterSample),
    ...(promtoolSkipReason === undefined
      ? wrongAlerts(
          cause,
          firingAlerts(rules ?? '', {
            well: healthySample,
            soon: earlySample,
            later: laterSample,
            last,
            wellAt: healthyTime,
          }),
        )
      : []),
    ...(await endAndCheck(cause, world)),
  ];
}

/** The body of `/readyz` if it returned 200 after an error status, within this many seconds of the indexer's clock. */
async function checkReadyFor(world: CauseWorld, seconds: number): Promise<string | undefined> {
  const deadlineMs = world.seconds() + seconds;
  let hasBeenUnready = false;
  let problem: string | undefined;
  while (world.seconds() < deadlineMs) {
    const response = await fetch(`${world.http}/readyz`);
    const { state, reason } = (await response.json()) as SurfaceText;
    if (response.ok && hasBeenUnready) problem ??= `${state}: ${reason}`;
    hasBeenUnready ||= !response.ok;
    await pause(50);
  }
  return problem;
}

/** Reads the surfaces. A retry changes the state for a moment; in that case, reads them again. */
async function waitForSample(world: CauseWorld, { state }: AlertCodes): Promise<SurfaceSample> {
  for (let remainingChecks = 4; ; remainingChecks -= 1) {
    const surfaceSample = await sampleSurfaces(world);
    const isConsistent = surfacesOf(surfaceSample).every(([, report]) => report.state === state);
    if (isConsistent || remainingChecks === 0) return surfaceSample;
    await pause(500);
  }
}

function surfacesOf({ readyz, status, page, command }: SurfaceSample): readonly (readonly [string, SurfaceText])[] {
  return [
    ['/readyz', readyz],
    ['/status', status],
    ['page', page],
    ['status', command],
  ];
}

function wrongSurfaces(
  momentName: string,
  surfaceSample: SurfaceSample,
  { code, state }: AlertCodes,
): readonly string[] {
  const surfaceProblems: string[] = [];
  for (const [surface, report] of surfacesOf(surfaceSample)) {
    if (report.state !== state)
      surfaceProblems.push(
        `${momentName} ${surface} has the state ${report.state} instead of ${state}: ${report.reason}`,
      );
    if (code === undefined) continue;
    const codes = (report.reason.match(/[A-Z]+_[A-Z_]+(?=:)/g) ?? []).filter(
      (mentionedCode) => mentionedCode in catalogue,
    );
    if (codes.join(' ') !== code)
      surfaceProblems.push(`${momentName} ${surface} names ${codes.join(' ')} instead of ${code}: ${report.reason}`);
    if ((report.remedy ?? '') === '') surfaceProblems.push(`${momentName} ${surface} names no remedy`);
  }
  if (code !== undefined && surfaceSample.logged.at(-1) !== code) {
    surfaceProblems.push(`${momentName} the log ends with ${String(surfaceSample.logged.at(-1))}`);
  }
  if (state === 'parked' || state === 'backing_off') {
    if (state === 'parked' && surfaceSample.ready) surfaceProblems.push(`${momentName} a parked indexer is ready`);
    if (surfaceSample.samples.get(`indexer_phase{phase="${state}"}`) !== 1)
      surfaceProblems.push(`${momentName} the metrics have another phase`);
  }
  if (!surfaceSample.alive) surfaceProblems.push(`${momentName} /livez demands a restart`);
  return surfaceProblems;
}

/** Codes that were counted but do not belong to the cause, and codes of the cause that were not counted. */
function strayCodesOf(
  { soon: earlyCodes, later: laterCodes, also: extraCodes = [] }: AlertCause,
  healthySample: SurfaceSample,
  surfaceSample: SurfaceSample,
): readonly string[] {
  const allowedCodes = new Set<string | undefined>([earlyCodes.code, laterCodes?.code, ...extraCodes]);
  const changedSeries = [...surfaceSample.samples].flatMap(([name, value]) => {
    const code = /^indexer_errors_total\{.*code="(\w+)"/.exec(name)?.[1];
    return code !== undefined && value > (healthySample.samples.get(name) ?? 0) ? [code] : [];
  });
  const strayCodes = [...new Set(changedSeries)]
    .filter((code) => !allowedCodes.has(code))
    .map((code) => `${code} was counted too`);
  const missingCodes = [earlyCodes.code, laterCodes?.code].filter(
    (code) => code !== undefined && !changedSeries.includes(code),
  );
  return [...strayCodes, ...missingCodes.map((code) => `${String(code)} was not counted`)];
}

function wrongAlerts({ alerts }: AlertCause, firedAlerts: readonly string[]): readonly string[] {
  const expected = alerts.toSorted().join(', ');
  const strayAlerts = firedAlerts.filter((alert) => !timeAlerts.has(alert)).join(', ');
  return strayAlerts === expected ? [] : [`alerts: ${strayAlerts || 'none'} instead of ${expected || 'none'}`];
}

/** Alerts on measured durations. The durations appear ten times longer while the clock runs ten times faster. */
const timeAlerts = new Set([
  'IndexerCommitsSlow',
  'IndexerCommitsVerySlow',
  'IndexerLatencyHigh',
  'IndexerEventLoopSlow',
]);

/** After the cause has ended, the indexer must continue, and no surface may name the cause. */
async function endAndCheck({ end }: AlertCause, world: CauseWorld): Promise<readonly string[]> {
  if (end === undefined) return [];
  await end(world);
  const isReady = async (): Promise<true | undefined> => ((await fetch(`${world.http}/readyz`)).ok ? true : undefined);
  try {
    await waitFor('the indexer is ready again', isReady, endsWithinMs);
  } catch {
    return [
      `not ready ${String(endsWithinMs / 1000)} s after the cause ended; the log ends with ${loggedCodes(world).slice(-3).join(' ')}`,
    ];
  }
  const { reason } = (await (await fetch(`${world.http}/readyz`)).json()) as SurfaceText;
  return Object.keys(catalogue).some((code) => reason.includes(`${code}:`)) ? [`still names it: ${reason}`] : [];
}
