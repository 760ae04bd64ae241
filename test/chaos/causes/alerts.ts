/**
 * Determines the alerts that fire while a cause lasts. promtool evaluates the rules over the scraped metrics, which are
 * extrapolated.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promtool } from '../../support/skips/promtool.ts';
import type { Samples, Seen } from './surfaces.ts';

const intervalSeconds = 15;
/** Time without a fault before the cause begins. */
const wellSeconds = 1_800;
/**
 * Time from the beginning of the cause to the evaluation. The slowest rule waits for 15 minutes on a range of 10
 * minutes.
 */
const lastingSeconds = 1_200;

/** Scrapes of the metrics: before the cause, shortly after it began, minutes later, and at the end. */
export interface Scrapes {
  readonly well: Seen;
  readonly soon: Seen;
  readonly later: Seen;
  readonly last: Seen;
  /** Unix time in seconds, by the clock of the indexer, when `well` was scraped. */
  readonly wellAt: number;
}

/** Alerts that fire for these scrapes. @param rules path of the rules @returns sorted names of alerts */
export function firing(rules: string, scrapes: Scrapes): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-alerts-'));
  try {
    const file = join(folder, 'cause.test.yaml');
    writeFileSync(file, JSON.stringify(caseOf(rules, scrapes)));
    const { stdout, stderr } = promtool(['test', 'rules', file]);
    // The test expects no samples, so it fails and lists the actual ones.
    const found = [...(stdout + stderr).matchAll(/alertname="(\w+)"/g)].map(([, name]) => name ?? '');
    if (!/got/.test(stdout + stderr)) throw new Error(`promtool: ${(stdout + stderr).slice(-500)}`);
    return [...new Set(found)].sort();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function caseOf(rules: string, scrapes: Scrapes): object {
  const { well, soon, later, last } = scrapes;
  const names = new Set([well, soon, later, last].flatMap(({ samples }) => [...samples.keys()]));
  const series = [...names].map((name) => ({ series: labelled(name), values: valuesOf(name, scrapes) }));
  const up = {
    series: 'up{job="ledger-indexer",instance="a"}',
    values: `1x${String((wellSeconds + lastingSeconds) / intervalSeconds)}`,
  };
  return {
    rule_files: [rules],
    evaluation_interval: `${String(intervalSeconds)}s`,
    tests: [
      {
        interval: `${String(intervalSeconds)}s`,
        input_series: [up, ...series],
        promql_expr_test: [
          {
            expr: 'count by (alertname) (ALERTS{alertstate="firing"}) or vector(0)',
            eval_time: `${String(wellSeconds + lastingSeconds)}s`,
            exp_samples: [],
          },
        ],
      },
    ],
  };
}

function labelled(name: string): string {
  const own = 'job="ledger-indexer",instance="a"';
  return name.includes('{') ? name.replace('{', `{${own},`) : `${name}{${own}}`;
}

/** The values of these metrics are Unix times. They are shifted, because promtool evaluates from 1970. */
const isTime = (name: string): boolean => /_timestamp_seconds(?:\{|$)|_start_time_seconds(?:\{|$)/.test(name);
const counts = (name: string): boolean => /_(?:total|count|sum|bucket)(?:\{|$)/.test(name);

/** Counters and times continue to increase at the same rate; other values stay constant. */
const goesOn = (name: string): boolean => counts(name) || isTime(name);

/**
 * One value per 15 seconds: first the healthy value, then the scraped values, then values with the slope of the last
 * two scrapes.
 */
function valuesOf(name: string, { well, soon, later, last, wellAt }: Scrapes): string {
  const base = isTime(name) ? wellAt - wellSeconds : 0;
  const [before, first, then, end] = [well, soon, later, last].map(({ samples }) => valueOf(samples, name, base));
  const words = Array.from({ length: wellSeconds / intervalSeconds }, () => textOf(before));
  for (let passed = 0; passed <= lastingSeconds; passed += intervalSeconds) {
    if (passed < later.at - soon.at) words.push(textOf(first));
    else if (end === undefined || then === undefined || !goesOn(name)) words.push(textOf(end));
    else words.push(textOf(then + ((end - then) * (passed - later.at + soon.at)) / (last.at - later.at)));
  }
  return words.join(' ');
}

function valueOf(samples: Samples, name: string, base: number): number | undefined {
  const value = samples.get(name);
  return value === undefined || !Number.isFinite(value) ? undefined : value === 0 ? 0 : value - base;
}

function textOf(value: number | undefined): string {
  return value === undefined ? '_' : String(Math.abs(value) < 1e-6 ? 0 : Number(value.toFixed(6)));
}
