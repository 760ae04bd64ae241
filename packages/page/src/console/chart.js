/**
 * Draws the result as a chart: a line over time, otherwise bars. It has one numeric column at a time.
 */
import uPlot from 'uplot';
import { byId, make, setText, show } from '../elements.js';
import { count } from '../format.js';
import { chartPlanOf } from './chart-plan.js';

/** @typedef {import('ledger-indexer/page').ConsoleRows} ConsoleRows */

const height = 300;
/** Space for a name below a bar, pixels, and the characters that fit into it. */
const nameRoom = 84;
const longestName = 12;

/** @type {uPlot | undefined} */
let drawn;
/** @type {{ readonly answer: ConsoleRows, readonly plan: import('./chart-plan.js').ChartPlan } | undefined} */
let prepared;

/**
 * Stores a result; the chart is drawn when it is opened.
 * @param {ConsoleRows} answer
 * @returns whether there is a sensible chart
 */
export function prepareChart(answer) {
  const plan = chartPlanOf(answer);
  prepared = plan && { answer, plan };
  const options = (plan?.values ?? []).map((at) => {
    const option = make('option', '', answer.columns[at]?.name ?? '');
    option.value = String(at);
    return option;
  });
  byId('drawn').replaceChildren(...options);
  return plan !== undefined;
}

/** Redraws the chart at the available width. */
export function drawChart() {
  drawn?.destroy();
  drawn = undefined;
  if (prepared === undefined || byId('chart-box').hidden) return;
  const { answer, plan } = prepared;
  const { times, labels, by } = plan;
  const column = Number(/** @type {HTMLSelectElement} */ (byId('drawn')).value);
  const points = answer.rows.map((row, nth) => ({
    at: labels[nth] ?? '',
    x: times?.[nth] ?? nth,
    value: row[column] == null ? null : Number(row[column]),
  }));
  const shown = points.toSorted((one, other) => one.x - other.x);
  const name = answer.columns[column]?.name ?? '';
  byId('chart').setAttribute('aria-label', described(name, by, shown));
  const names = times === undefined ? shown.map(({ at }) => at) : undefined;
  const data = /** @type {uPlot.AlignedData} */ ([shown.map(({ x }) => x), shown.map(({ value }) => value)]);
  drawn = new uPlot(
    optionsOf(name, names, (nth) => point(shown[nth])),
    data,
    byId('chart'),
  );
  show('pointed', '');
}

/** @param {{ at: string, value: number | null } | undefined} found */
function point(found) {
  setText(byId('pointed'), found === undefined ? '' : `${found.at}: ${found.value ?? 'null'}`);
}

/** @param {string} name @param {string} by @param {readonly { value: number | null }[]} points */
function described(name, by, points) {
  const values = points.flatMap(({ value }) => (value === null ? [] : [value]));
  const range = values.length === 0 ? 'no values' : `from ${Math.min(...values)} to ${Math.max(...values)}`;
  return `${name} by ${by}: ${count(points.length)} rows, ${range}. The table has the same values.`;
}

/**
 * @param {string} name of the column
 * @param {readonly string[] | undefined} names below the bars; a line over time without them
 * @param {(nth: number) => void} onPoint
 * @returns {uPlot.Options}
 */
function optionsOf(name, names, onPoint) {
  const colour = (/** @type {string} */ variable) =>
    getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  const bars = uPlot.paths.bars?.({ size: [0.7, 60] });
  const line = { stroke: colour('--accent'), width: 2, points: { size: 5 } };
  const axis = {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  };
  /** @type {Partial<uPlot.Series>} */
  const asBars =
    bars === undefined
      ? line
      : { stroke: colour('--accent'), fill: colour('--accent-mid'), paths: bars, points: { show: false } };
  return {
    width: Math.max(200, byId('chart').clientWidth),
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: names === undefined ? { time: true } : { time: false, range: [-0.6, Math.max(0.6, names.length - 0.4)] },
      y: { range: fromZero },
    },
    series: [{}, { label: name, ...(names === undefined ? line : asBars) }],
    tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), 'Etc/UTC'),
    axes: [
      { ...axis, ...(names === undefined ? timeAxis : namedAxis(names)) },
      { ...axis, size: 72 },
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => idx != null && onPoint(idx)] },
  };
}

/** Bars and lines begin at zero, so that heights can be compared. @type {uPlot.Range.Function} */
function fromZero(_plot, low, high) {
  const [bottom, top] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)];
  const [below, above] = uPlot.rangeNum(bottom, top > bottom ? top : 1, 0.05, true);
  return [bottom === 0 ? 0 : below, above];
}

const daySeconds = 86_400;

/** Days in the format of the rows, times of day if all days are equal. @type {uPlot.Axis} */
const timeAxis = {
  space: nameRoom,
  values: (_plot, splits, _axis, _space, step) =>
    splits.map((at) => {
      const iso = new Date(1000 * at).toISOString();
      return step >= daySeconds || at % daySeconds === 0 ? iso.slice(0, 10) : iso.slice(11, step < 60 ? 19 : 16);
    }),
};

/** An axis with as many names as fit. @param {readonly string[]} names @returns {uPlot.Axis} */
function namedAxis(names) {
  const short = (/** @type {number} */ at) => {
    const name = Number.isInteger(at) ? (names[at] ?? '') : '';
    return name.length <= longestName ? name : `${name.slice(0, longestName - 1)}…`;
  };
  return { space: nameRoom, incrs: [1, 2, 5, 10, 20, 50, 100], values: (_plot, splits) => splits.map(short) };
}

/** Call it once, after the page has loaded. */
export function followWindow() {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry?.contentRect.width ?? 0);
    if (now !== width && now > 0) drawChart();
    width = now;
  }).observe(byId('chart-box'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawChart);
  byId('drawn').addEventListener('change', drawChart);
}
