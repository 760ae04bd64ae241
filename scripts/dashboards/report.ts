/** Output of the check, and the document of `--json`. Pure. */
import type { AlertReport } from './alerts.ts';
import { isWrong, type PanelAnswer } from './check.ts';
import type { Problem } from './dashboard-lint.ts';

export interface Findings {
  readonly panels: readonly PanelAnswer[];
  /** Problems of dashboards and panels, found by the linter and by queries. */
  readonly problems: readonly Problem[];
  readonly alerts: AlertReport;
}

export interface Summary {
  readonly panels: number;
  readonly panels_passed: number;
  readonly alerts: number;
  readonly alerts_tested: number;
}

/** Numbers of findings, under the names of the JSON document. */
export function summaryOf({ panels, problems, alerts }: Findings): Summary {
  return {
    panels: panels.length,
    panels_passed: panels.filter((panel) => verdictOf(panel, problems) === 'ok').length,
    alerts: alerts.alerts.length,
    alerts_tested: alerts.alerts.filter(({ verdict }) => verdict === 'ok').length,
  };
}

/** Whether everything passed. */
export function hasPassed(findings: Findings): boolean {
  const { panels, panels_passed: passed, alerts, alerts_tested: tested } = summaryOf(findings);
  const faults = findings.problems.length + findings.alerts.problems.length;
  return faults === 0 && panels > 0 && panels === passed && alerts > 0 && alerts === tested;
}

/** The tables and the summary as text. */
export function printed(findings: Findings): string {
  const { panels, problems, alerts } = findings;
  const summary = summaryOf(findings);
  const rest = problems.filter(({ panel }) => !panels.some((answer) => answer.panel.title === panel));
  return [
    table(
      ['DASHBOARD', 'PANEL', 'QUERIES', 'ROWS', 'VERDICT'],
      panels.map((answer) => [
        answer.dashboard,
        answer.panel.title ?? '',
        String(answer.answers.length),
        answer.answers.map(({ rows }) => String(rows)).join(' '),
        verdictOf(answer, problems),
      ]),
    ),
    '',
    table(
      ['ALERT', 'FIRES', 'SILENT', 'VERDICT'],
      alerts.alerts.map(({ name, fires, silent, verdict }) => [name, String(fires), String(silent), verdict]),
    ),
    '',
    ...rest.map(
      ({ dashboard, panel, problem }) => `${[dashboard, panel].filter(Boolean).join(', ') || 'all'}: ${problem}`,
    ),
    ...alerts.problems,
    `panels: ${summary.panels} checked, ${summary.panels_passed} passed`,
    `alerts: ${summary.alerts}, tested ${summary.alerts_tested}`,
    '',
  ].join('\n');
}

function verdictOf(answer: PanelAnswer, problems: readonly Problem[]): string {
  const { dashboard, panel, answers } = answer;
  const linted = problems.filter((found) => found.dashboard === dashboard && found.panel === panel.title);
  const queryProblems = isWrong(answer)
    ? answers.flatMap(({ refId, problem }) => (problem === undefined ? [] : [`${refId}: ${problem}`]))
    : [];
  return [...linted.map(({ problem }) => problem), ...queryProblems].join('; ') || 'ok';
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
