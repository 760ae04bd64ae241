/**
 * Alert rules and their test cases: the findings of `promtool`, and which rules have both a case in which they fire and
 * one in which they do not.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { runToEnd } from './program.ts';

export interface AlertResult {
  readonly name: string;
  /** Number of cases in which the rule fires; the next field is the number of those in which it must not fire. */
  readonly fires: number;
  readonly silent: number;
  /** `ok`, or the kind of case that is missing. */
  readonly verdict: string;
}

export interface AlertReport {
  readonly alerts: readonly AlertResult[];
  /** Findings of promtool, and missing files. */
  readonly problems: readonly string[];
}

interface Rules {
  readonly groups?: readonly { readonly rules?: readonly { readonly alert?: string }[] }[];
}

interface AlertCases {
  readonly tests?: readonly {
    readonly alert_rule_test?: readonly {
      readonly alertname?: string;
      readonly exp_alerts?: readonly unknown[] | null;
    }[];
  }[];
}

/**
 * Checks the rules with promtool.
 * @param rulesFile of Prometheus
 * @param casesFolder contains `*.test.yaml` for `promtool test rules`
 */
export async function checkAlerts(rulesFile: string, casesFolder: string): Promise<AlertReport> {
  const rules = await readFile(rulesFile, 'utf8').catch(() => undefined);
  if (rules === undefined) return { alerts: [], problems: [`${rulesFile} is missing`] };
  const files = (await readdir(casesFolder).catch(() => [])).filter((file) => file.endsWith('.test.yaml')).sort();
  const paths = files.map((file) => join(casesFolder, file));
  const cases = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
  return {
    alerts: groupAlertCases(
      parse(rules) as Rules,
      cases.map((text) => parse(text) as AlertCases),
    ),
    problems: [
      ...promtool('check', [rulesFile]),
      ...(paths.length > 0 ? promtool('test', paths) : [`${casesFolder} has no *.test.yaml`]),
    ],
  };
}

/** Pairs rules with their cases. A rule needs at least one case of each kind. Pure. */
export function groupAlertCases(rules: Rules, cases: readonly AlertCases[]): readonly AlertResult[] {
  const names = (rules.groups ?? []).flatMap((group) => (group.rules ?? []).flatMap(({ alert }) => alert ?? []));
  const testedCases = cases.flatMap(({ tests }) => (tests ?? []).flatMap((test) => test.alert_rule_test ?? []));
  return [...new Set(names)].map((name) => {
    const alertCases = testedCases.filter(({ alertname }) => alertname === name);
    const firingCases = alertCases.filter(({ exp_alerts: expected }) => (expected ?? []).length > 0).length;
    const silentCases = alertCases.length - firingCases;
    const missingCases = [
      ...(firingCases === 0 ? ['no case in which it fires'] : []),
      ...(silentCases === 0 ? ['no silent case'] : []),
    ];
    return {
      name,
      fires: firingCases,
      silent: silentCases,
      verdict: missingCases.length === 0 ? 'ok' : missingCases.join(', '),
    };
  });
}

function promtool(verb: 'check' | 'test', files: readonly string[]): readonly string[] {
  const { status, output } = runToEnd('promtool', [verb, 'rules', ...files]);
  return status === 0 ? [] : [`promtool ${verb} rules:\n${output.trim()}`];
}
