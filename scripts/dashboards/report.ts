/** Output of the check, and the document of `--json`. Pure. */
import type { AlertReport } from './alerts.ts';
import { hasWrongAnswer, type PanelResult } from './check.ts';
import type { Problem } from './dashboard-lint.ts';

export interface Findings {
  readonly panels: readonly PanelResult[];
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
  const { panels, panels_passed: passedPanels, alerts, alerts_tested: testedAlerts } = summaryOf(findings);
  const faults = findings.problems.length + findings.alerts.problems.length;
  return faults === 0 && panels > 0 && panels === passedPanels && alerts > 0 && alerts === testedAlerts;
}

/** The tables and the summary as text. */
export function printReport(findings: Findings): string {
  const { panels, problems, alerts } = findings;
  const summary = summaryOf(findings);
  const otherProblems = problems.filter(
    ({ panel }) => !panels.some((panelAnswer) => panelAnswer.panel.title === panel),
  );
  return [
    table(
      ['DASHBOARD', 'PANEL', 'QUERIES', 'ROWS', 'VERDICT'],
      panels.map((panelAnswer) => [
        panelAnswer.dashboard,
        panelAnswer.panel.title ?? '',
        String(panelAnswer.answers.length),
        panelAnswer.answers.map(({ rows }) => String(rows)).join(' '),
        verdictOf(panelAnswer, problems),
      ]),
    ),
    '',
    table(
      ['ALERT', 'FIRES', 'SILENT', 'VERDICT'],
      alerts.alerts.map(({ name, fires: firingCases, silent: silentCases, verdict }) => [
        name,
        String(firingCases),
        String(silentCases),
        verdict,
      ]),
    ),
    '',
    ...otherProblems.map(
      ({ dashboard, panel, problem }) => `${[dashboard, panel].filter(Boolean).join(', ') || 'all'}: ${problem}`,
    ),
    ...alerts.problems,
    `panels: ${summary.panels} checked, ${summary.panels_passed} passed`,
    `alerts: ${summary.alerts}, tested ${summary.alerts_tested}`,
    '',
  ].join('\n');
}

function verdictOf(panelAnswer: PanelResult, problems: readonly Problem[]): string {
  const { dashboard, panel, answers: targetAnswers } = panelAnswer;
  const panelProblems = problems.filter((problem) => problem.dashboard === dashboard && problem.panel === panel.title);
  const queryProblems = hasWrongAnswer(panelAnswer)
    ? targetAnswers.flatMap(({ refId, problem }) => (problem === undefined ? [] : [`${refId}: ${problem}`]))
    : [];
  return [...panelProblems.map(({ problem }) => problem), ...queryProblems].join('; ') || 'ok';
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const tableRows = [head, ...rows];
  const widths = head.map((_, index) => Math.max(...tableRows.map((row) => (row[index] ?? '').length)));
  return tableRows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
