/** Cells one under the other: how wide a column is by its longest cell, and what stands between two of them. */

export interface Column {
  /** For numbers. */
  readonly right?: true;
  /** Width at least, in characters. */
  readonly least?: number;
  /** Width at most: a wider cell pushes the rest of its line. */
  readonly most?: number;
}

export interface Layout {
  /** Those that are not named are as wide as their widest cell. */
  readonly columns?: readonly Column[];
  /** Blanks between two columns; default 2. */
  readonly gap?: number;
  /** Blanks before the first one; default none. */
  readonly indent?: number;
}

type Cells = readonly string[];

/** A column of this width, whatever its cells. */
export function fixed(width: number): Column {
  return { least: width, most: width };
}

/** The same for numbers. */
export function numbers(width: number): Column {
  return { ...fixed(width), right: true };
}

/** The rows as lines. The last cell of a line is not filled up, unless it stands right. */
export function aligned(rows: readonly Cells[], layout?: Layout): readonly string[] {
  return rows.map(lineUp(rows, layout));
}

/** The same for rows that come later. @param first the rows that decide on the widths */
export function lineUp(first: readonly Cells[], layout: Layout = {}): (cells: Cells) => string {
  const { columns = [], gap = 2, indent = 0 } = layout;
  const count = first.reduce((most, cells) => Math.max(most, cells.length), columns.length);
  const widths = Array.from({ length: count }, (_, at) => widthOf(columns[at] ?? {}, first, at));
  return (cells) => {
    const filled = cells.map((cell, at) => {
      if (columns[at]?.right === true) return cell.padStart(widths[at] ?? 0);
      return at === cells.length - 1 ? cell : cell.padEnd(widths[at] ?? 0);
    });
    return ' '.repeat(indent) + filled.join(' '.repeat(gap));
  };
}

function widthOf({ least = 0, most = Number.POSITIVE_INFINITY }: Column, rows: readonly Cells[], at: number): number {
  const widest = rows.reduce((width, cells) => Math.max(width, cells[at]?.length ?? 0), 0);
  return Math.max(least, Math.min(most, widest));
}
