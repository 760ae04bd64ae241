/** Queries a Prometheus over its HTTP API. */
import { expandPromQl, type Choices, type View } from './interpolation.ts';
import { hasNumber, type Answer, type Frame } from './frame.ts';
import type { Panel, Target } from './dashboard.ts';

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

interface Reply {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly data?: { readonly result: readonly Series[] };
}

/** Runs one query as its panel does: as an instant query, or over the range of the view. */
export async function queryPrometheus(
  url: string,
  panel: Panel,
  target: Target,
  view: View,
  choices: Choices,
): Promise<Answer> {
  const refId = target.refId ?? '';
  try {
    const expr = expandPromQl(target.expr ?? '', view, choices);
    const series = await query(url, expr, view, target.instant === true);
    const frames = series.map((sample) => toFrame(sample, target, panel));
    return { refId, frames, rows: series.length, problem: seriesProblem(series.length, frames) };
  } catch (error) {
    return { refId, frames: [], rows: 0, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Runs an expression that may return nothing, such as that of an annotation. @returns the error, if there is one */
export async function refusal(url: string, expr: string, view: View, choices: Choices): Promise<string | undefined> {
  return query(url, expandPromQl(expr, view, choices), view, false).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** Runs `label_values(selector, label)` and `label_values(label)`, the only queries of our variables. */
export async function labelValues(url: string, definition: string, choices: Choices, view: View): Promise<string[]> {
  const [, selector, labelName = ''] = /^label_values\((?:(.*),\s*)?(\w+)\)$/.exec(definition.trim()) ?? [];
  if (labelName === '') throw new Error(`"${definition}" is not label_values(…)`);
  const match = selector === undefined ? '' : `?match[]=${encodeURIComponent(expandPromQl(selector, view, choices))}`;
  const reply = (await (await fetch(`${url}/api/v1/label/${labelName}/values${match}`)).json()) as { data?: string[] };
  return reply.data ?? [];
}

async function query(url: string, expr: string, view: View, instant: boolean): Promise<readonly Series[]> {
  const times: Record<string, string> = instant
    ? { time: String(view.toMs / 1000) }
    : { start: String(view.fromMs / 1000), end: String(view.toMs / 1000), step: String(view.intervalMs / 1000) };
  const body = new URLSearchParams({ query: expr, ...times });
  const response = await fetch(`${url}/api/v1/query${instant ? '' : '_range'}`, { method: 'POST', body });
  const reply = (await response.json()) as Reply;
  if (reply.status !== 'success') throw new Error(reply.error ?? `Prometheus returned ${response.status}`);
  return reply.data?.result ?? [];
}

function toFrame({ metric, value, values }: Series, target: Target, panel: Panel): Frame {
  const samples = values ?? (value === undefined ? [] : [value]);
  return {
    fields: [
      { name: 'time', type: 'time', values: samples.map(([at]) => at * 1000) },
      {
        name: legend(target.legendFormat, metric, panel),
        type: 'number',
        values: samples.map(([, text]) => toNumber(text)),
      },
    ],
  };
}

function toNumber(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}

function legend(format: string | undefined, metric: Readonly<Record<string, string>>, panel: Panel): string {
  if (format === undefined || format === '' || format === '__auto') {
    const { __name__: name, ...labels } = metric;
    const labelText = Object.entries(labels).map(([labelName, value]) => `${labelName}="${value}"`);
    return name ?? (labelText.length > 0 ? `{${labelText.join(', ')}}` : (panel.title ?? ''));
  }
  return format.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, labelName: string) => metric[labelName] ?? '');
}

function seriesProblem(series: number, frames: readonly Frame[]): string | undefined {
  if (series === 0) return 'no series';
  return hasNumber(frames) ? undefined : 'no point that is a number';
}
