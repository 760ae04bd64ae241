/** The dashboards beside what Grafana itself declares, in two releases; each kind of mistake is planted once, and found. */
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { readDashboards } from '../../scripts/dashboards/dashboard.ts';
import { misfits, releases, type SchemaPackage } from './grafana-schema.ts';

interface Changing {
  [key: string]: Changing;
}

/** What is done to the dashboard of operations, and a text of the line to which the compiler has to point. */
const mistakes: Readonly<Record<string, readonly [(panel: Changing, dashboard: Changing) => void, string]>> = {
  'a field of the dashboard': [(_panel, dashboard) => rename(dashboard, 'refresh', 'reload'), '"reload"'],
  'a field of a panel': [(panel) => rename(panel, 'description', 'descripton'), '"descripton"'],
  'a field of a position': [({ gridPos }) => rename(gridPos, 'w', 'width'), '"width"'],
  'a field of an option': [({ options }) => rename(options?.['legend'], 'placement', 'place'), '"place"'],
  'a field of a query': [({ targets }) => rename(targets?.[0], 'legendFormat', 'legend'), '"legend"'],
  'a field of a field': [
    ({ fieldConfig }) => rename(fieldConfig?.['defaults']?.['custom'], 'drawStyle', 'style'),
    '"style"',
  ],
  'an enum of texts': [({ options }) => put(options?.['legend'], 'placement', 'below'), '"below"'],
  'an enum of numbers': [(_panel, { templating }) => put(templating?.['list']?.[0], 'refresh', 7), '"refresh": 7'],
  'a way to draw': [({ fieldConfig }) => put(fieldConfig?.['defaults']?.['custom'], 'drawStyle', 'curve'), '"curve"'],
  'a unit': [({ fieldConfig }) => put(fieldConfig?.['defaults'], 'unit', 'furlongs'), '"furlongs"'],
  'a panel that there is not': [(panel) => put(panel, 'type', 'timeserie'), '"timeserie"'],
  'a number as text': [({ fieldConfig }) => put(fieldConfig?.['defaults'], 'decimals', '2'), '"decimals": "2"'],
  'a text as number': [(panel) => put(panel, 'interval', 60), '"interval": 60'],
  'a list that is none': [({ options }) => put(options?.['legend'], 'calcs', 'mean'), '"calcs": "mean"'],
  'fieldConfig in the options': [(panel) => move(panel, 'fieldConfig', panel['options']), '"fieldConfig"'],
  'defaults in the panel': [(panel) => move(panel['fieldConfig'], 'defaults', panel), '"fieldConfig"'],
  'custom beside the defaults': [
    ({ fieldConfig }) => move(fieldConfig?.['defaults'], 'custom', fieldConfig),
    '"custom"',
  ],
  'options of another panel': [({ options }) => put(options, 'colorMode', 'value'), '"colorMode"'],
  'an override of what there is not': [
    ({ fieldConfig }) => put(fieldConfig, 'overrides', [override('units', 's')]),
    '"units"',
  ],
  'an override of another type': [
    ({ fieldConfig }) => put(fieldConfig, 'overrides', [override('custom.lineWidth', 'thick')]),
    '{',
  ],
};

function override(id: string, value: unknown): unknown {
  return { matcher: { id: 'byName', options: 'x' }, properties: [{ id, value }] };
}

function put(object: object | undefined, key: string, value: unknown): void {
  if (object === undefined) throw new Error(`nothing that could have ${key}`);
  Object.assign(object, { [key]: value });
}

function move(from: Changing | undefined, key: string, to: Changing | undefined): void {
  const value = from?.[key];
  if (from === undefined || value === undefined) throw new Error(`no ${key} to move`);
  put(to, key, value);
  delete from[key];
}

function rename(object: Changing | undefined, from: string, to: string): void {
  const value = object?.[from];
  if (object === undefined || value === undefined) throw new Error(`no ${from} to rename`);
  put(object, to, value);
  delete object[from];
}

function spoilt(text: string, spoil: (panel: Changing, dashboard: Changing) => void): string {
  const dashboard = JSON.parse(text) as Changing;
  const panel = Object.values(dashboard['panels'] ?? {}).find(({ type }) => (type as unknown) === 'timeseries');
  if (panel === undefined) throw new Error('no panel to spoil');
  spoil(panel, dashboard);
  return JSON.stringify(dashboard, undefined, 2);
}

describe('types of Grafana', () => {
  let files: Readonly<Record<string, string>>;
  beforeAll(async () => {
    const names = (await readDashboards('grafana/dashboards')).map(({ name }) => name);
    const texts = names.map(async (name) => [name, await readFile(`grafana/dashboards/${name}.json`, 'utf8')] as const);
    files = Object.fromEntries(await Promise.all(texts));
  });

  it.each(Object.keys(releases) as SchemaPackage[])('of %s fit all dashboards', async (schema) => {
    expect(await misfits(files, schema)).toEqual([]);
  });

  it('fit no dashboard with a mistake', async () => {
    const planted = Object.entries(mistakes).map(
      ([name, [spoil]]) => [name, spoilt(files['operations'] ?? '', spoil)] as const,
    );
    const found = await misfits(Object.fromEntries(planted));
    const pointed = planted.map(([name, text]) => {
      const lines = text.split('\n');
      const mine = found.filter((line) => line.startsWith(`${name}.json:`));
      const at = mine.map((line) => Number(/\.json:(\d+):/.exec(line)?.[1]));
      return [name, at.length, lines[(at[0] ?? 0) - 1]?.trim()];
    });
    expect(pointed).toEqual(
      Object.entries(mistakes).map(([name, [, text]]) => [name, 1, expect.stringContaining(text) as string]),
    );
  });

  it('are those of the release that docker-compose.yml runs, and of a later one', async () => {
    const compose = await readFile('docker-compose.yml', 'utf8');
    const versions = await Promise.all(
      Object.keys(releases).map(async (name) => {
        const text = await readFile(`node_modules/${name}/package.json`, 'utf8');
        return (JSON.parse(text) as { readonly version: string }).version;
      }),
    );
    expect(compose).toContain(`GRAFANA_IMAGE:-grafana/grafana:${String(versions[0])}}`);
    expect(versions.map((version) => Number.parseInt(version, 10))).toEqual(Object.values(releases));
  });
});
