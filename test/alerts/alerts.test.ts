/**
 * Checks the alert rules: each alert has a case in which it fires and one in which it does not, uses existing metrics,
 * and is documented.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { pageUrl } from '../../src/page-url.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

interface AlertCases {
  readonly tests: readonly {
    readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly unknown[] }[];
  }[];
}

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const rulesFile = path('../../grafana/alerts/ledger-indexer.rules.yaml');
const readYaml = (file: string): unknown => parse(readFileSync(file, 'utf8'));
const rules = (readYaml(rulesFile) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const caseFiles = readdirSync(path('.'))
  .filter((name) => name.endsWith('.test.yaml'))
  .map((name) => path(name));
const cases = caseFiles.flatMap((file) =>
  (readYaml(file) as AlertCases).tests.flatMap(({ alert_rule_test: expected }) => expected),
);

describe.each(rules)('alert $alert', ({ alert, expr, labels, annotations }) => {
  it('has a test case that fires the alert and one that does not', () => {
    const expected = cases
      .filter(({ alertname }) => alertname === alert)
      .map(({ exp_alerts: list }) => list.length > 0);
    expect(new Set(expected)).toEqual(new Set([true, false]));
  });

  it('uses only existing metrics', () => {
    const metricNames = new Set(
      createMetrics({ version: 'test' })
        .registry.getMetricsAsArray()
        .map(({ name }) => name),
    );
    const referencedMetrics = expr.match(/\b(?:indexer|nodejs|process)_\w+/g) ?? [];
    expect(
      referencedMetrics.map((name) => name.replace(/_bucket$/, '')).filter((name) => !metricNames.has(name)),
    ).toEqual([]);
    expect(referencedMetrics.length > 0 || /\b(?:up|node_filesystem_avail_bytes)\{/.test(expr)).toBe(true);
  });

  it('has a severity, a summary and a link to the runbook', () => {
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.summary.length).toBeLessThan(100);
    expect(annotations.description).toMatch(/[.;] ?.*\.$|^[^.]+\.$/);
    const page = /docs\/runbook\/[a-z]+\.md/.exec(annotations.runbook_url)?.[0] ?? 'no page of docs/runbook';
    expect(annotations.runbook_url).toBe(pageUrl(`${page}#${alert.toLowerCase()}`));
    expect(readFileSync(path(`../../${page}`), 'utf8')).toContain(`\n## ${alert}\n`);
  });

  it('is listed with its severity in docs/runbook/README.md', () => {
    expect(readFileSync(path('../../docs/runbook/README.md'), 'utf8')).toMatch(
      new RegExp(`^\\| \\[${alert}\\]\\([a-z]+\\.md#${alert.toLowerCase()}\\) +\\| ${labels.severity} +\\|`, 'm'),
    );
  });
});
