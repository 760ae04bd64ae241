/**
 * Dashboards as the packages of Grafana declare them, for JSON: enums by their values, and no field that Grafana does
 * not know. Options of panels and of their fields may be left out, because Grafana fills them in; everything other than
 * that is as strict as there.
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

/** A type of Grafana, in its JSON form. */
type Plain<T> = unknown extends T
  ? T
  : T extends string
    ? `${T}`
    : T extends number
      ? PlainNumber<T>
      : T extends object
        ? { [K in keyof T]: Plain<T[K]> }
        : T;
/** Through its text, since TypeScript accepts any number for an enum of numbers. */
type PlainNumber<T extends number> = `${T}` extends `${infer Value extends number}` ? Value : never;

/** The same with everything in it optional. */
type Filled<T> = T extends readonly unknown[]
  ? { [K in keyof T]: Filled<T[K]> }
  : T extends object
    ? { [K in keyof T]?: Filled<T[K]> }
    : T;

type Part<T> = Filled<Plain<T>>;
type Nothing = Readonly<Record<string, never>>;

type Unit = Extract<(typeof units)[keyof typeof units], string>;

interface PrometheusQuery extends Plain<Omit<prometheus.Dataquery, '_implementsDataqueryVariant' | 'datasource'>> {
  refId: string;
  datasource: Plain<schema.DataSourceRef>;
  rawQuery?: never;
}

/** Declared in no package that we may use. */
interface SqlQuery {
  refId: string;
  datasource: Plain<schema.DataSourceRef>;
  editorMode: 'builder' | 'code';
  format: 'table' | 'time_series';
  rawQuery: true;
  rawSql: string;
}

type Defaults = Omit<Plain<schema.FieldConfig>, 'custom' | 'unit'> & { unit?: Unit };

/** One field of the configuration, replacing its default. */
type Property<Custom> =
  | { [K in keyof Required<Defaults>]: { id: K; value: Required<Defaults>[K] } }[keyof Required<Defaults>]
  | {
      [K in keyof Required<Custom> & string]: { id: `custom.${K}`; value: Required<Custom>[K] };
    }[keyof Required<Custom> & string];

interface FieldConfig<Custom> {
  defaults: Defaults & { custom?: Custom };
  overrides: { matcher: { id: 'byName' | 'byRegexp' | 'byType'; options: string }; properties: Property<Custom>[] }[];
}

interface PanelOf<Type extends string, Options, Custom> extends Omit<
  Plain<schema.Panel>,
  'type' | 'options' | 'fieldConfig' | 'targets'
> {
  type: Type;
  options: Part<Options>;
  fieldConfig: FieldConfig<Custom>;
  targets: (PrometheusQuery | SqlQuery)[];
}

interface Row extends Omit<Plain<schema.RowPanel>, 'panels'> {
  panels: Panel[];
}

type Panel =
  | PanelOf<'barchart', barchart.Options, Part<barchart.FieldConfig>>
  | PanelOf<'bargauge', bargauge.Options, Nothing>
  | PanelOf<'heatmap', heatmap.Options, Part<heatmap.FieldConfig>>
  | PanelOf<'stat', stat.Options, Nothing>
  | PanelOf<'table', table.Options, Part<table.FieldConfig>>
  | PanelOf<'timeseries', timeseries.Options, Part<timeseries.FieldConfig>>;

/** With the fields of an annotation that the Prometheus data source reads, and the schema does not declare. */
interface Annotation extends Plain<Omit<schema.AnnotationQuery, 'target'>> {
  expr?: string;
  step?: string;
  titleFormat?: string;
  textFormat?: string;
  useValueForTime?: boolean;
}

interface Variable extends Plain<schema.VariableModel> {
  /** The query in the list of variables: Grafana writes it, and the schema does not declare it. */
  definition?: string;
}

export interface GrafanaDashboard extends Plain<Omit<schema.Dashboard, 'panels' | 'annotations' | 'templating'>> {
  panels: (Panel | Row)[];
  annotations: { list: Annotation[] };
  templating: { list: Variable[] };
}
