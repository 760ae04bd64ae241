/** Panels with one bar per row or series: barchart, horizontal or vertical, and bargauge. */
import type { Panel } from '../dashboard.ts';
import type { Frame } from '../frame.ts';
import { colourNamed, colours, line, rect, seriesColour, shortened, text, ticks, widthOf } from './svg.ts';
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
  const bars = (axis?.values ?? []).map((label, row) => ({
    label: String(label).split(':').at(-1) ?? '',
    parts: numbers.map(({ values }) => Number(values[row] ?? 0)),
  }));
  const unit = panel.fieldConfig?.defaults.unit ?? 'none';
  const names = numbers.length > 1 ? numbers.map(({ name }) => name) : [];
  const room = { w: size.w, h: size.h - (names.length > 0 ? 22 : 0) };
  const drawn = panel.options?.['orientation'] === 'vertical' ? standing(bars, unit, room) : lying(bars, unit, room);
  return drawn + legend(names, size);
}

/** Draws one bar per series. */
export function barGauge(panel: Panel, frames: readonly Frame[], size: Size): string {
  const bars = frames.map(({ fields }) => ({
    label: fields.at(-1)?.name ?? '',
    parts: [Number(fields.at(-1)?.values.at(-1) ?? 0)],
  }));
  const { unit = 'none', thresholds, decimals } = panel.fieldConfig?.defaults ?? {};
  return lying(bars, unit, size, colourNamed(thresholds?.steps[0]?.color ?? 'blue'), decimals);
}

function lying(bars: readonly Bar[], unit: string, size: Size, colour?: string, decimals?: number): string {
  const left = Math.min(size.w * 0.42, 14 + Math.max(...bars.map(({ label }) => widthOf(label))));
  const right = size.w - 14 - Math.max(...bars.map((bar) => widthOf(formatted(sum(bar), unit, decimals))));
  const most = Math.max(...bars.map(sum)) || 1;
  const step = Math.min(34, size.h / bars.length);
  const thick = Math.max(3, Math.min(22, step * 0.72));
  return bars
    .map((bar, row) => {
      const middle = step * (row + 0.5);
      const scale = (right - left) / most;
      let x = left;
      const parts = bar.parts.map((part, at) => {
        const drawn = rect(
          x,
          middle - thick / 2,
          Math.max(part * scale, 0),
          thick,
          colour ?? seriesColour(at),
          'fill-opacity="0.85"',
        );
        x += part * scale;
        return drawn;
      });
      return [
        text(left - 6, middle + 4, shortened(bar.label, left - 10), { anchor: 'end', fill: colours.text }),
        rect(left, middle - thick / 2, right - left, thick, '#22252b'),
        ...parts,
        text(x + 5, middle + 4, formatted(sum(bar), unit, decimals), { fill: colours.text }),
      ].join('');
    })
    .join('');
}

function standing(bars: readonly Bar[], unit: string, size: Size): string {
  const most = Math.max(...bars.map(sum)) || 1;
  const steps = ticks(0, most, 4);
  const top = steps.at(-1) ?? 1;
  const left = 10 + Math.max(...steps.map((step) => widthOf(formatted(step, unit))));
  const bottom = size.h - 26;
  const y = (value: number): number => bottom - (value / top) * (bottom - 18);
  const wide = (size.w - left - 8) / bars.length;
  return [
    ...steps.map(
      (step) =>
        line(left, y(step), size.w - 8, y(step)) +
        text(left - 6, y(step) + 4, formatted(step, unit), { anchor: 'end' }),
    ),
    ...bars.map((bar, at) => {
      const x = left + wide * at;
      return (
        rect(x + wide * 0.12, y(sum(bar)), wide * 0.76, bottom - y(sum(bar)), seriesColour(0), 'fill-opacity="0.85"') +
        text(x + wide / 2, y(sum(bar)) - 4, formatted(sum(bar), unit), { anchor: 'middle', fill: colours.text }) +
        text(x + wide / 2, bottom + 15, shortened(bar.label, wide + 6, 10), { anchor: 'middle', size: 10 })
      );
    }),
  ].join('');
}

function legend(names: readonly string[], size: Size): string {
  let x = 8;
  return names
    .map((name, at) => {
      const item =
        rect(x, size.h - 15, 14, 4, seriesColour(at), 'rx="2"') +
        text(x + 19, size.h - 9, name, { fill: colours.text });
      x += 32 + widthOf(name);
      return item;
    })
    .join('');
}

function sum({ parts }: Bar): number {
  return parts.reduce((all, part) => all + part, 0);
}
