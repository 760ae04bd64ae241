/**
 * Plays the traffic of the demo at fixed times: a month of history, a package upgrade, and a few minutes of traffic; or
 * half a year.
 */
import { generateLongHistory } from '../../packages/ledger-sandbox/src/demo/history.ts';
import { upgradeLicensing } from '../../packages/ledger-sandbox/src/demo/templates/licensing-templates.ts';
import { monthBefore, playMonth } from '../../packages/ledger-sandbox/src/demo/month.ts';
import { TrafficPlay } from '../../packages/ledger-sandbox/src/demo/play.ts';
import { gapsBefore } from '../../packages/ledger-sandbox/src/demo/market/tempo.ts';
import type { Ledger } from '../../packages/ledger-sandbox/src/ledger/ledger.ts';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';

/** When live traffic begins: 2026-03-02T12:00:00Z, in microseconds. */
const liveFrom = 1_772_452_800_000_000;
const second = 1_000_000;
/** Number of licenses created after the upgrade. */
const extraLicences = 3;

/** Plays the demo on an empty ledger. */
export function playDemo(ledger: Ledger, seed: number): void {
  const demo = new TrafficPlay(ledger, { seed, tempo: gapsBefore(liveFrom), plans: { liveFrom } });
  const times = monthBefore(liveFrom - 3 * second, 1_200, new Random(seed + 2));
  playMonth(demo, times, liveFrom, 4_200);
  upgradeLicensing(ledger.model);
  for (let licenceIndex = 0; licenceIndex < extraLicences; licenceIndex += 1)
    demo.market.plan(liveFrom, { what: 'extra-license' });
  for (let stepCount = 0; stepCount < 150; stepCount += 1) demo.stepRecordedAt(liveFrom + (stepCount + 3) * 2 * second);
}

/** Plays half a year on an empty ledger, from January to June of 2026: about 15,000 updates. */
export function playHalfYear(ledger: Ledger, seed: number): void {
  generateLongHistory(ledger, { seed, startAt: Date.UTC(2026, 0, 1), now: Date.UTC(2026, 6, 1) });
}
