/** The rows of a result. An id of the ledger is a link to its explanation. */
import { byId, make, setHint, setText } from '../elements.js';
import { explainLink } from './explained.js';

/**
 * @typedef {import('ledger-indexer/page').ConsoleRows} ConsoleRows
 * @typedef {ConsoleRows['columns'][number]} Column
 */

/** The numbers of a column have separators if one of them has at least so many digits, so that years have none. */
const leastDigits = 5;
/** Maximum number of characters of a value in its cell; the next number is that of its hint. */
const longest = 200;
const longestHint = 4_000;

/** @param {ConsoleRows} answer */
export function showRows({ columns, rows }) {
  const grouped = columns.map(({ isNumber }, at) => isNumber && rows.some((row) => needsSeparators(row[at] ?? '')));
  byId('columns').replaceChildren(...columns.map(head));
  byId('rows').replaceChildren(
    ...rows.map((row) => {
      const line = make('tr');
      line.append(...columns.map((column, at) => cell(column, row[at] ?? null, grouped[at] ?? false)));
      return line;
    }),
  );
}

/** Whether a number has many digits, or digits on both sides of its point. @param {string} value */
function needsSeparators(value) {
  const [whole = '', decimals = ''] = value.replace('-', '').split('.');
  return whole.length >= leastDigits || (whole.length === leastDigits - 1 && /[1-9]/.test(decimals));
}

/** @param {Column} column */
function head({ name, isNumber }) {
  const title = make('th', isNumber ? 'right' : '', name);
  title.scope = 'col';
  return title;
}

/** @param {Column} column @param {string | null} value @param {boolean} isGrouped */
function cell({ name, isNumber }, value, isGrouped) {
  const box = make('td', isNumber ? 'right' : '');
  if (value === null) box.append(make('span', 'soft', 'null'));
  else if (isExplainable(name, value)) box.append(explainLink(value));
  else if (isNumber) showNumeral(box, value, isGrouped);
  else {
    setText(box, value.length <= longest ? value : `${value.slice(0, longest)}…`);
    if (value.length > 24) setHint(box, value.slice(0, longestHint));
  }
  return box;
}

/**
 * Shows a number without the zeros at its end. The separators come from the style sheet, so they are not copied.
 * @param {HTMLElement} box
 * @param {string} value
 * @param {boolean} isGrouped
 */
function showNumeral(box, value, isGrouped) {
  const [, sign = '', digits = '', decimals = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(value) ?? [];
  if (digits === '') return setText(box, value);
  const rest = decimals.replace(/\.?0+$/, '');
  if (rest !== decimals) setHint(box, value);
  const groups = isGrouped ? (digits.match(/\d{1,3}(?=(?:\d{3})*$)/g) ?? []) : [digits];
  box.append(sign, ...groups.map((group, nth) => (nth === 0 ? group : make('span', 'group', group))), rest);
}

/**
 * Whether the value is an id of an update or a contract (by its format or its column), or an offset (by its column).
 * @param {string} column
 * @param {string} value
 */
function isExplainable(column, value) {
  if (/^(?:1220[0-9a-f]{64}|00[0-9a-f]{64,})$/.test(value)) return true;
  if (/(?:^|_)(?:update|contract)_id$/.test(column)) return value !== '';
  return /(?:^|_)offset$/.test(column) && /^\d{1,15}$/.test(value);
}
