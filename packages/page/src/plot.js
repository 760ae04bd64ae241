/** Plots of the last minutes: a line with the area below it, and a text alternative. */
import { inside, setText } from './elements.js';

const svg = 'http://www.w3.org/2000/svg';
const width = 300;
const height = 64;
/** Uses the shortest window that contains all samples, so that the plot of a young process is not nearly empty. */
const windowsMs = [60_000, 120_000, 300_000];
/** A longer pause between samples is drawn as a gap: the indexer was not running. */
const gapMs = 5_000;

/**
 * @typedef {import('ledger-indexer/page').Sample} Sample
 * @typedef {(value: number | null) => string} Format
 * @typedef {{ readonly at: 1 | 2 | 3 | 4, readonly name: string, readonly format: Format }} Series
 * @typedef {{ readonly time: number, readonly x: number, readonly y: number }} Point
 */

/**
 * @param {HTMLElement} figure
 * @param {readonly Sample[]} samples time in milliseconds first, the oldest first
 * @param {Series} series
 */
export function drawPlot(figure, samples, { at, name, format }) {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return;
  const end = last[0];
  const windowMs = windowsMs.find((window) => end - first[0] < window) ?? 300_000;
  const minutes = windowMs / 60_000;
  const seen = samples.filter((sample) => sample[0] > end - windowMs);
  const values = seen.map((sample) => sample[at]).filter((value) => value !== null);
  const top = niceTop(reach(values));
  const points = seen.map((sample) => ({
    time: sample[0],
    x: width - (width * (end - sample[0])) / windowMs,
    y: heightOf(sample[at], top),
  }));
  const picture = inside(figure, 'svg');
  const shapes = shapesOf(picture);
  const runs = unbroken(points);
  shapes.line.setAttribute('d', runs.map((run) => lineOf(run)).join(''));
  shapes.area.setAttribute('d', runs.map((run) => areaOf(run)).join(''));
  const tip = heightOf(last[at], top);
  shapes.tip.setAttribute('d', tip === null ? '' : `M${width} ${tip.toFixed(2)}h0`);
  setText(inside(figure, '.number'), format(last[at]));
  const peak = Math.max(0, ...values);
  const scale = `top ${scaleText(top, format)}${peak > top ? `, peak ${format(peak)}` : ''}`;
  setText(inside(figure, '.top-of-axis'), values.length === 0 ? '' : scale);
  setText(inside(figure, '.start-of-axis'), `−${minutes} min`);
  picture.setAttribute(
    'aria-label',
    inWords(`${name}, last ${minutes === 1 ? 'minute' : `${minutes} minutes`}`, values, last[at], format),
  );
}

/** Distance from the top of the picture. @param {number | null} value @param {number} top of the scale */
function heightOf(value, top) {
  return value === null ? null : Math.max(0, height - (height * value) / top);
}

/** @param {string} name @param {readonly number[]} values @param {number | null} now @param {Format} format */
function inWords(name, values, now, format) {
  if (values.length === 0) return `${name}: nothing measured`;
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  return `${name}: now ${format(now)}, lowest ${format(lowest)}, highest ${format(highest)}`;
}

/**
 * Top of the scale. A past burst that was many times the usual value, such as a catch-up, is clipped
 * at the top instead of flattening all other values; its peak is named in the text.
 * @param {readonly number[]} values
 */
export function reach(values) {
  const highest = Math.max(0, ...values);
  const median = [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
  const usual = Math.max(2 * median, ...values.slice(-15));
  return usual > 0 && highest > 8 * usual ? 1.3 * usual : highest;
}

/**
 * Text at the top of a scale, which is a round number and needs no decimals.
 * @param {number} top
 * @param {Format} format
 */
function scaleText(top, format) {
  return format(top).replace(/\.0(?!\d)/, '');
}

/** The next number of 1, 2, 5, 10, 20 … above a value, so that the scale rarely changes. @param {number} value */
export function niceTop(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= value * 1.05) ?? 20;
  return step * power;
}

/**
 * Splits the points into runs without a gap.
 * @param {readonly (Omit<Point, 'y'> & { readonly y: number | null })[]} points
 */
function unbroken(points) {
  /** @type {[Point, ...Point[]][]} */
  const runs = [];
  /** @type {number | undefined} */
  let before;
  for (const { time, x, y } of points) {
    const run = before === undefined || time - before > gapMs ? undefined : runs.at(-1);
    before = y === null ? undefined : time;
    if (y === null) continue;
    if (run === undefined) runs.push([{ time, x, y }]);
    else run.push({ time, x, y });
  }
  return runs;
}

/** @param {readonly Point[]} run */
function lineOf(run) {
  return run.map(({ x, y }, nth) => `${nth === 0 ? 'M' : 'L'}${x.toFixed(2)} ${y.toFixed(2)}`).join('');
}

/** @param {readonly [Point, ...Point[]]} run */
function areaOf(run) {
  const { x: end } = run.at(-1) ?? run[0];
  return `${lineOf(run)}L${end.toFixed(2)} ${height}L${run[0].x.toFixed(2)} ${height}Z`;
}

/** @type {WeakMap<Element, { readonly area: Element, readonly line: Element, readonly tip: Element }>} */
const known = new WeakMap();

/** @param {Element} picture */
function shapesOf(picture) {
  const found = known.get(picture);
  if (found !== undefined) return found;
  /** @param {string} className */
  const path = (className, d = '') => {
    const element = document.createElementNS(svg, 'path');
    element.setAttribute('class', className);
    element.setAttribute('d', d);
    picture.append(element);
    return element;
  };
  path('base', `M0 ${height}H${width}`);
  const shapes = { area: path('area'), line: path('line'), tip: path('tip') };
  known.set(picture, shapes);
  return shapes;
}
