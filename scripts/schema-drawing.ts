/** Draws the tables of the storage schema as SVG: pure text from what the catalog says. Readable on light and dark pages. */

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly key: boolean;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
}

/** Where tables stand; those not named here are added to the shortest stack. */
const stacks: readonly (readonly string[])[] = [
  ['stream', 'coverage', 'active_counts', 'schema_migrations'],
  ['exercises', 'archives', 'topology_events'],
  ['updates', 'reassignments', 'activity_hourly'],
  ['contracts', 'lifetimes', 'interface_views'],
  ['templates', 'choices', 'synchronizers', 'packages', 'typed_views', 'typed_columns'],
];

/** Columns that name a row of another table. There are no foreign keys: the writer keeps these true by itself. */
const references: Readonly<Record<string, string>> = {
  template_pk: 'templates',
  interface_pk: 'templates',
  choice_pk: 'choices',
  synchronizer_pk: 'synchronizers',
  source_pk: 'synchronizers',
  target_pk: 'synchronizers',
  package_id: 'packages',
  view_name: 'typed_views',
  offset: 'updates',
  activated_offset: 'contracts',
  deactivated_offset: 'updates',
  unknown_since: 'updates',
  contract_id: 'contracts',
};
/** Tables whose "offset" is that of an activation. */
const ofActivations = new Set(['interface_views']);
/** Columns that a line is drawn for. All others would cross the picture to say what their names say. */
const lined = new Set(['offset', 'activated_offset']);

const size = { width: 300, gap: 70, row: 18, head: 28, space: 24, margin: 20 };

interface Placed {
  readonly table: Table;
  readonly x: number;
  readonly y: number;
}

/** The picture as the text of an SVG file. */
export function drawSchema(tables: readonly Table[]): string {
  const placed = place(tables);
  const width = size.margin * 2 + stacks.length * (size.width + size.gap) - size.gap;
  const height = size.margin + Math.max(...placed.map(({ table, y }) => y + heightOf(table)));
  const lines = placed.flatMap((from) => linesFrom(from, placed));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(width)} ${String(height)}" role="img" aria-label="Tables of the storage schema">`,
    `<style>${style}</style>`,
    `<rect class="page" width="${String(width)}" height="${String(height)}" rx="8"/>`,
    ...lines,
    ...placed.map(drawTable),
    '</svg>',
    '',
  ].join('\n');
}

const style = [
  `text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#24292f}`,
  `.page{fill:#ffffff}.box{fill:#f6f8fa;stroke:#8c959f}.head{fill:#0969da}.name{fill:#ffffff;font-weight:bold}`,
  `.type,.to{fill:#57606a}.key{font-weight:bold}.line{fill:none;stroke:#8c959f;stroke-width:1.2}`,
  `@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.box{fill:#161b22;stroke:#484f58}`,
  `.head{fill:#1f6feb}.name{fill:#ffffff}.type,.to{fill:#9198a1}.line{stroke:#6e7681}}`,
].join('');

function place(tables: readonly Table[]): readonly Placed[] {
  const ends = stacks.map(() => size.margin);
  const known = stacks.flatMap((names, stack) =>
    names.flatMap((name) => tables.filter((table) => table.name === name).map((table) => ({ table, stack }))),
  );
  const others = tables.filter((table) => !stacks.some((names) => names.includes(table.name)));
  const put = (table: Table, stack: number): Placed => {
    const y = ends[stack] ?? 0;
    ends[stack] = y + heightOf(table) + size.space;
    return { table, x: size.margin + stack * (size.width + size.gap), y };
  };
  const placed = known.map(({ table, stack }) => put(table, stack));
  return [...placed, ...others.map((table) => put(table, ends.indexOf(Math.min(...ends))))];
}

function heightOf(table: Table): number {
  return size.head + table.columns.length * size.row + 6;
}

function drawTable({ table, x, y }: Placed): string {
  const rows = table.columns.map((column, index) => {
    const at = y + size.head + index * size.row + 15;
    const to = referenceOf(table, column);
    const shown = to === undefined ? '' : `<tspan class="to"> → ${to}</tspan>`;
    const name = `<text x="${String(x + 10)}" y="${String(at)}"${column.key ? ' class="key"' : ''}>${column.name}${shown}</text>`;
    return `${name}<text x="${String(x + size.width - 10)}" y="${String(at)}" text-anchor="end" class="type">${column.type}</text>`;
  });
  return [
    `<rect class="box" x="${String(x)}" y="${String(y)}" width="${String(size.width)}" height="${String(heightOf(table))}" rx="5"/>`,
    `<rect class="head" x="${String(x)}" y="${String(y)}" width="${String(size.width)}" height="${String(size.head - 4)}" rx="5"/>`,
    `<text class="name" x="${String(x + 10)}" y="${String(y + 16)}">${table.name}</text>`,
    ...rows,
  ].join('\n');
}

function referenceOf(table: Table, column: Column): string | undefined {
  const to = column.name === 'offset' && ofActivations.has(table.name) ? 'contracts' : references[column.name];
  return to === table.name ? undefined : to;
}

/** Lines to the two tables that everything hangs on; dictionaries are named in the rows instead. */
function linesFrom(from: Placed, all: readonly Placed[]): readonly string[] {
  return from.table.columns.flatMap((column, index) => {
    const to = referenceOf(from.table, column);
    const target = all.find(({ table }) => table.name === to);
    if (target === undefined || !lined.has(column.name)) return [];
    return [curve(from, from.y + size.head + index * size.row + 11, target)];
  });
}

/** From the side of a row to the head of its target; within a stack around its left side. */
function curve(from: Placed, y: number, to: Placed): string {
  const target = to.y + size.head / 2;
  const bend = size.gap * 0.6;
  const left = to.x <= from.x;
  const start = left ? from.x : from.x + size.width;
  const end = to.x < from.x ? to.x + size.width : to.x;
  const out = left ? start - bend : start + bend;
  const into = to.x < from.x ? end + bend : end - bend;
  return `<path class="line" d="M${String(start)} ${String(y)} C${String(out)} ${String(y)} ${String(into)} ${String(target)} ${String(end)} ${String(target)}"/>`;
}
