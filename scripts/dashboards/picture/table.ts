/** Panels of type table, with as many rows as fit. */
import type { Panel } from '../dashboard.ts';
import type { Field, Frame } from '../frame.ts';
import { colours, line, shortened, text, widthOf } from './svg.ts';
import type { Size } from './time-series.ts';
import { formatted } from './units.ts';

const rowHeight = 25;

export function table(panel: Panel, frames: readonly Frame[], size: Size): string {
  const fields = frames[0]?.fields ?? [];
  const rows = Math.max(0, Math.floor(size.h / rowHeight) - 1);
  const cells = fields.map((field) => field.values.slice(0, rows).map((value) => cell(panel, field, value)));
  const preferredWidths = fields.map(
    (field, at) => 16 + Math.max(...[field.name, ...(cells[at] ?? [])].map((words) => widthOf(words))),
  );
  const widths = fitted(preferredWidths, size.w - 12);
  let left = 6;
  return fields
    .map((field, at) => {
      const width = widths[at] ?? 0;
      const right = field.type === 'number';
      const x = right ? left + width - 10 : left + 4;
      left += width;
      const draw = (words: string, row: number, fill: string, weight: number): string =>
        text(x, row * rowHeight + 16, shortened(words, width - 8), { fill, weight, anchor: right ? 'end' : 'start' });
      return [
        draw(field.name, 0, '#6e9fff', 500),
        ...(cells[at] ?? []).map((words, row) => draw(words, row + 1, colours.text, 400)),
      ].join('');
    })
    .concat(
      Array.from({ length: Math.min(rows, fields[0]?.values.length ?? 0) + 1 }, (_, row) =>
        line(4, (row + 1) * rowHeight, size.w - 4, (row + 1) * rowHeight),
      ),
    )
    .join('');
}

function cell(panel: Panel, { name, type }: Field, value: number | string | null): string {
  if (value === null) return '';
  const own = panel.fieldConfig?.overrides?.find(({ matcher }) => matcher.id === 'byName' && matcher.options === name);
  const property = (id: string): unknown => own?.properties.find((found) => found.id === id)?.value;
  if (typeof value === 'string') return value;
  const unit = (property('unit') as string | undefined) ?? (type === 'time' ? 'dateTimeAsIso' : 'none');
  return formatted(value, unit, property('decimals') as number | undefined);
}

/** Shrinks wide columns if the table is too wide, and grows narrow ones if there is spare width. */
function fitted(preferredWidths: readonly number[], room: number): readonly number[] {
  const all = preferredWidths.reduce((sum, width) => sum + width, 0);
  if (all <= room) return preferredWidths.map((width) => width + (room - all) / preferredWidths.length);
  const fair = room / preferredWidths.length;
  const narrow = preferredWidths.filter((width) => width <= fair).reduce((sum, width) => sum + width, 0);
  const wide = all - narrow;
  return preferredWidths.map((width) => (width <= fair ? width : (width / wide) * (room - narrow)));
}
