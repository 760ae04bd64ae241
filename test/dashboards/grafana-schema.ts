/** Dashboards checked by the compiler against the types of a release of Grafana: errors by file. */
import { join } from 'node:path';
import { complaints } from '../codegen/compiled.ts';

const project = join(import.meta.dirname, '../..');
const types = join(import.meta.dirname, 'grafana-types.ts');

const panelTypes = 'raw/composable/PANEL/panelcfg/x';

/** By package, where its declarations are; the first is the one that `grafana-types.ts` names. */
const layouts = {
  '@grafana/schema': undefined,
  'grafana-schema-10': { all: 'dist/index.d.ts', panel: `dist/esm/${panelTypes}/NAMEPanelCfg_types.gen.d.ts` },
  'grafana-schema-13': { all: 'dist/types/index.d.ts', panel: `dist/types/${panelTypes}/types.gen.d.ts` },
} as const;
export type SchemaPackage = keyof typeof layouts;
export const schemaPackages = Object.keys(layouts) as readonly SchemaPackage[];

/** Panels, by the folder and the name of their declarations. */
const panels = {
  barchart: 'BarChart',
  bargauge: 'BarGauge',
  heatmap: 'Heatmap',
  stat: 'Stat',
  table: 'Table',
  timeseries: 'TimeSeries',
} as const;

/** Errors, as `file.json:line: why`. @param files the text of each, by its name without its extension */
export async function misfits(
  files: Readonly<Record<string, string>>,
  schema: SchemaPackage,
): Promise<readonly string[]> {
  // Begins on the first line, so that lines are those of the file.
  const source = (text: string): string =>
    `import type { GrafanaDashboard } from '${types}'; export const dashboard: GrafanaDashboard = ${text}`;
  const compilerOutput = await complaints(
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${name}.ts`, source(text)])),
    { skipLibCheck: true, allowImportingTsExtensions: true, paths: pathsOf(schema) },
  );
  if (compilerOutput === '') return [];
  const found = compilerOutput.split('\n').flatMap((line) => {
    const [, name, at, why] = /([^/]+)\.ts\((\d+),\d+\): error TS\d+: (.*)/.exec(line) ?? [];
    return name === undefined ? [] : [`${name}.json:${String(at)}: ${String(why)}`];
  });
  // An error outside of the dashboards is a bug of this check.
  if (found.length === 0 || found.some((line) => !(line.slice(0, line.indexOf('.json:')) in files)))
    throw new Error(compilerOutput);
  return found;
}

/** Declarations that import each other by the name of the package stay within the release. */
function pathsOf(schema: SchemaPackage): Readonly<Record<string, readonly string[]>> {
  const layout = layouts[schema];
  if (layout === undefined) return {};
  const folder = join(project, 'node_modules', schema);
  const ofPanels = Object.entries(panels).map(([panel, name]) => {
    const specifier = `@grafana/schema/dist/esm/${panelTypes}/NAMEPanelCfg_types.gen.js`;
    const [from, to] = [specifier, layout.panel].map((text) => text.replace('PANEL', panel).replace('NAME', name));
    return [from, [join(folder, to ?? '')]] as const;
  });
  return { '@grafana/schema': [join(folder, layout.all)], ...Object.fromEntries(ofPanels) };
}
