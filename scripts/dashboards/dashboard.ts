/** Types and reader of the dashboards in grafana/dashboards: the parts of Grafana's classic JSON that the check uses. */
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

export interface DataSource {
  readonly type?: string;
  readonly uid?: string;
}

export interface GridPosition {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** One query of a panel: PromQL in `expr`, or SQL in `rawSql`. */
export interface Target {
  readonly refId?: string;
  readonly datasource?: DataSource;
  readonly expr?: string;
  readonly legendFormat?: string;
  readonly instant?: boolean;
  readonly rawSql?: string;
  /** `time_series` or `table` for SQL, `heatmap` for buckets. */
  readonly format?: string;
}

export interface FieldDefaults {
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  readonly decimals?: number;
  readonly thresholds?: { readonly steps: readonly { readonly color: string; readonly value: number | null }[] };
  readonly mappings?: readonly { readonly type: string; readonly options: Readonly<Record<string, unknown>> }[];
  readonly custom?: {
    readonly drawStyle?: string;
    readonly fillOpacity?: number;
    readonly stacking?: { readonly mode: string };
  };
}

export interface FieldOverride {
  readonly matcher: { readonly id: string; readonly options: string };
  readonly properties: readonly { readonly id: string; readonly value: unknown }[];
}

export interface Panel {
  readonly id?: number;
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly datasource?: DataSource;
  readonly gridPos?: GridPosition;
  readonly fieldConfig?: { readonly defaults: FieldDefaults; readonly overrides?: readonly FieldOverride[] };
  readonly options?: Readonly<Record<string, unknown>>;
  readonly targets?: readonly Target[];
  /** Minimum interval between points, such as `1h`. */
  readonly interval?: string;
  /** Maximum number of points over the range. */
  readonly maxDataPoints?: number;
  /** Time range that ends now, used instead of the range of the dashboard. */
  readonly timeFrom?: string;
  /** Panels of a collapsed row. */
  readonly panels?: readonly Panel[];
}

export interface Variable {
  readonly type: string;
  readonly name: string;
  readonly datasource?: DataSource;
  /** A string for SQL and data sources; an object with a string for Prometheus. */
  readonly query?: string | { readonly query: string };
  readonly includeAll?: boolean;
  readonly multi?: boolean;
  readonly allValue?: string;
  readonly current?: { readonly value?: unknown };
}

export interface Annotation {
  readonly name: string;
  readonly builtIn?: number;
  readonly expr?: string;
  readonly datasource?: DataSource;
}

export interface Dashboard {
  readonly id: number | null;
  readonly uid?: string;
  readonly title?: string;
  readonly schemaVersion?: number;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
  readonly annotations: { readonly list: readonly Annotation[] };
}

export interface DashboardFile {
  /** File name without extension, e.g. `operations`. */
  readonly name: string;
  readonly dashboard: Dashboard;
}

/**
 * Reads the dashboards of a folder, sorted by name.
 * @throws Error that names the file that is not valid JSON
 */
export async function readDashboards(folder: string): Promise<readonly DashboardFile[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.json')).sort();
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(folder, file), 'utf8');
      try {
        return { name: basename(file, '.json'), dashboard: JSON.parse(text) as Dashboard };
      } catch (cause) {
        throw new Error(`${file} is not JSON`, { cause });
      }
    }),
  );
}

/** The visible panels, including panels of collapsed rows, but not the rows themselves. */
export function findVisiblePanels(dashboard: Dashboard): readonly Panel[] {
  return dashboard.panels.flatMap((panel) => (panel.type === 'row' ? (panel.panels ?? []) : [panel]));
}

/** The query of a variable, as text. */
export function queryOf({ query }: Variable): string {
  return typeof query === 'object' ? query.query : (query ?? '');
}
