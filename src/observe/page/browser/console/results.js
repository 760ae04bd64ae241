/** The rows of a result. An id of the ledger is a link to its explanation. */
import { byId, make, setHint, setText } from '../elements.js';
import { explainLink } from './explained.js';

/**
 * @typedef {import('../../console-messages.ts').ConsoleRows} ConsoleRows
 * @typedef {ConsoleRows['columns'][number]} Column
 */

/** Maximum number of characters of a value in its cell; the next number is that of its hint. */
const longest = 200;
const longestHint = 4_000;

/** @param {ConsoleRows} answer */
export function showRows({ columns, rows }) {
  byId('columns').replaceChildren(...columns.map(head));
  byId('rows').replaceChildren(
    ...rows.map((row) => {
      const line = make('tr');
      line.append(...columns.map((column, at) => cell(column, row[at] ?? null)));
      return line;
    }),
  );
}

/** @param {Column} column */
function head({ name, isNumber }) {
  const title = make('th', isNumber ? 'right' : '', name);
  title.scope = 'col';
  return title;
}

/** @param {Column} column @param {string | null} value */
function cell({ name, isNumber }, value) {
  const box = make('td', isNumber ? 'right' : '');
  if (value === null) box.append(make('span', 'soft', 'null'));
  else if (isExplainable(name, value)) box.append(explainLink(value));
  else {
    setText(box, value.length <= longest ? value : `${value.slice(0, longest)}…`);
    if (value.length > 24) setHint(box, value.slice(0, longestHint));
  }
  return box;
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
