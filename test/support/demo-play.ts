/**
 * Plays the traffic of the demo at fixed times: a month of history, a package upgrade, and a few minutes of traffic.
 */
import { upgradeLicensing } from '../../packages/ledger-sandbox/src/demo/templates/licensing-templates.ts';
import { monthBefore, playMonth } from '../../packages/ledger-sandbox/src/demo/month.ts';
import { Play } from '../../packages/ledger-sandbox/src/demo/play.ts';
import { tempoBefore } from '../../packages/ledger-sandbox/src/demo/market/tempo.ts';
import type { Ledger } from '../../packages/ledger-sandbox/src/ledger/ledger.ts';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';

/** When live traffic begins: 2026-03-02T12:00:00Z, in microseconds. */
const liveFrom = 1_772_452_800_000_000;
const second = 1_000_000;
/** Number of licenses created after the upgrade. */
const extraLicences = 3;

/** Plays the demo on an empty ledger. */
export function playDemo(ledger: Ledger, seed: number): void {
  const demo = new Play(ledger, { seed, tempo: tempoBefore(liveFrom) });
  const times = monthBefore(liveFrom - 3 * second, 1_200, new Random(seed + 2));
  playMonth(demo, times, liveFrom, 4_000);
  upgradeLicensing(ledger.model);
  for (let made = 0; made < extraLicences; made += 1) demo.market.plan(liveFrom, { what: 'extra-license' });
  for (let done = 0; done < 150; done += 1) demo.stepRecordedAt(liveFrom + (done + 3) * 2 * second);
}
