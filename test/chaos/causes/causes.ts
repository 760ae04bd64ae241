/**
 * Provokes the faults that operators meet, one after the other, around the built program. Each interface must name the
 * current cause and its remedy, within ten seconds and after five minutes. It must not name the cause after it has
 * ended.
 */
import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { catalogue } from '../../../src/errors/catalogue.ts';
import { noPromtool } from '../../support/skips/promtool.ts';
import { pause, waitFor } from '../../support/wait-for.ts';
import { inLanes, type Tier, type TierContext } from '../tiers/tier.ts';
import { firing } from './alerts.ts';
import type { Cause, Named } from './cause.ts';
import { diskCauses } from './disk-causes.ts';
import { participantCauses } from './participant-causes.ts';
import { postgresCauses } from './postgres-causes.ts';
import { look, loggedCodes, type SurfaceText, type Seen } from './surfaces.ts';
import { writeTable } from './table.ts';
import { tokenCauses } from './token-causes.ts';
import { acceleration, CauseWorld } from './world.ts';

export const allCauses: readonly Cause[] = [...participantCauses, ...tokenCauses, ...postgresCauses, ...diskCauses];

/** Seconds until a cause must be reported. */
const usuallyWithin = 10;
/** Seconds by the clock of the indexer: five minutes of retries, and the last attempt after them. */
const laterSeconds = 345;
/** Seconds by the clock of the indexer: as long as the range of an alert, so that the metrics can be extrapolated. */
const afterwardsSeconds = 150;
const endsWithinMs = 60_000;
const mostLanes = 2;

const rules = [
  '../../../grafana/alerts/ledger-indexer.rules.yaml',
  '../../../../../grafana/alerts/ledger-indexer.rules.yaml',
]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path));

export const causes: Tier = {
  name: 'causes',
  what: `${String(allCauses.length)} causes that operators meet, each of which every surface has to name`,
  run: async (context) => {
    const meant = allCauses.filter(
      ({ group, what }) => context.point === undefined || `${group}: ${what}`.includes(context.point),
    );
    if (noPromtool !== undefined) process.stdout.write(`alerts are not evaluated: ${noPromtool}\n`);
    await inLanes(Math.min(mostLanes, context.lanes), meant, (cause) => tryCause(context, cause));
    const { causes: tried, causesNamed } = context.report;
    if (tried === allCauses.length && causesNamed === tried) await writeTable(allCauses);
  },
};

async function tryCause(context: TierContext, cause: Cause): Promise<void> {
  const name = `${cause.group}: ${cause.what}`;
  if (cause.missing !== undefined) {
    process.stdout.write(`not provoked: ${name}: ${cause.missing}\n`);
    return;
  }
  context.report.causes += 1;
  const found = await contradictions(cause).catch((thrown: unknown) => [String(thrown)]);
  if (found.length === 0) context.say(`named: ${name}`);
  else
    context.report.fail({
      tier: 'causes',
      replay: `npm run chaos -- --tier causes --point ${JSON.stringify(cause.what)}`,
      found,
    });
}

/** Differences between the expected and the actual reports of a cause; empty if there are none. */
async function contradictions(cause: Cause): Promise<readonly string[]> {
  await using world = await CauseWorld.open(cause.world);
  const wellAt = Date.now() / 1000;
  const well = await look(world);
  await cause.provoke(world);
  await pause((cause.within ?? usuallyWithin) * 1000);
  const soon = await lookAt(world, cause.soon);
  if (cause.isRealTime !== true) world.accelerate();
  const wasReady = await readyMeanwhile(world, laterSeconds);
  const named = cause.later ?? cause.soon;
  const later = await lookAt(world, named);
  await pause((afterwardsSeconds * 1000) / (cause.isRealTime === true ? 1 : acceleration));
  const last = await lookAt(world, named);
  return [
    ...wrong('at first', soon, cause.soon),
    ...wrong('after five minutes', later, named),
    ...(wasReady === undefined ? [] : [`it was ready for a moment while the cause lasted: ${wasReady}`]),
    ...strays(cause, well, later),
    ...(noPromtool === undefined ? wrongAlerts(cause, firing(rules ?? '', { well, soon, later, last, wellAt })) : []),
    ...(await afterwards(cause, world)),
  ];
}

/** The body of `/readyz` if it returned 200 after an error status, within this many seconds of the indexer's clock. */
async function readyMeanwhile(world: CauseWorld, seconds: number): Promise<string | undefined> {
  const until = world.seconds() + seconds;
  let wasUnready = false;
  let found: string | undefined;
  while (world.seconds() < until) {
    const answer = await fetch(`${world.http}/readyz`);
    const { state, reason } = (await answer.json()) as SurfaceText;
    if (answer.ok && wasUnready) found ??= `${state}: ${reason}`;
    wasUnready ||= !answer.ok;
    await pause(50);
  }
  return found;
}

/** Reads the surfaces. A retry changes the state for a moment; in that case, reads them again. */
async function lookAt(world: CauseWorld, { state }: Named): Promise<Seen> {
  for (let left = 4; ; left -= 1) {
    const seen = await look(world);
    const isConsistent = surfacesOf(seen).every(([, report]) => report.state === state);
    if (isConsistent || left === 0) return seen;
    await pause(500);
  }
}

function surfacesOf({ readyz, status, page, command }: Seen): readonly (readonly [string, SurfaceText])[] {
  return [
    ['/readyz', readyz],
    ['/status', status],
    ['page', page],
    ['status', command],
  ];
}

function wrong(when: string, seen: Seen, { code, state }: Named): readonly string[] {
  const found: string[] = [];
  for (const [surface, report] of surfacesOf(seen)) {
    if (report.state !== state)
      found.push(`${when} ${surface} has the state ${report.state} instead of ${state}: ${report.reason}`);
    if (code === undefined) continue;
    const codes = (report.reason.match(/[A-Z]+_[A-Z_]+(?=:)/g) ?? []).filter((each) => each in catalogue);
    if (codes.join(' ') !== code)
      found.push(`${when} ${surface} names ${codes.join(' ')} instead of ${code}: ${report.reason}`);
    if ((report.remedy ?? '') === '') found.push(`${when} ${surface} names no remedy`);
  }
  if (code !== undefined && seen.logged.at(-1) !== code) {
    found.push(`${when} the log ends with ${String(seen.logged.at(-1))}`);
  }
  if (state === 'parked' || state === 'backing_off') {
    if (state === 'parked' && seen.ready) found.push(`${when} a parked indexer is ready`);
    if (seen.samples.get(`indexer_phase{phase="${state}"}`) !== 1) found.push(`${when} the metrics have another phase`);
  }
  if (!seen.alive) found.push(`${when} /livez demands a restart`);
  return found;
}

/** Codes that were counted but do not belong to the cause, and codes of the cause that were not counted. */
function strays({ soon, later, also = [] }: Cause, well: Seen, seen: Seen): readonly string[] {
  const allowed = new Set<string | undefined>([soon.code, later?.code, ...also]);
  const counted = [...seen.samples].flatMap(([name, value]) => {
    const code = /^indexer_errors_total\{.*code="(\w+)"/.exec(name)?.[1];
    return code !== undefined && value > (well.samples.get(name) ?? 0) ? [code] : [];
  });
  const found = [...new Set(counted)].filter((code) => !allowed.has(code)).map((code) => `${code} was counted too`);
  const missed = [soon.code, later?.code].filter((code) => code !== undefined && !counted.includes(code));
  return [...found, ...missed.map((code) => `${String(code)} was not counted`)];
}

function wrongAlerts({ alerts }: Cause, fired: readonly string[]): readonly string[] {
  const expected = alerts.toSorted().join(', ');
  const found = fired.filter((alert) => !ofTime.has(alert)).join(', ');
  return found === expected ? [] : [`alerts: ${found || 'none'} instead of ${expected || 'none'}`];
}

/** Alerts on measured durations. The durations appear ten times longer while the clock runs ten times faster. */
const ofTime = new Set(['IndexerCommitsSlow', 'IndexerCommitsVerySlow', 'IndexerLatencyHigh', 'IndexerEventLoopSlow']);

/** After the cause has ended, the indexer must continue, and no surface may name the cause. */
async function afterwards({ end }: Cause, world: CauseWorld): Promise<readonly string[]> {
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
