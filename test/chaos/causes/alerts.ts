/**
 * Alerts that fire when a cause has lasted: promtool evaluates the rules over the scraped metrics,
 * extrapolated.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promtool } from '../../support/skips/promtool.ts';
import type { Samples, Seen } from './surfaces.ts';

const intervalSeconds = 15;
/** Healthy time before the cause. */
const wellSeconds = 1_800;
/** Time at which the alerts are read: the slowest rule waits for a quarter of an hour over ten minutes. */
const lastingSeconds = 1_200;

/** Scrapes of the metrics: before the cause, a moment into it, minutes into it, and minutes after that. */
export interface Scrapes {
  readonly well: Seen;
  readonly soon: Seen;
  readonly later: Seen;
  readonly last: Seen;
  /** Seconds since 1970, by the clock of the indexer, when `well` was scraped. */
  readonly wellAt: number;
}

/** @param rules path of the rules @returns names of the alerts, sorted */
export function firing(rules: string, scrapes: Scrapes): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-alerts-'));
  try {
    const file = join(folder, 'cause.test.yaml');
    writeFileSync(file, JSON.stringify(caseOf(rules, scrapes)));
    const { stdout, stderr } = promtool(['test', 'rules', file]);
    // An expression without an expected sample fails, and the failure lists the actual samples.
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

/** Metrics of times count from 1970, which is where promtool begins. */
const isTime = (name: string): boolean => /_timestamp_seconds(?:\{|$)|_start_time_seconds(?:\{|$)/.test(name);
const counts = (name: string): boolean => /_(?:total|count|sum|bucket)(?:\{|$)/.test(name);

/** Counters and times continue to rise as before; other values stay. */
const goesOn = (name: string): boolean => counts(name) || isTime(name);

/**
 * One value each fifteen seconds: the healthy value, the scraped values, and after them the same slope as in
 * between.
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
