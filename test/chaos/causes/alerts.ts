/**
 * Determines the alerts that fire while a cause lasts. promtool evaluates the rules over the scraped metrics, which are
 * extrapolated.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promtool } from '../../support/skips/promtool.ts';
import type { Samples, SurfaceSample } from './surfaces.ts';

const intervalSeconds = 15;
/** Time without a fault before the cause begins. */
const healthySeconds = 1_800;
/**
 * Time from the beginning of the cause to the evaluation. The slowest rule waits for 15 minutes on a range of 10
 * minutes.
 */
const durationSeconds = 1_200;

/** Scrapes of the metrics: before the cause, shortly after it began, minutes later, and at the end. */
export interface Scrapes {
  readonly well: SurfaceSample;
  readonly soon: SurfaceSample;
  readonly later: SurfaceSample;
  readonly last: SurfaceSample;
  /** Unix time in seconds, by the clock of the indexer, when `well` was scraped. */
  readonly wellAt: number;
}

/** Alerts that fire for these scrapes. @param rules path of the rules @returns sorted names of alerts */
export function firingAlerts(rules: string, scrapes: Scrapes): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-alerts-'));
  try {
    const file = join(folder, 'cause.test.yaml');
    writeFileSync(file, JSON.stringify(caseOf(rules, scrapes)));
    const { stdout, stderr } = promtool(['test', 'rules', file]);
    // The test expects no samples, so it fails and lists the actual ones.
    const alertNames = [...(stdout + stderr).matchAll(/alertname="(\w+)"/g)].map(([, name]) => name ?? '');
    if (!/got/.test(stdout + stderr)) throw new Error(`promtool: ${(stdout + stderr).slice(-500)}`);
    return [...new Set(alertNames)].sort();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function caseOf(rules: string, scrapes: Scrapes): object {
  const { well: healthySample, soon: earlyCodes, later: laterCodes, last } = scrapes;
  const names = new Set([healthySample, earlyCodes, laterCodes, last].flatMap(({ samples }) => [...samples.keys()]));
  const series = [...names].map((name) => ({ series: withLabels(name), values: valuesOf(name, scrapes) }));
  const upSeries = {
    series: 'up{job="ledger-indexer",instance="a"}',
    values: `1x${String((healthySeconds + durationSeconds) / intervalSeconds)}`,
  };
  return {
    rule_files: [rules],
    evaluation_interval: `${String(intervalSeconds)}s`,
    tests: [
      {
        interval: `${String(intervalSeconds)}s`,
        input_series: [upSeries, ...series],
        promql_expr_test: [
          {
            expr: 'count by (alertname) (ALERTS{alertstate="firing"}) or vector(0)',
            eval_time: `${String(healthySeconds + durationSeconds)}s`,
            exp_samples: [],
          },
        ],
      },
    ],
  };
}

function withLabels(name: string): string {
  const ownLabels = 'job="ledger-indexer",instance="a"';
  return name.includes('{') ? name.replace('{', `{${ownLabels},`) : `${name}{${ownLabels}}`;
}

/** The values of these metrics are Unix times. They are shifted, because promtool evaluates from 1970. */
const isTime = (name: string): boolean => /_timestamp_seconds(?:\{|$)|_start_time_seconds(?:\{|$)/.test(name);
const counts = (name: string): boolean => /_(?:total|count|sum|bucket)(?:\{|$)/.test(name);

/** Counters and times continue to increase at the same rate; other values stay constant. */
const isRunning = (name: string): boolean => counts(name) || isTime(name);

/**
 * One value per 15 seconds: first the healthy value, then the scraped values, then values with the slope of the last
 * two scrapes.
 */
function valuesOf(
  name: string,
  { well: healthySample, soon: earlyCodes, later: laterCodes, last, wellAt: healthyTime }: Scrapes,
): string {
  const base = isTime(name) ? healthyTime - healthySeconds : 0;
  const [before, first, laterScrape, end] = [healthySample, earlyCodes, laterCodes, last].map(({ samples }) =>
    valueOf(samples, name, base),
  );
  const upSamples = Array.from({ length: healthySeconds / intervalSeconds }, () => textOf(before));
  for (let elapsedSeconds = 0; elapsedSeconds <= durationSeconds; elapsedSeconds += intervalSeconds) {
    if (elapsedSeconds < laterCodes.at - earlyCodes.at) upSamples.push(textOf(first));
    else if (end === undefined || laterScrape === undefined || !isRunning(name)) upSamples.push(textOf(end));
    else
      upSamples.push(
        textOf(
          laterScrape +
            ((end - laterScrape) * (elapsedSeconds - laterCodes.at + earlyCodes.at)) / (last.at - laterCodes.at),
        ),
      );
  }
  return upSamples.join(' ');
}

function valueOf(samples: Samples, name: string, base: number): number | undefined {
  const value = samples.get(name);
  return value === undefined || !Number.isFinite(value) ? undefined : value === 0 ? 0 : value - base;
}

function textOf(value: number | undefined): string {
  return value === undefined ? '_' : String(Math.abs(value) < 1e-6 ? 0 : Number(value.toFixed(6)));
}
