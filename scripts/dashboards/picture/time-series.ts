/** Panels of type timeseries: lines, areas and bars over time, with axes and a legend. */
import type { Panel } from '../dashboard.ts';
import type { Frame } from '../frame.ts';
import type { View } from '../interpolation.ts';
import {
  coordinate,
  colours,
  escapeXml,
  line,
  rect,
  seriesColour,
  shortenText,
  text,
  ticks,
  timeTicks,
  widthOf,
} from './svg.ts';
import { formatted } from './units.ts';

export interface Size {
  readonly w: number;
  readonly h: number;
}

interface TimePoint {
  readonly time: number;
  readonly from: number;
  readonly to: number;
}

interface Curve {
  readonly name: string;
  readonly colour: string;
  readonly points: readonly TimePoint[];
}

interface Plot {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  x(time: number): number;
  y(value: number): number;
}

/** @param size size of the area below the title, pixels */
export function timeSeries(panel: Panel, frames: readonly Frame[], view: View, size: Size): string {
  const defaults = panel.fieldConfig?.defaults ?? {};
  const custom = defaults.custom ?? {};
  const bars = custom.drawStyle === 'bars';
  const width = bars ? barWidth(frames) : 0;
  const range = rangeOf(frames, view, width);
  const curves = toCurves(frames, custom.stacking?.mode === 'normal' || bars);
  const values = curves.flatMap(({ points: curvePoints }) => curvePoints.flatMap(({ from, to }) => [from, to]));
  const low = defaults.min ?? Math.min(...values, bars ? 0 : Infinity);
  const top = defaults.max ?? Math.max(...values, low);
  const [from, to] = Number.isFinite(low) ? [low, top > low ? top : low + 1] : [0, 1];
  const steps = ticks(from, to, Math.max(2, Math.floor(size.h / 50)), defaults.unit === 'bytes' ? 1024 : 1000);
  const plotArea = layout(steps, range, defaults.unit ?? 'none', size);
  return [
    renderAxes(plotArea, steps, range, defaults.unit ?? 'none'),
    ...curves.map((curve) =>
      bars ? drawnBars(curve, plotArea, width) : renderCurve(curve, plotArea, custom.fillOpacity ?? 0),
    ),
    legend(
      curves.filter(({ points: curvePoints }) => curvePoints.length > 0),
      size,
    ),
  ].join('');
}

function toCurves(frames: readonly Frame[], stacked: boolean): readonly Curve[] {
  const base = new Map<number, number>();
  return frames.map(({ fields: [times, numbers] }, order) => ({
    name: numbers?.name ?? '',
    colour: seriesColour(order),
    points: (times?.values ?? []).flatMap((time, row) => {
      const value = numbers?.values[row];
      if (typeof time !== 'number' || typeof value !== 'number' || !Number.isFinite(value)) return [];
      const from = stacked ? (base.get(time) ?? 0) : 0;
      base.set(time, from + value);
      return [{ time, from, to: from + value }];
    }),
  }));
}

/** The part of the view that has data, because a demo is younger than thirty days. */
function rangeOf(frames: readonly Frame[], view: View, barMs: number): readonly [number, number] {
  const times = frames.flatMap(({ fields }) => fields[0]?.values ?? []).filter((time) => typeof time === 'number');
  if (times.length === 0) return [view.fromMs, view.toMs];
  const [first, last] = [Math.min(...times), Math.max(...times) + barMs];
  return last > first ? [first, last] : [first - 60_000, last + 60_000];
}

function barWidth(frames: readonly Frame[]): number {
  const times = [...new Set(frames.flatMap(({ fields }) => fields[0]?.values ?? []))]
    .filter((t) => typeof t === 'number')
    .sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, previousIndex) => time - (times[previousIndex] ?? 0));
  return gaps.length === 0 ? 3_600_000 : Math.min(...gaps);
}

function layout(steps: readonly number[], [from, to]: readonly [number, number], unit: string, size: Size): Plot {
  const left = 10 + Math.max(...steps.map((step) => widthOf(formatted(step, unit))));
  const [right, top, bottom] = [size.w - 8, 6, size.h - 40];
  const [low, high] = [steps[0] ?? 0, steps.at(-1) ?? 1];
  return {
    left,
    top,
    right,
    bottom,
    x: (time) => left + ((time - from) / (to - from || 1)) * (right - left),
    y: (value) => bottom - ((value - low) / (high - low || 1)) * (bottom - top),
  };
}

function renderAxes(
  plotArea: Plot,
  steps: readonly number[],
  [from, to]: readonly [number, number],
  unit: string,
): string {
  const gridLines = steps.map(
    (step) =>
      line(plotArea.left, plotArea.y(step), plotArea.right, plotArea.y(step)) +
      text(plotArea.left - 6, plotArea.y(step) + 4, formatted(step, unit), { anchor: 'end' }),
  );
  const times = timeTicks(from, to, Math.max(2, Math.floor((plotArea.right - plotArea.left) / 75)));
  const verticalLines = times.map(
    ({ at: time, label: tickLabel }) =>
      line(plotArea.x(time), plotArea.top, plotArea.x(time), plotArea.bottom) +
      text(Math.min(plotArea.x(time), plotArea.right - widthOf(tickLabel) / 2), plotArea.bottom + 15, tickLabel, {
        anchor: 'middle',
      }),
  );
  return gridLines.join('') + verticalLines.join('');
}

function renderCurve({ points: curvePoints, colour }: Curve, plotArea: Plot, opacity: number): string {
  if (curvePoints.length === 0) return '';
  const upperEdge = curvePoints.map(({ time, to }) => `${coordinate(plotArea.x(time))},${coordinate(plotArea.y(to))}`);
  const lowerEdge = curvePoints
    .toReversed()
    .map(({ time, from }) => `${coordinate(plotArea.x(time))},${coordinate(plotArea.y(from))}`);
  const dot =
    curvePoints.length === 1
      ? `<circle cx="${upperEdge[0]?.split(',')[0]}" cy="${upperEdge[0]?.split(',')[1]}" r="3" fill="${colour}"/>`
      : '';
  return (
    `<polygon points="${[...upperEdge, ...lowerEdge].join(' ')}" fill="${colour}" fill-opacity="${opacity / 100}"/>` +
    `<polyline points="${upperEdge.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.4" stroke-linejoin="round"/>${dot}`
  );
}

function drawnBars({ points: curvePoints, colour }: Curve, plotArea: Plot, widthMs: number): string {
  const pixels = Math.max(1, (plotArea.x(widthMs) - plotArea.x(0)) * 0.86);
  return curvePoints
    .map(({ time, from, to }) => {
      const x = plotArea.x(time) + (plotArea.x(widthMs) - plotArea.x(0)) * 0.07;
      return rect(x, plotArea.y(to), pixels, plotArea.y(from) - plotArea.y(to), colour, 'fill-opacity="0.75"');
    })
    .join('');
}

function legend(curves: readonly Curve[], size: Size): string {
  let x = 8;
  const y = size.h - 10;
  return curves
    .map(({ name, colour }) => {
      const shortLabel = shortenText(/:.*:/.test(name) ? (name.split(':').at(-1) ?? name) : name, 190);
      const width = 26 + widthOf(shortLabel);
      if (x + width > size.w) return '';
      const item = rect(x, y - 5, 14, 4, colour, 'rx="2"') + text(x + 19, y, shortLabel, { fill: colours.text });
      x += width + 6;
      return `<g><title>${escapeXml(name)}</title>${item}</g>`;
    })
    .join('');
}
