/**
 * Checks the dashboards against the types of three Grafana releases: the oldest supported, the one that we use, and the
 * newest. Each kind of mistake is inserted once and must be found.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { readDashboards } from '../../scripts/dashboards/dashboard.ts';
import { typeErrors, schemaPackages } from './grafana-schema.ts';

interface MutableObject {
  [key: string]: MutableObject;
}

/** Changes to inject into the dashboard of operations, each with a part of the line that the error must name. */
const dashboardMistakes: Readonly<
  Record<string, readonly [(panel: MutableObject, dashboard: MutableObject) => void, string]>
> = {
  'a field of the dashboard': [(_panel, dashboard) => rename(dashboard, 'refresh', 'reload'), '"reload"'],
  'a field of a panel': [(panel) => rename(panel, 'description', 'descripton'), '"descripton"'],
  'a field of a position': [({ gridPos }) => rename(gridPos, 'w', 'width'), '"width"'],
  'a field of an option': [({ options }) => rename(options?.['legend'], 'placement', 'place'), '"place"'],
  'a field of a query': [({ targets }) => rename(targets?.[0], 'legendFormat', 'legend'), '"legend"'],
  'a field of a field': [
    ({ fieldConfig }) => rename(fieldConfig?.['defaults']?.['custom'], 'drawStyle', 'style'),
    '"style"',
  ],
  'an enum of texts': [({ options }) => setField(options?.['legend'], 'placement', 'below'), '"below"'],
  'an enum of numbers': [(_panel, { templating }) => setField(templating?.['list']?.[0], 'refresh', 7), '"refresh": 7'],
  'a way to draw': [
    ({ fieldConfig }) => setField(fieldConfig?.['defaults']?.['custom'], 'drawStyle', 'curve'),
    '"curve"',
  ],
  'a unit': [({ fieldConfig }) => setField(fieldConfig?.['defaults'], 'unit', 'furlongs'), '"furlongs"'],
  'a panel type that does not exist': [(panel) => setField(panel, 'type', 'timeserie'), '"timeserie"'],
  'a number as text': [({ fieldConfig }) => setField(fieldConfig?.['defaults'], 'decimals', '2'), '"decimals": "2"'],
  'a text as number': [(panel) => setField(panel, 'interval', 60), '"interval": 60'],
  'a value that is not a list': [({ options }) => setField(options?.['legend'], 'calcs', 'mean'), '"calcs": "mean"'],
  'fieldConfig in the options': [(panel) => move(panel, 'fieldConfig', panel['options']), '"fieldConfig"'],
  'defaults in the panel': [(panel) => move(panel['fieldConfig'], 'defaults', panel), '"fieldConfig"'],
  'custom next to the defaults': [
    ({ fieldConfig }) => move(fieldConfig?.['defaults'], 'custom', fieldConfig),
    '"custom"',
  ],
  'options of another panel': [({ options }) => setField(options, 'colorMode', 'value'), '"colorMode"'],
  'an override of an unknown option': [
    ({ fieldConfig }) => setField(fieldConfig, 'overrides', [override('units', 's')]),
    '"units"',
  ],
  'an override of another type': [
    ({ fieldConfig }) => setField(fieldConfig, 'overrides', [override('custom.lineWidth', 'thick')]),
    '{',
  ],
};

function override(id: string, value: unknown): unknown {
  return { matcher: { id: 'byName', options: 'x' }, properties: [{ id, value }] };
}

function setField(object: object | undefined, key: string, value: unknown): void {
  if (object === undefined) throw new Error(`nothing that could have ${key}`);
  Object.assign(object, { [key]: value });
}

function move(from: MutableObject | undefined, key: string, to: MutableObject | undefined): void {
  const value = from?.[key];
  if (from === undefined || value === undefined) throw new Error(`no ${key} to move`);
  setField(to, key, value);
  delete from[key];
}

function rename(object: MutableObject | undefined, from: string, to: string): void {
  const value = object?.[from];
  if (object === undefined || value === undefined) throw new Error(`no ${from} to rename`);
  setField(object, to, value);
  delete object[from];
}

/** A dashboard with only one panel, with the change applied. */
function breakDashboard(text: string, breakPanel: (panel: MutableObject, dashboard: MutableObject) => void): string {
  const dashboard = JSON.parse(text) as MutableObject;
  const panel = Object.values(dashboard['panels'] ?? {}).find(({ type }) => (type as unknown) === 'timeseries');
  if (panel === undefined) throw new Error('no panel to spoil');
  setField(dashboard, 'panels', [panel]);
  breakPanel(panel, dashboard);
  return JSON.stringify(dashboard, undefined, 2);
}

async function dashboards(): Promise<Readonly<Record<string, string>>> {
  const names = (await readDashboards('grafana/dashboards')).map(({ name }) => name);
  const texts = names.map(async (name) => [name, await readFile(`grafana/dashboards/${name}.json`, 'utf8')] as const);
  return Object.fromEntries(await Promise.all(texts));
}

describe('Grafana dashboard types', () => {
  it.each(schemaPackages)('accept all dashboards and reject every injected mistake: %s', async (schema) => {
    const files = await dashboards();
    const plantedFiles = Object.fromEntries(
      Object.entries(dashboardMistakes).map(([name, [breakPanel]]) => [
        name,
        breakDashboard(files['operations'] ?? '', breakPanel),
      ]),
    );
    const problems = (await typeErrors({ ...files, ...plantedFiles }, schema)).map((line) => {
      const [, name = '', lineNumber] = /^(.*)\.json:(\d+): /.exec(line) ?? [];
      return { name, line, text: plantedFiles[name]?.split('\n')[Number(lineNumber) - 1]?.trim() };
    });
    expect(problems.filter(({ name }) => name in files).map(({ line }) => line)).toEqual([]);
    const filesByName = new Map(problems.map(({ name, text }) => [name, text]));
    expect(filesByName.size).toBe(problems.length);
    for (const [name, [, text]] of Object.entries(dashboardMistakes))
      expect([name, filesByName.get(name)]).toEqual([name, expect.stringContaining(text)]);
  });

  it('include Grafana 10, 12 and 13, and the release in docker-compose.yml', async () => {
    const versions = await Promise.all(
      schemaPackages.map(async (name) => {
        const text = await readFile(`node_modules/${name}/package.json`, 'utf8');
        return (JSON.parse(text) as { readonly version: string }).version;
      }),
    );
    expect(await readFile('docker-compose.yml', 'utf8')).toContain(
      `GRAFANA_IMAGE:-grafana/grafana:${String(versions[0])}}`,
    );
    expect(versions.map((version) => Number.parseInt(version, 10)).toSorted((a, b) => a - b)).toEqual([10, 12, 13]);
    expect(await readFile('docs/how-to/query/dashboards.md', 'utf8')).toContain('which Grafana 10 to 13 read');
  });
});
