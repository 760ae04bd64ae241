/** Tests each rule of the dashboard lint with a small dashboard that violates only that rule. */
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { readDashboards, type Dashboard, type DashboardFile, type Panel } from '../../scripts/dashboards/dashboard.ts';
import { lintDashboards } from '../../scripts/dashboards/dashboard-lint.ts';
import { lintProvisioning, readProvisioning, type Provisioning } from '../../scripts/dashboards/provisioning.ts';

const source = { type: 'prometheus', uid: '${datasource}' };
const validPanel: Panel = {
  id: 2,
  type: 'stat',
  title: 'Up',
  description: 'Whether it runs.',
  datasource: source,
  gridPos: { x: 0, y: 1, w: 12, h: 4 },
  fieldConfig: { defaults: { unit: 'short' } },
  targets: [{ refId: 'A', datasource: source, expr: 'rate(up{job=~"$job", instance=~"$instance"}[$__rate_interval])' }],
};
const row: Panel = { id: 1, type: 'row', title: 'Is it up?', gridPos: { x: 0, y: 0, w: 24, h: 1 } };
const dashboard: Dashboard = {
  id: null,
  uid: 'small',
  title: 'Small',
  schemaVersion: 42,
  panels: [row, validPanel],
  templating: {
    list: [
      { type: 'datasource', name: 'datasource', query: 'prometheus' },
      { type: 'query', name: 'job' },
      { type: 'query', name: 'instance' },
    ],
  },
  annotations: { list: [{ name: 'Restarts', expr: 'up', datasource: source }] },
};

function problems(files: readonly DashboardFile[]): readonly string[] {
  return lintDashboards(files, new Set(['up'])).map(({ problem }) => problem);
}
const dashboardProblemsOf = (change: Partial<Dashboard>): readonly string[] =>
  problems([{ name: 'small', dashboard: { ...dashboard, ...change } }]);
const panelProblemsOf = (change: Partial<Panel>): readonly string[] =>
  dashboardProblemsOf({ panels: [row, { ...validPanel, ...change }] });
const queryProblemsOf = (expr: string): readonly string[] =>
  panelProblemsOf({ targets: [{ refId: 'A', datasource: source, expr }] });
const otherPanel = { ...validPanel, id: 3, title: 'Other', gridPos: { x: 12, y: 1, w: 12, h: 4 } };

describe('dashboard lint', () => {
  it('accepts a dashboard that follows the rules', () => {
    expect(dashboardProblemsOf({})).toEqual([]);
    expect(dashboardProblemsOf({ panels: [row, validPanel, otherPanel] })).toEqual([]);
  });

  it.each<[Partial<Dashboard>, string]>([
    [{ id: 7 }, 'id is not null: Grafana gives ids itself'],
    [{ uid: 'Not a uid' }, 'no uid of 1 to 40 letters, digits and dashes'],
    [{ title: '' }, 'no title'],
    [{ schemaVersion: 16 }, 'schemaVersion is not 42'],
    [{ templating: { list: dashboard.templating.list.slice(1) } }, 'no variable of type datasource'],
    [
      { templating: { list: [...dashboard.templating.list, { type: 'query', name: 'job' }] } },
      'two variables called job',
    ],
    [{ panels: [row, validPanel, { ...otherPanel, id: 2 }] }, 'two panels with id 2'],
    [{ panels: [row, validPanel, { ...otherPanel, title: 'Up' }] }, 'two panels called "Up"'],
    [
      { panels: [row, validPanel, { ...otherPanel, gridPos: { x: 11, y: 4, w: 12, h: 4 } }] },
      '"Up" and "Other" overlap',
    ],
    [{ panels: [{ ...row, title: 'State' }, validPanel] }, 'the title of a row is a question'],
    [{ annotations: { list: [{ name: 'A', expr: 'up' }] } }, 'annotation "A" does not use the variable datasource'],
  ])('rejects a dashboard with the change %j', (change, problem) => {
    expect(dashboardProblemsOf(change)).toEqual([problem]);
  });

  it('rejects two dashboards with the same uid and title', () => {
    const file = { name: 'small', dashboard };
    expect(problems([file, file])).toEqual(['two dashboards with uid small', 'two dashboards called "Small"']);
  });
});

describe('panel lint', () => {
  it.each<[Partial<Panel>, string]>([
    [{ title: '' }, 'no title'],
    [{ description: '' }, 'no description'],
    [{ fieldConfig: { defaults: {} } }, 'no unit'],
    [{ targets: [] }, 'no query'],
    [{ datasource: { uid: 'fixed' } }, 'does not use the variable datasource'],
    [{ gridPos: { x: 20, y: 1, w: 6, h: 4 } }, 'not inside the 24 columns'],
    [{ targets: [{ refId: 'A', datasource: source }] }, 'a query without PromQL and without SQL'],
    [
      { targets: [{ refId: 'A', datasource: { uid: 'fixed' }, rawSql: 'select 1' }] },
      'a query does not use the variable datasource',
    ],
    [{ targets: [{ refId: 'A', datasource: source, rawSql: 'select $nobody' }] }, 'no variable called nobody'],
    [{ targets: [...(validPanel.targets ?? []), ...(validPanel.targets ?? [])] }, 'two queries called A'],
  ])('rejects a panel with the change %j', (change, problem) => {
    expect(panelProblemsOf(change)).toEqual([problem]);
  });

  it.each([
    ['rate(up{job=~"$job", instance=~"$instance"}[5m])', 'a rate over [5m] instead of [$__rate_interval]'],
    ['down{job=~"$job", instance=~"$instance"}', 'down is not among the metrics'],
    ['up{job=~"$job"}', 'up is not limited by instance'],
    ['sum by (le) (up{instance=~"$instance"}) > 0', 'up is not limited by job'],
    ['vector(1)', 'a query that names no metric'],
  ])('rejects a panel with the query %s', (expr, problem) => {
    expect(queryProblemsOf(expr)).toEqual([problem]);
  });
});

describe('Grafana provisioning', () => {
  let files: Provisioning;
  let dashboards: readonly DashboardFile[];
  beforeAll(async () => {
    files = await readProvisioning('grafana/provisioning');
    dashboards = await readDashboards('grafana/dashboards');
  });
  const providerWithout = (change: Readonly<Record<string, unknown>>): Provisioning => {
    const [file] = files.datasources as [{ datasources: readonly Readonly<Record<string, unknown>>[] }];
    const datasources = file.datasources.map((datasource) =>
      datasource['type'] === 'postgres' ? { ...datasource, ...change } : datasource,
    );
    return { ...files, datasources: [{ ...file, datasources }] };
  };

  it('matches the dashboards', () => {
    expect(lintProvisioning(files, dashboards)).toEqual([]);
    expect(lintDashboards(dashboards)).toEqual([]);
  });

  it('is documented in docs/how-to/query/dashboards.md, with file and uid of each dashboard', async () => {
    const page = await readFile('docs/how-to/query/dashboards.md', 'utf8');
    const dashboardProblems = dashboards.flatMap(({ name, dashboard }) => [
      `grafana/dashboards/${name}.json`,
      String(dashboard.uid),
    ]);
    expect(dashboardProblems.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it.each<[Readonly<Record<string, unknown>>, string]>([
    [{ uid: 'other' }, 'dashboard ledger begins with a data source that has no such uid'],
    [{ url: 'postgres:5432' }, 'data source Ledger: its url is not taken from the environment'],
    [{ user: 'postgres' }, 'data source Ledger: its user is not taken from the environment'],
    [{ editable: true }, 'data source Ledger: editable is not false'],
    [{ jsonData: {} }, 'data source Ledger: no database in jsonData, taken from the environment'],
    [{ secureJsonData: {} }, 'data source Ledger: no password in secureJsonData, taken from the environment'],
    [{ type: 'mysql' }, 'no data source of type grafana-postgresql-datasource, which dashboard ledger wants'],
  ])('is rejected with the change %j', (change, problem) => {
    // The test uses one dashboard per data source, because further dashboards would report the same problem.
    const ledgerDashboards = dashboards.filter(({ name }) => name === 'ledger' || name === 'operations');
    expect(lintProvisioning(providerWithout(change), ledgerDashboards)).toEqual([problem]);
  });

  it('is rejected if a data source has no uid', () => {
    expect(lintProvisioning(providerWithout({ uid: undefined }), [])).toEqual(['data source Ledger: no uid']);
  });

  it('is rejected without a file provider or without an apiVersion', () => {
    const brokenFiles = { ...files, providers: [{ providers: [{ name: 'x', type: 'file' }] }] };
    expect(lintProvisioning(brokenFiles, [])).toEqual([
      'a file without apiVersion: 1',
      'provider x: not of type file with options.path',
    ]);
    expect(lintProvisioning({ ...files, providers: [] }, [])).toEqual(['no provider of dashboards']);
  });

  it('contains no password', async () => {
    const text = await readFile('grafana/provisioning/datasources/ledger-indexer.yaml', 'utf8');
    expect(text.match(/password: .*/g)).toEqual(['password: ${GRAFANA_POSTGRES_PASSWORD}']);
  });
});
