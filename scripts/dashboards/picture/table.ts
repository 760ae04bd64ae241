/** Panels of type table, with as many rows as fit. */
import type { Panel } from '../dashboard.ts';
import type { Field, Frame } from '../frame.ts';
import { colours, line, shortenText, text, widthOf } from './svg.ts';
import type { Size } from './time-series.ts';
import { formatted } from './units.ts';

const rowHeight = 25;

export function table(panel: Panel, frames: readonly Frame[], size: Size): string {
  const fields = frames[0]?.fields ?? [];
  const rows = Math.max(0, Math.floor(size.h / rowHeight) - 1);
  const cells = fields.map((field) => field.values.slice(0, rows).map((value) => cell(panel, field, value)));
  const preferredWidths = fields.map(
    (field, index) => 16 + Math.max(...[field.name, ...(cells[index] ?? [])].map((label) => widthOf(label))),
  );
  const widths = fitWidths(preferredWidths, size.w - 12);
  let left = 6;
  return fields
    .map((field, index) => {
      const width = widths[index] ?? 0;
      const right = field.type === 'number';
      const x = right ? left + width - 10 : left + 4;
      left += width;
      const draw = (label: string, row: number, fill: string, weight: number): string =>
        text(x, row * rowHeight + 16, shortenText(label, width - 8), { fill, weight, anchor: right ? 'end' : 'start' });
      return [
        draw(field.name, 0, '#6e9fff', 500),
        ...(cells[index] ?? []).map((label, row) => draw(label, row + 1, colours.text, 400)),
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
  const ownOverride = panel.fieldConfig?.overrides?.find(
    ({ matcher }) => matcher.id === 'byName' && matcher.options === name,
  );
  const property = (id: string): unknown =>
    ownOverride?.properties.find((overrideProperty) => overrideProperty.id === id)?.value;
  if (typeof value === 'string') return value;
  const unit = (property('unit') as string | undefined) ?? (type === 'time' ? 'dateTimeAsIso' : 'none');
  return formatted(value, unit, property('decimals') as number | undefined);
}

/** Shrinks wide columns if the table is too wide, and grows narrow ones if there is spare width. */
function fitWidths(preferredWidths: readonly number[], availableWidth: number): readonly number[] {
  const preferredTotal = preferredWidths.reduce((sum, width) => sum + width, 0);
  if (preferredTotal <= availableWidth)
    return preferredWidths.map((width) => width + (availableWidth - preferredTotal) / preferredWidths.length);
  const fairWidth = availableWidth / preferredWidths.length;
  const narrowWidths = preferredWidths.filter((width) => width <= fairWidth).reduce((sum, width) => sum + width, 0);
  const wideTotal = preferredTotal - narrowWidths;
  return preferredWidths.map((width) =>
    width <= fairWidth ? width : (width / wideTotal) * (availableWidth - narrowWidths),
  );
}
