/** Static rules for dashboards, checked before any query runs. Pure: from the JSON to a list of problems. */
import {
  findVisiblePanels,
  type Dashboard,
  type DashboardFile,
  type GridPosition,
  type Panel,
  type Target,
} from './dashboard.ts';
import { rateRanges, selectorsOf } from './promql.ts';

export interface Problem {
  readonly dashboard: string;
  /** Title of the panel; empty for the entire dashboard. */
  readonly panel: string;
  readonly problem: string;
}

/** Grafana 10 to 13 support the classic JSON of this schema version. */
const schemaVersion = 42;
const gridWidth = 24;
const labels = ['job', 'instance'];

/**
 * The problems of the dashboards.
 * @param metrics names in `/metrics`; if undefined, it is not checked whether metrics exist
 */
export function lintDashboards(files: readonly DashboardFile[], metrics?: ReadonlySet<string>): readonly Problem[] {
  return [
    ...files.flatMap(({ name, dashboard }) => [
      ...dashboardProblems(dashboard).map((problem) => ({ dashboard: name, panel: '', problem })),
      ...dashboard.panels.flatMap((panel) =>
        panelProblems(panel, dashboard, metrics).map((problem) => ({
          dashboard: name,
          panel: panel.title ?? '',
          problem,
        })),
      ),
    ]),
    ...duplicatesOf(files.map(({ dashboard }) => dashboard.uid ?? '')).map((uid) =>
      globalProblem(`two dashboards with uid ${uid}`),
    ),
    ...duplicatesOf(files.map(({ dashboard }) => dashboard.title ?? '')).map((t) =>
      globalProblem(`two dashboards called "${t}"`),
    ),
  ];
}

function globalProblem(problem: string): Problem {
  return { dashboard: '', panel: '', problem };
}

function dashboardProblems(dashboard: Dashboard): readonly string[] {
  const { id, uid = '', title = '', panels } = dashboard;
  const variables = dashboard.templating.list;
  const visiblePanels = findVisiblePanels(dashboard);
  return [
    ...unless(id === null, 'id is not null: Grafana gives ids itself'),
    ...unless(/^[a-z0-9-]{1,40}$/.test(uid), 'no uid of 1 to 40 letters, digits and dashes'),
    ...unless(title !== '', 'no title'),
    ...unless(dashboard.schemaVersion === schemaVersion, `schemaVersion is not ${schemaVersion}`),
    ...unless(
      variables.some(({ type }) => type === 'datasource'),
      'no variable of type datasource',
    ),
    ...duplicatesOf(variables.map(({ name }) => name)).map((name) => `two variables called ${name}`),
    ...duplicatesOf(panels.map(({ id: panel }) => String(panel))).map((panel) => `two panels with id ${panel}`),
    ...duplicatesOf(visiblePanels.map(({ title: panel = '' }) => panel)).map((panel) => `two panels called "${panel}"`),
    ...overlaps(panels),
    ...dashboard.annotations.list
      .filter(({ builtIn, datasource }) => builtIn !== 1 && datasource?.uid !== '${datasource}')
      .map(({ name }) => `annotation "${name}" does not use the variable datasource`),
  ];
}

function panelProblems(
  panel: Panel,
  dashboard: Dashboard,
  metrics: ReadonlySet<string> | undefined,
): readonly string[] {
  const position = panel.gridPos;
  const commonProblems = [
    ...unless(typeof panel.id === 'number', 'no id'),
    ...unless((panel.title ?? '') !== '', 'no title'),
    ...unless(
      position !== undefined && position.x >= 0 && position.x + position.w <= gridWidth,
      'not inside the 24 columns',
    ),
  ];
  if (panel.type === 'row') {
    return [...commonProblems, ...unless((panel.title ?? '').endsWith('?'), 'the title of a row is a question')];
  }
  const targets = panel.targets ?? [];
  return [
    ...commonProblems,
    ...unless((panel.description ?? '') !== '', 'no description'),
    ...unless((panel.fieldConfig?.defaults.unit ?? '') !== '', 'no unit'),
    ...unless(targets.length > 0, 'no query'),
    ...unless(panel.datasource?.uid === '${datasource}', 'does not use the variable datasource'),
    ...duplicatesOf(targets.map(({ refId = '' }) => refId)).map((ref) => `two queries called ${ref}`),
    ...targets.flatMap((target) => targetProblems(target, dashboard, metrics)),
  ];
}

function targetProblems(
  target: Target,
  dashboard: Dashboard,
  metrics: ReadonlySet<string> | undefined,
): readonly string[] {
  const source = unless(target.datasource?.uid === '${datasource}', 'a query does not use the variable datasource');
  const text = target.expr ?? target.rawSql;
  if (text === undefined) return [...source, 'a query without PromQL and without SQL'];
  return [
    ...source,
    ...undefinedVariables(text, dashboard),
    ...(target.expr === undefined ? [] : promQlProblems(text, metrics)),
  ];
}

function promQlProblems(expr: string, metrics: ReadonlySet<string> | undefined): readonly string[] {
  const selectors = selectorsOf(expr);
  return [
    ...unless(selectors.length > 0, 'a query that names no metric'),
    ...rateRanges(expr)
      .filter((range) => range !== '$__rate_interval')
      .map((range) => `a rate over [${range}] instead of [$__rate_interval]`),
    ...selectors.flatMap(({ metric, labels: matchedLabels }) => [
      ...labels
        .filter((labelName) => !matchedLabels.includes(labelName))
        .map((labelName) => `${metric} is not limited by ${labelName}`),
      ...unless(metrics === undefined || metrics.has(metric), `${metric} is not among the metrics`),
    ]),
  ];
}

function undefinedVariables(text: string, dashboard: Dashboard): readonly string[] {
  const names = dashboard.templating.list.map(({ name }) => name);
  return [...text.matchAll(/\$\{?([A-Za-z]\w*)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !names.includes(name))
    .map((name) => `no variable called ${name}`);
}

function overlaps(panels: readonly Panel[]): readonly string[] {
  const placedPanels = panels.flatMap(({ title = '', gridPos }) => (gridPos === undefined ? [] : [{ title, gridPos }]));
  return placedPanels.flatMap((a, at) =>
    placedPanels
      .slice(at + 1)
      .filter((b) => touch(a.gridPos, b.gridPos))
      .map((b) => `"${a.title}" and "${b.title}" overlap`),
  );
}

function touch(a: GridPosition, b: GridPosition): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function duplicatesOf(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((word, index) => names.indexOf(word) !== index))];
}

function unless(isTrue: boolean, problem: string): readonly string[] {
  return isTrue ? [] : [problem];
}
