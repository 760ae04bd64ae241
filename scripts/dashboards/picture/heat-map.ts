/** Panels of type heatmap over the buckets of a histogram: columns are times, rows are buckets. */
import type { Frame } from '../frame.ts';
import { line, rect, text, timeTicks, widthOf } from './svg.ts';
import type { Size } from './time-series.ts';

export function heatMap(frames: readonly Frame[], size: Size): string {
  const rows = frames
    .map(({ fields: [times, numbers] }) => ({
      bound: Number((numbers?.name ?? '').replace('+Inf', 'Infinity')),
      times,
      numbers,
    }))
    .sort((a, b) => a.bound - b.bound);
  const bucketTimes = (rows[0]?.times?.values ?? []) as readonly number[];
  const counts = rows.map(({ numbers }, row) =>
    bucketTimes.map(
      (_, column) => Number(numbers?.values[column] ?? 0) - Number(rows[row - 1]?.numbers?.values[column] ?? 0),
    ),
  );
  const maxValue = Math.max(...counts.flat(), 1e-9);
  const labels = rows.map(({ bound }) => (Number.isFinite(bound) ? String(bound) : '+Inf'));
  const left = 12 + Math.max(...labels.map((barLabel) => widthOf(barLabel)));
  const [bottom, right] = [size.h - 22, size.w - 8];
  const high = bottom / Math.max(rows.length, 1);
  const columnWidth = (right - left) / Math.max(bucketTimes.length, 1);
  const [from, to] = [bucketTimes[0] ?? 0, bucketTimes.at(-1) ?? 1];
  return [
    ...labels.map((barLabel, row) =>
      text(left - 6, bottom - high * (row + 0.5) + 4, barLabel, { anchor: 'end', size: 10 }),
    ),
    ...timeTicks(from, to, Math.max(2, Math.floor((right - left) / 75))).map(({ at: time, label: tickLabel }) =>
      text(left + ((time - from) / (to - from || 1)) * (right - left), bottom + 15, tickLabel, { anchor: 'middle' }),
    ),
    line(left, bottom, right, bottom),
    ...counts.flatMap((columns, row) =>
      columns.map((count, column) =>
        count <= 0
          ? ''
          : rect(
              left + columnWidth * column,
              bottom - high * (row + 1) + 1,
              Math.max(columnWidth - 1, 1),
              high - 1,
              '#5794f2',
              `fill-opacity="${(0.12 + 0.88 * Math.sqrt(count / maxValue)).toFixed(2)}"`,
            ),
      ),
    ),
  ].join('');
}
