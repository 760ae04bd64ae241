/** Panels of type stat: the last value of each series or column in large text, in the color of its threshold. */
import type { FieldDefaults, Panel } from '../dashboard.ts';
import type { Field, Frame } from '../frame.ts';
import { coordinate, colourNamed, colours, rect, text, widthOf } from './svg.ts';
import type { Size } from './time-series.ts';
import { formatted } from './units.ts';

export function stat(panel: Panel, frames: readonly Frame[], size: Size): string {
  const numbers = frames.flatMap(({ fields }) => fields.filter(({ type }) => type === 'number'));
  const columnWidth = size.w / Math.max(numbers.length, 1);
  return numbers
    .map(
      (field, order) =>
        `<g transform="translate(${coordinate(columnWidth * order)} 0)">${renderStat(panel, field, numbers.length, { ...size, w: columnWidth })}</g>`,
    )
    .join('');
}

function renderStat(panel: Panel, field: Field, count: number, size: Size): string {
  const value = field.values.findLast((lastValue) => typeof lastValue === 'number') ?? null;
  const isNameMode = panel.options?.['textMode'] === 'name';
  const { words: valueText, colour } = formatValue(panel, field, typeof value === 'number' ? value : null);
  const shortLabel = isNameMode ? field.name : valueText;
  const scale = Math.min(38, (size.w - 24) / (widthOf(shortLabel, 1) * 1.12), size.h * 0.5);
  const filled = panel.options?.['colorMode'] === 'background';
  const middle = size.h / 2 + scale * 0.34 + (count > 1 ? 8 : 0);
  return [
    filled ? rect(0, 0, size.w, size.h, colour, 'rx="2"') : '',
    panel.options?.['graphMode'] === 'area' ? spark(field, colour, size) : '',
    count > 1 ? text(size.w / 2, 16, field.name, { anchor: 'middle', size: 12, fill: colours.text }) : '',
    text(size.w / 2, middle, shortLabel, {
      anchor: 'middle',
      size: Math.round(scale),
      weight: 500,
      fill: filled ? '#111217' : colour,
    }),
  ].join('');
}

function formatValue(
  panel: Panel,
  { name }: Field,
  value: number | null,
): { readonly words: string; readonly colour: string } {
  const { defaults = {}, overrides = [] } = panel.fieldConfig ?? {};
  const special = (defaults.mappings ?? []).find(({ type }) => type === 'special')?.options['result'] as
    { text: string } | undefined;
  if ((value === null || Number.isNaN(value)) && special !== undefined)
    return { words: special.text, colour: colours.text };
  const ownOverride = overrides.find(
    ({ matcher }) => matcher.id === 'byRegexp' && new RegExp(matcher.options).test(name),
  );
  const thresholds = (ownOverride?.properties.find(({ id }) => id === 'thresholds')?.value ??
    defaults.thresholds) as FieldDefaults['thresholds'];
  const reachedStep = (thresholds?.steps ?? []).findLast((step) => step.value === null || (value ?? 0) >= step.value);
  return {
    words: formatted(value, defaults.unit ?? 'none', defaults.decimals),
    colour: colourNamed(reachedStep?.color ?? 'text'),
  };
}

function spark({ values }: Field, colour: string, size: Size): string {
  const numbers = values.filter((value) => typeof value === 'number' && Number.isFinite(value)) as number[];
  const maxValue = Math.max(...numbers, 1e-9);
  const samples = numbers.map(
    (value, n) =>
      `${coordinate((n / Math.max(numbers.length - 1, 1)) * size.w)},${coordinate(size.h - (value / maxValue) * size.h * 0.55)}`,
  );
  return `<polygon points="0,${size.h} ${samples.join(' ')} ${coordinate(size.w)},${size.h}" fill="${colour}" fill-opacity="0.22"/>`;
}
