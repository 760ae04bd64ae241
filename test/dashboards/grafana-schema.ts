/** Uses the compiler to check dashboards against the types of one release of Grafana. */
import { join } from 'node:path';
import { compileErrors } from '../codegen/compiled.ts';

const project = join(import.meta.dirname, '../..');
const types = join(import.meta.dirname, 'grafana-types.ts');

const panelTypes = 'raw/composable/PANEL/panelcfg/x';

/** Paths of the declarations in each package. `grafana-types.ts` imports from the first package. */
const layouts = {
  '@grafana/schema': undefined,
  'grafana-schema-10': { all: 'dist/index.d.ts', panel: `dist/esm/${panelTypes}/NAMEPanelCfg_types.gen.d.ts` },
  'grafana-schema-13': { all: 'dist/types/index.d.ts', panel: `dist/types/${panelTypes}/types.gen.d.ts` },
} as const;
export type SchemaPackage = keyof typeof layouts;
export const schemaPackages = Object.keys(layouts) as readonly SchemaPackage[];

/** The names of panel types in the declarations, by folder. */
const panels = {
  barchart: 'BarChart',
  bargauge: 'BarGauge',
  heatmap: 'Heatmap',
  stat: 'Stat',
  table: 'Table',
  timeseries: 'TimeSeries',
} as const;

/** Errors as `file.json:line: reason`. @param files text of each dashboard, by its name without extension */
export async function typeErrors(
  files: Readonly<Record<string, string>>,
  schema: SchemaPackage,
): Promise<readonly string[]> {
  // The text starts on the first line, so that line numbers in errors match the file.
  const source = (text: string): string =>
    `import type { GrafanaDashboard } from '${types}'; export const dashboard: GrafanaDashboard = ${text}`;
  const compilerOutput = await compileErrors(
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${name}.ts`, source(text)])),
    { skipLibCheck: true, allowImportingTsExtensions: true, paths: pathsOf(schema) },
  );
  if (compilerOutput === '') return [];
  const errors = compilerOutput.split('\n').flatMap((line) => {
    const [, name, lineNumber, errorText] = /([^/]+)\.ts\((\d+),\d+\): error TS\d+: (.*)/.exec(line) ?? [];
    return name === undefined ? [] : [`${name}.json:${String(lineNumber)}: ${String(errorText)}`];
  });
  // An error outside of the dashboards is a bug of this check.
  if (errors.length === 0 || errors.some((line) => !(line.slice(0, line.indexOf('.json:')) in files)))
    throw new Error(compilerOutput);
  return errors;
}

/** Maps imports of the first package to the declarations of this release. */
function pathsOf(schema: SchemaPackage): Readonly<Record<string, readonly string[]>> {
  const layout = layouts[schema];
  if (layout === undefined) return {};
  const folder = join(project, 'node_modules', schema);
  const panelOptionTypes = Object.entries(panels).map(([panel, name]) => {
    const specifier = `@grafana/schema/dist/esm/${panelTypes}/NAMEPanelCfg_types.gen.js`;
    const [from, to] = [specifier, layout.panel].map((text) => text.replace('PANEL', panel).replace('NAME', name));
    return [from, [join(folder, to ?? '')]] as const;
  });
  return { '@grafana/schema': [join(folder, layout.all)], ...Object.fromEntries(panelOptionTypes) };
}
