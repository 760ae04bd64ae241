/** Panels with one bar per row or series: barchart, horizontal or vertical, and bargauge. */
import type { Panel } from '../dashboard.ts';
import type { Frame } from '../frame.ts';
import { colourNamed, colours, line, rect, seriesColour, shortenText, text, ticks, widthOf } from './svg.ts';
import type { Size } from './time-series.ts';
import { formatted } from './units.ts';

interface Bar {
  readonly label: string;
  readonly parts: readonly number[];
}

/** Draws one bar per row of a table. */
export function barChart(panel: Panel, frames: readonly Frame[], size: Size): string {
  const fields = frames[0]?.fields ?? [];
  const axis = fields.find(({ name }) => name === panel.options?.['xField']);
  const numbers = fields.filter(({ type }) => type === 'number');
  const bars = (axis?.values ?? []).map((barLabel, row) => ({
    label: String(barLabel).split(':').at(-1) ?? '',
    parts: numbers.map(({ values }) => Number(values[row] ?? 0)),
  }));
  const unit = panel.fieldConfig?.defaults.unit ?? 'none';
  const names = numbers.length > 1 ? numbers.map(({ name }) => name) : [];
  const barArea = { w: size.w, h: size.h - (names.length > 0 ? 22 : 0) };
  const barShapes =
    panel.options?.['orientation'] === 'vertical'
      ? renderVerticalBars(bars, unit, barArea)
      : renderHorizontalBars(bars, unit, barArea);
  return barShapes + legend(names, size);
}

/** Draws one bar per series. */
export function barGauge(panel: Panel, frames: readonly Frame[], size: Size): string {
  const bars = frames.map(({ fields }) => ({
    label: fields.at(-1)?.name ?? '',
    parts: [Number(fields.at(-1)?.values.at(-1) ?? 0)],
  }));
  const { unit = 'none', thresholds, decimals } = panel.fieldConfig?.defaults ?? {};
  return renderHorizontalBars(bars, unit, size, colourNamed(thresholds?.steps[0]?.color ?? 'blue'), decimals);
}

function renderHorizontalBars(
  bars: readonly Bar[],
  unit: string,
  size: Size,
  colour?: string,
  decimals?: number,
): string {
  const left = Math.min(size.w * 0.42, 14 + Math.max(...bars.map(({ label: barLabel }) => widthOf(barLabel))));
  const right = size.w - 14 - Math.max(...bars.map((bar) => widthOf(formatted(sum(bar), unit, decimals))));
  const maxValue = Math.max(...bars.map(sum)) || 1;
  const step = Math.min(34, size.h / bars.length);
  const barThickness = Math.max(3, Math.min(22, step * 0.72));
  return bars
    .map((bar, row) => {
      const middle = step * (row + 0.5);
      const scale = (right - left) / maxValue;
      let x = left;
      const barParts = bar.parts.map((barPart, index) => {
        const barRect = rect(
          x,
          middle - barThickness / 2,
          Math.max(barPart * scale, 0),
          barThickness,
          colour ?? seriesColour(index),
          'fill-opacity="0.85"',
        );
        x += barPart * scale;
        return barRect;
      });
      return [
        text(left - 6, middle + 4, shortenText(bar.label, left - 10), { anchor: 'end', fill: colours.text }),
        rect(left, middle - barThickness / 2, right - left, barThickness, '#22252b'),
        ...barParts,
        text(x + 5, middle + 4, formatted(sum(bar), unit, decimals), { fill: colours.text }),
      ].join('');
    })
    .join('');
}

function renderVerticalBars(bars: readonly Bar[], unit: string, size: Size): string {
  const maxValue = Math.max(...bars.map(sum)) || 1;
  const steps = ticks(0, maxValue, 4);
  const top = steps.at(-1) ?? 1;
  const left = 10 + Math.max(...steps.map((step) => widthOf(formatted(step, unit))));
  const bottom = size.h - 26;
  const y = (value: number): number => bottom - (value / top) * (bottom - 18);
  const barWidth = (size.w - left - 8) / bars.length;
  return [
    ...steps.map(
      (step) =>
        line(left, y(step), size.w - 8, y(step)) +
        text(left - 6, y(step) + 4, formatted(step, unit), { anchor: 'end' }),
    ),
    ...bars.map((bar, index) => {
      const x = left + barWidth * index;
      return (
        rect(
          x + barWidth * 0.12,
          y(sum(bar)),
          barWidth * 0.76,
          bottom - y(sum(bar)),
          seriesColour(0),
          'fill-opacity="0.85"',
        ) +
        text(x + barWidth / 2, y(sum(bar)) - 4, formatted(sum(bar), unit), { anchor: 'middle', fill: colours.text }) +
        text(x + barWidth / 2, bottom + 15, shortenText(bar.label, barWidth + 6, 10), { anchor: 'middle', size: 10 })
      );
    }),
  ].join('');
}

function legend(names: readonly string[], size: Size): string {
  let x = 8;
  return names
    .map((name, index) => {
      const item =
        rect(x, size.h - 15, 14, 4, seriesColour(index), 'rx="2"') +
        text(x + 19, size.h - 9, name, { fill: colours.text });
      x += 32 + widthOf(name);
      return item;
    })
    .join('');
}

function sum({ parts: barParts }: Bar): number {
  return barParts.reduce((total, barPart) => total + barPart, 0);
}
