/** One picture of a call's figures: what an event costs the indexer, PQS's layout, and raw JSON. SVG, for light and dark. */
import { pqsLayout } from '../baselines/pqs-layout.ts';
import { rawJson } from '../baselines/raw-json.ts';
import { escaped, rect, text, widthOf } from '../../scripts/dashboards/picture/svg.ts';
import { oneLane } from '../session.ts';
import { middle, type Column, type Line } from './figures.ts';

/** What the picture needs of the JSON of `npm run bench -- --json`. */
export interface PictureFigures {
  readonly machine: string;
  readonly postgres: string;
  readonly lines: readonly Line[];
}

interface Panel {
  readonly title: string;
  readonly unit: string;
  /** Stacked from the left. */
  readonly parts: readonly Part[];
  /** Figures of the parts each by itself, not their sum: what was not measured must not look like nothing. */
  readonly apart?: boolean;
}

interface Part {
  readonly column: Column;
  readonly colour: 'first' | 'second';
  /** For the legend. */
  readonly word: string;
}

const panels: readonly Panel[] = [
  {
    title: 'On disk',
    unit: 'bytes',
    parts: [
      { column: 'heapBytes', colour: 'first', word: 'tables' },
      { column: 'indexBytes', colour: 'second', word: 'indexes' },
    ],
  },
  { title: 'Write-ahead log', unit: 'bytes', parts: [{ column: 'walBytes', colour: 'first', word: 'log' }] },
  {
    title: 'Processor',
    unit: 'µs',
    apart: true,
    parts: [
      { column: 'wholePostgresUs', colour: 'first', word: 'Postgres, with vacuum and checkpoint' },
      { column: 'nodeUs', colour: 'second', word: 'the indexer (no client of the others was measured)' },
    ],
  },
];

const shownLines = [
  { name: oneLane, label: 'ledger-indexer' },
  { name: pqsLayout.name, label: pqsLayout.name },
  { name: rawJson.name, label: rawJson.name },
];

const width = 760;
const margin = 20;
const labelWidth = 124;
const barHeight = 20;
const barStep = 28;
const panelHead = 34;
const panelHeight = panelHead + shownLines.length * barStep + 14;
const headHeight = 48;

/** Colours by the reader's scheme; texts and bars name them by class. */
const style = `
svg{font-family:system-ui,-apple-system,"Segoe UI","Liberation Sans",Arial,sans-serif;color:#1f2328;--card:#fff;--edge:#d1d9e0;--faint:#59636e;--first:#0969da;--second:#8cb9ee}
@media (prefers-color-scheme:dark){svg{color:#e6edf3;--card:#0d1117;--edge:#3d444d;--faint:#9198a1;--first:#4493f8;--second:#1f5fae}}`;

/**
 * @returns the text of an SVG file
 * @throws Error when the figures lack a line or a column the picture shows
 */
export function pictureOf(figures: PictureFigures, profile = 'default'): string {
  const rows = shownLines.map(({ name, label }) => {
    const line = figures.lines.find((known) => known.profile === profile && known.name === name);
    if (line === undefined)
      throw new Error(
        `there is no line "${name}" of profile ${profile}: expected one with --json of --only ingest,baselines`,
      );
    return { label, line };
  });
  const height = headHeight + panels.length * panelHeight + 24;
  const drawn = panels.map((panel, at) => panelOf(panel, rows, headHeight + at * panelHeight));
  const note = `${figures.machine}, Postgres ${figures.postgres}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(width)} ${String(height)}" width="${String(width)}" height="${String(height)}" role="img">`,
    `<title>${escaped(describe(rows))}</title>`,
    `<style>${style}</style>`,
    `<rect x="0.5" y="0.5" width="${String(width - 1)}" height="${String(height - 1)}" rx="6" fill="var(--card)" stroke="var(--edge)"/>`,
    text(margin, 30, 'What one event costs', { size: 17, fill: 'currentColor', weight: 600 }),
    ...drawn,
    text(margin, height - 14, note, { size: 11, fill: 'var(--faint)' }),
    '</svg>\n',
  ].join('\n');
}

interface Row {
  readonly label: string;
  readonly line: Line;
}

function panelOf(panel: Panel, rows: readonly Row[], top: number): string {
  const { title, parts } = panel;
  const values = rows.map(({ line }) => parts.map(({ column }) => middle(line, column)));
  const sums = values.map((row) => sumOf(row));
  const most = Math.max(...sums);
  const room = width - margin - labelWidth - margin - 110;
  const bars = rows.map(({ label }, at) => {
    const y = top + panelHead + at * barStep;
    let x = margin + labelWidth;
    const drawn = (values[at] ?? []).map((value = 0, part) => {
      const long = (value / most) * room;
      const bar = rect(x, y, long, barHeight, `var(--${parts[part]?.colour ?? 'first'})`);
      x += long;
      return value === 0 ? '' : bar;
    });
    const words = wordsOf(panel, values[at] ?? []);
    return [
      text(margin, y + 15, label, { size: 13, fill: 'currentColor', weight: at === 0 ? 600 : 400 }),
      ...drawn,
      text(x + 8, y + 15, words, { size: 13, fill: 'currentColor', weight: at === 0 ? 600 : 400 }),
    ].join('');
  });
  return [
    text(margin, top + 22, title, { size: 13, fill: 'var(--faint)', weight: 600 }),
    legend(parts, top),
    ...bars,
  ].join('');
}

function legend(parts: readonly Part[], top: number): string {
  if (parts.length < 2) return '';
  let x = margin + labelWidth;
  return parts
    .map(({ word, colour }) => {
      const item =
        rect(x, top + 13, 10, 10, `var(--${colour})`) +
        text(x + 15, top + 22, word, { size: 12, fill: 'var(--faint)' });
      x += 34 + widthOf(word, 12);
      return item;
    })
    .join('');
}

function wordsOf({ unit, apart = false }: Panel, parts: readonly (number | undefined)[]): string {
  const known = parts.filter((value) => value !== undefined);
  return `${apart ? known.map(shown).join(' + ') : shown(sumOf(known))} ${unit}`;
}

/** All figures in words, for those who cannot see the bars. */
function describe(rows: readonly Row[]): string {
  const each = panels.map((panel) => {
    const values = (line: Line) => panel.parts.map(({ column }) => middle(line, column));
    return `${panel.title}: ${rows.map(({ label, line }) => `${label} ${wordsOf(panel, values(line))}`).join(', ')}`;
  });
  return `Per event. ${each.join('; ')}`;
}

/** @throws Error when none of the parts was measured */
function sumOf(parts: readonly (number | undefined)[]): number {
  if (parts.every((value) => value === undefined))
    throw new Error('a line has no figures for the picture: expected a run without errors, on this machine');
  return parts.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}
