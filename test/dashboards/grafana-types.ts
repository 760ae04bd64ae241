/**
 * The types of dashboards from the packages of Grafana, converted to JSON: enums become their values, and unknown
 * fields are rejected. Options of panels and of their fields may be omitted, because Grafana completes them. All other
 * fields are as strict as in Grafana.
 */
import type * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import type * as units from '@grafana/grafana-foundation-sdk/units';
import type * as schema from '@grafana/schema';
import type * as barchart from '@grafana/schema/dist/esm/raw/composable/barchart/panelcfg/x/BarChartPanelCfg_types.gen.js';
import type * as bargauge from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen.js';
import type * as heatmap from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen.js';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen.js';
import type * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen.js';
import type * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen.js';

/** A type of Grafana in its JSON form. */
type WithoutIndex<T> = unknown extends T
  ? T
  : T extends string
    ? `${T}`
    : T extends number
      ? PlainNumber<T>
      : T extends object
        ? { [K in keyof T]: WithoutIndex<T[K]> }
        : T;
/** Derived from the text of the number, because TypeScript accepts any number for a numeric enum. */
type PlainNumber<T extends number> = `${T}` extends `${infer Value extends number}` ? Value : never;

/** The same type with all fields optional, at any depth. */
type WithDefaults<T> = T extends readonly unknown[]
  ? { [K in keyof T]: WithDefaults<T[K]> }
  : T extends object
    ? { [K in keyof T]?: WithDefaults<T[K]> }
    : T;

type Part<T> = WithDefaults<WithoutIndex<T>>;
type EmptyOptions = Readonly<Record<string, never>>;

type PanelUnit = Extract<(typeof units)[keyof typeof units], string>;

interface PrometheusQuery extends WithoutIndex<
  Omit<prometheus.Dataquery, '_implementsDataqueryVariant' | 'datasource'>
> {
  refId: string;
  datasource: WithoutIndex<schema.DataSourceRef>;
  rawQuery?: never;
}

/** These types are not declared in any package that we may use. */
interface SqlQuery {
  refId: string;
  datasource: WithoutIndex<schema.DataSourceRef>;
  editorMode: 'builder' | 'code';
  format: 'table' | 'time_series';
  rawQuery: true;
  rawSql: string;
}

type Defaults = Omit<WithoutIndex<schema.FieldConfig>, 'custom' | 'unit'> & { unit?: PanelUnit };

/** A property of the field configuration that overrides its default. */
type Property<Custom> =
  | { [K in keyof Required<Defaults>]: { id: K; value: Required<Defaults>[K] } }[keyof Required<Defaults>]
  | {
      [K in keyof Required<Custom> & string]: { id: `custom.${K}`; value: Required<Custom>[K] };
    }[keyof Required<Custom> & string];

interface FieldConfig<Custom> {
  defaults: Defaults & { custom?: Custom };
  overrides: { matcher: { id: 'byName' | 'byRegexp' | 'byType'; options: string }; properties: Property<Custom>[] }[];
}

interface PanelType<Type extends string, Options, Custom> extends Omit<
  WithoutIndex<schema.Panel>,
  'type' | 'options' | 'fieldConfig' | 'targets'
> {
  type: Type;
  options: Part<Options>;
  fieldConfig: FieldConfig<Custom>;
  targets: (PrometheusQuery | SqlQuery)[];
}

interface Row extends Omit<WithoutIndex<schema.RowPanel>, 'panels'> {
  panels: Panel[];
}

type Panel =
  | PanelType<'barchart', barchart.Options, Part<barchart.FieldConfig>>
  | PanelType<'bargauge', bargauge.Options, EmptyOptions>
  | PanelType<'heatmap', heatmap.Options, Part<heatmap.FieldConfig>>
  | PanelType<'stat', stat.Options, EmptyOptions>
  | PanelType<'table', table.Options, Part<table.FieldConfig>>
  | PanelType<'timeseries', timeseries.Options, Part<timeseries.FieldConfig>>;

/** Adds the annotation fields that the Prometheus data source reads but the schema does not declare. */
interface Annotation extends WithoutIndex<Omit<schema.AnnotationQuery, 'target'>> {
  expr?: string;
  step?: string;
  titleFormat?: string;
  textFormat?: string;
  useValueForTime?: boolean;
}

interface Variable extends WithoutIndex<schema.VariableModel> {
  /** The query in the list of variables. Grafana writes it, but the schema does not declare it. */
  definition?: string;
}

export interface GrafanaDashboard extends WithoutIndex<
  Omit<schema.Dashboard, 'panels' | 'annotations' | 'templating'>
> {
  panels: (Panel | Row)[];
  annotations: { list: Annotation[] };
  templating: { list: Variable[] };
}
