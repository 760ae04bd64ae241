/** Decides whether a result can be drawn, and over which axis. Pure. */

/** @typedef {Pick<import('ledger-indexer/page').ConsoleRows, 'columns' | 'rows'>} Answer */

/** Maximum number of bars that can be distinguished. */
export const mostBars = 200;
/** Longer texts are ids or contents, which are no names of bars. Characters. */
const longestLabel = 100;

/**
 * @typedef {{
 *   readonly by: string, readonly labels: readonly string[], readonly times: readonly number[] | undefined,
 *   readonly values: readonly number[]
 * }} ChartPlan labels of the rows; their times, seconds since 1970, if the axis is a time; columns that can be drawn
 */

/**
 * A chart needs two rows, a number, and an axis: a time that differs in each row, or texts that together differ in each
 * row. Numbers that identify something are not drawn.
 * @param {Answer} answer
 * @returns {ChartPlan | undefined} undefined if there is no sensible chart
 */
export function chartPlanOf({ columns, rows }) {
  const axis = rows.length < 2 ? undefined : (timeAxisOf({ columns, rows }) ?? namesAxisOf({ columns, rows }));
  if (axis === undefined) return undefined;
  const values = columns.flatMap(({ name, isNumber }, at) => {
    const isDrawn = isNumber && !axis.used.includes(at) && !isIdentifier(name);
    return isDrawn && rows.filter((row) => row[at] !== null).length > 1 ? [at] : [];
  });
  return values.length === 0 ? undefined : { by: axis.by, labels: axis.labels, times: axis.times, values };
}

/** @param {Answer} answer */
function timeAxisOf({ columns, rows }) {
  for (const [at, { name, isNumber }] of columns.entries()) {
    if (isNumber) continue;
    const times = rows.flatMap((row) => secondsOf(row[at]) ?? []);
    if (times.length === rows.length && new Set(times).size === rows.length) {
      return { by: name, labels: rows.map((row) => row[at] ?? ''), times, used: [at] };
    }
  }
  return undefined;
}

/** As many text columns as are needed to tell the rows apart, otherwise the first number. @param {Answer} answer */
function namesAxisOf({ columns, rows }) {
  if (rows.length > mostBars) return undefined;
  const texts = columns.flatMap(({ isNumber }, at) => (!isNumber && rows.every((row) => isLabel(row[at])) ? [at] : []));
  const number = columns.findIndex(({ isNumber }) => isNumber);
  const choices = texts.length > 0 ? texts.map((_, nth) => texts.slice(0, nth + 1)) : number < 0 ? [] : [[number]];
  for (const used of choices) {
    const labels = rows.map((row) => used.map((at) => row[at] ?? 'null').join(' · '));
    if (new Set(labels).size < rows.length) continue;
    return { by: used.map((at) => columns[at]?.name ?? '').join(', '), labels, times: undefined, used };
  }
  return undefined;
}

/** @param {string | null | undefined} value */
function isLabel(value = null) {
  return value === null || (value.length <= longestLabel && !/^[{[]|^(?:1220|00)[0-9a-f]{64}/.test(value));
}

/** @param {string} column */
function isIdentifier(column) {
  return /(?:^|_)(?:offset|id|pk|number|position|version)$/.test(column);
}

/** Converts a UTC time in the format of Postgres to seconds since 1970. @param {string | null | undefined} text */
export function secondsOf(text) {
  const found = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(?:\+00)?)?$/.exec(text ?? '');
  return found === null ? null : Date.parse(`${found[1]}T${(found[2] ?? '00:00:00').slice(0, 12)}Z`) / 1000;
}
