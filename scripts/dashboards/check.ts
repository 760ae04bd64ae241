/**
 * Runs all queries of the dashboards against a running demo, until every panel has data or the time limit is reached.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { chooseAll, type ListOptions } from './choices.ts';
import {
  findVisiblePanels,
  queryOf,
  type Dashboard,
  type DashboardFile,
  type Panel,
  type Target,
} from './dashboard.ts';
import type { Demo } from './demo.ts';
import type { Answer } from './frame.ts';
import { milliseconds, type Choices, type View } from './interpolation.ts';
import { queryPostgres, variableValues } from './postgres.ts';
import { queryPrometheus, labelValues, refusal } from './prometheus.ts';

export interface PanelResult {
  readonly dashboard: string;
  readonly panel: Panel;
  readonly answers: readonly Answer[];
}

export interface DashboardResults {
  readonly name: string;
  readonly dashboard: Dashboard;
  readonly view: View;
  readonly choices: Choices;
  readonly panels: readonly PanelResult[];
  /** Problems of variables and annotations, one sentence each. */
  readonly problems: readonly string[];
}

/** Milliseconds. Prometheus discovers targets up to 5 s late, and a rate needs several scrapes. */
const timeLimitMs = 90_000;
const pollMs = 2_000;
const dayMs = 86_400_000;
/**
 * Scrape interval that the data source is configured with. The actual interval is shorter, so that rates are available
 * earlier.
 */
const scrapeMs = 5_000;

/**
 * Runs the queries of all panels, and repeats those of dashboards with a problem until all succeed. Returns the last
 * results. Dashboards that have succeeded are not repeated, because the demo grows, and so does the cost of some
 * panels.
 */
export async function queryUntilComplete(
  files: readonly DashboardFile[],
  demo: Demo,
  startedAt: number,
): Promise<readonly DashboardResults[]> {
  const end = performance.now() + timeLimitMs;
  let dashboardAnswers = await queryDashboards(files, demo, startedAt);
  // On a busy machine, the first pass alone may exceed the limit.
  do {
    const failedNames = new Set(dashboardAnswers.filter(hasProblem).map(({ name }) => name));
    if (failedNames.size === 0) break;
    await sleep(pollMs);
    const openFiles = files.filter(({ name }) => failedNames.has(name));
    const retriedByName = new Map(
      (await queryDashboards(openFiles, demo, startedAt)).map((panelAnswer) => [panelAnswer.name, panelAnswer]),
    );
    dashboardAnswers = dashboardAnswers.map((panelAnswer) => retriedByName.get(panelAnswer.name) ?? panelAnswer);
  } while (performance.now() <= end);
  return dashboardAnswers;
}

function hasProblem({ panels, problems }: DashboardResults): boolean {
  return problems.length > 0 || panels.some(hasWrongAnswer);
}

/** Whether any query of the panel has a problem. */
export function hasWrongAnswer({ answers: targetAnswers }: PanelResult): boolean {
  return targetAnswers.some(({ problem }) => problem !== undefined);
}

async function queryDashboards(
  files: readonly DashboardFile[],
  demo: Demo,
  startedAt: number,
): Promise<readonly DashboardResults[]> {
  const client = new Client({ connectionString: demo.readerUrl, application_name: 'dashboards' });
  await client.connect();
  try {
    const dashboardAnswers: DashboardResults[] = [];
    for (const { name, dashboard } of files)
      dashboardAnswers.push(await queryDashboard(name, dashboard, { demo, client, startedAt }));
    return dashboardAnswers;
  } finally {
    await client.end();
  }
}

interface Sources {
  readonly demo: Demo;
  readonly client: Client;
  readonly startedAt: number;
}

async function queryDashboard(name: string, dashboard: Dashboard, sources: Sources): Promise<DashboardResults> {
  const problems: string[] = [];
  const overSql = findVisiblePanels(dashboard).some(({ targets = [] }) =>
    targets.some(({ rawSql }) => rawSql !== undefined),
  );
  const view = overSql ? historyView() : recentView(sources.startedAt);
  const list: ListOptions = (variable, chosen) => optionsOf(queryOf(variable), view, chosen, sources);
  const choices = await chooseAll(dashboard, list, problems);
  const panels: PanelResult[] = [];
  for (const panel of findVisiblePanels(dashboard)) {
    const targetAnswers: Answer[] = [];
    const panelView = viewOf(panel, view);
    for (const target of panel.targets ?? [])
      targetAnswers.push(await runTarget(panel, target, panelView, choices, sources));
    panels.push({ dashboard: name, panel, answers: targetAnswers });
  }
  for (const { name: annotationName, expr } of dashboard.annotations.list) {
    const queryError = expr === undefined ? undefined : await refusal(sources.demo.prometheusUrl, expr, view, choices);
    if (queryError !== undefined) problems.push(`annotation "${annotationName}": ${queryError}`);
  }
  return { name, dashboard, view, choices, panels, problems };
}

function runTarget(
  panel: Panel,
  target: Target,
  view: View,
  choices: Choices,
  { demo, client }: Sources,
): Promise<Answer> {
  return target.rawSql === undefined
    ? queryPrometheus(demo.prometheusUrl, panel, target, view, choices)
    : queryPostgres(client, panel, target, view, choices);
}

/** Intervals that Grafana rounds to, as far as they matter here. */
const roundIntervals = ['1s', '5s', '10s', '30s', '1m', '5m', '10m', '30m', '1h', '2h', '3h', '6h', '12h', '1d', '7d'];

/** The view of the dashboard, or the panel's own time range and number of points. */
export function viewOf({ timeFrom, maxDataPoints }: Panel, view: View): View {
  if (timeFrom === undefined && maxDataPoints === undefined) return view;
  const spanMs = timeFrom === undefined ? view.toMs - view.fromMs : milliseconds(timeFrom);
  const maxIntervalMs = (spanMs / (maxDataPoints ?? 400)) * 1.3;
  const intervalMs = roundIntervals.map(milliseconds).findLast((round) => round <= maxIntervalMs) ?? 1_000;
  return { ...view, fromMs: view.toMs - spanMs, intervalMs };
}

/** The range since the start, like the last minutes in Grafana. Points are at least 2 s apart. */
function recentView(startedAt: number): View {
  const toMs = Date.now();
  const step = Math.ceil((toMs - startedAt) / 150 / 1000) * 1000;
  return { fromMs: startedAt, toMs, intervalMs: Math.max(2_000, step), scrapeMs };
}

/** The default range of the dashboard: thirty days. */
function historyView(): View {
  const toMs = Date.now();
  return { fromMs: toMs - 30 * dayMs, toMs, intervalMs: 3_600_000, scrapeMs };
}

function optionsOf(query: string, view: View, choices: Choices, { demo, client }: Sources): Promise<string[]> {
  return query.startsWith('label_values(')
    ? labelValues(demo.prometheusUrl, query, choices, view)
    : variableValues(client, query, view, choices);
}
