/** Formats cells as aligned columns. */

export interface Column {
  /** Aligns cells to the right. Used for numbers. */
  readonly right?: true;
  /** Minimum width in characters. */
  readonly least?: number;
  /** Maximum width in characters. A wider cell shifts the rest of its line. */
  readonly most?: number;
}

export interface Layout {
  /** If a column has no entry, it is as wide as its widest cell. */
  readonly columns?: readonly Column[];
  /** Number of spaces between two columns; default 2. */
  readonly gap?: number;
  /** Number of spaces before the first column; default 0. */
  readonly indent?: number;
}

type Cells = readonly string[];

/** A column of fixed width. */
export function fixedWidthColumn(width: number): Column {
  return { least: width, most: width };
}

/** A right-aligned column of fixed width. */
export function numbers(width: number): Column {
  return { ...fixedWidthColumn(width), right: true };
}

/** Formats rows as lines. The last cell of a line is not padded unless it is right-aligned. */
export function aligned(rows: readonly Cells[], layout?: Layout): readonly string[] {
  return rows.map(lineUp(rows, layout));
}

/**
 * Like {@link aligned}, for rows that are formatted later.
 * @param first the rows that determine the widths
 */
export function lineUp(first: readonly Cells[], layout: Layout = {}): (cells: Cells) => string {
  const { columns = [], gap = 2, indent = 0 } = layout;
  const count = first.reduce((maxCount, cells) => Math.max(maxCount, cells.length), columns.length);
  const widths = Array.from({ length: count }, (_, index) => widthOf(columns[index] ?? {}, first, index));
  return (cells) => {
    const paddedCells = cells.map((cell, index) => {
      if (columns[index]?.right === true) return cell.padStart(widths[index] ?? 0);
      return index === cells.length - 1 ? cell : cell.padEnd(widths[index] ?? 0);
    });
    return ' '.repeat(indent) + paddedCells.join(' '.repeat(gap));
  };
}

function widthOf(
  { least: minWidth = 0, most: maxWidth = Number.POSITIVE_INFINITY }: Column,
  rows: readonly Cells[],
  at: number,
): number {
  const widestCell = rows.reduce((width, cells) => Math.max(width, cells[at]?.length ?? 0), 0);
  return Math.max(minWidth, Math.min(maxWidth, widestCell));
}
