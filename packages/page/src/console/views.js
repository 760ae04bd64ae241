/** Schemas, views and columns that the caller may read, with their comments. */
import { byId, make, show } from '../elements.js';
import { count } from '../format.js';
import { insertInEditor } from './editor.js';
import { post } from './questions.js';

/**
 * @typedef {import('ledger-indexer/page').ConsoleRows} ConsoleRows
 * @typedef {import('./suggest.js').View} View
 */

/** Maximum number of views of a schema in the list while the user searches. */
const mostFound = 30;

/** @type {readonly View[]} */
let readableViews = [];
/** @type {(statement: string) => void} */
let runStatement = () => undefined;

/**
 * Requests the views. The list stays empty, with the reason, if they cannot be read.
 * @param {(statement: string) => void} choose
 */
export async function readViews(choose) {
  runStatement = choose;
  show('views-state', 'Reading.');
  /** @type {import('./questions.js').Posted<ConsoleRows>} */
  const { found, failure } = await post('query/views', {});
  readableViews = (found?.rows ?? []).map(viewOf);
  const more = found?.complete === false ? 'There are more views than can be listed.' : '';
  show('views-state', failure ?? (readableViews.length === 0 ? 'This login may read no view.' : more));
  filterViews('');
  const [first] = byId('views').querySelectorAll('details');
  if (first !== undefined) first.open = matchMedia('(min-width: 1001px)').matches;
  return readableViews;
}

/** @param {ConsoleRows['rows'][number]} row @returns {View} */
function viewOf([schema, name, comment, columns]) {
  /** @type {readonly (readonly [string, string, string | null])[]} */
  const listed = JSON.parse(columns ?? '[]');
  return {
    schema: schema ?? '',
    name: name ?? '',
    comment: comment ?? null,
    columns: listed.map(([column, type, note]) => ({ name: column, type, comment: note })),
  };
}

/** Lists the views whose name, or one of whose columns, contains the text. @param {string} text */
export function filterViews(text) {
  const lower = text.toLowerCase();
  const fits = (/** @type {View} */ { schema, name, columns }) =>
    `${schema}.${name}`.includes(lower) || columns.some((column) => column.name.includes(lower));
  const isAll = lower === '';
  const shown = isAll ? readableViews : readableViews.filter(fits);
  const schemas = [...new Set(shown.map(({ schema }) => schema))];
  byId('views').replaceChildren(
    ...schemas.map((schema) =>
      schemaPart(
        schema,
        shown.filter((view) => view.schema === schema),
        !isAll,
      ),
    ),
  );
}

/** @param {string} schema @param {readonly View[]} views @param {boolean} isSearch */
function schemaPart(schema, views, isSearch) {
  const listed = isSearch ? views.slice(0, mostFound) : views;
  const part = opened(
    () => {
      const list = make('ul');
      list.append(...listed.map(viewItem));
      if (listed.length < views.length)
        list.append(make('li', 'none', `and ${count(views.length - listed.length)} more`));
      return [list];
    },
    make('span', 'code', schema),
    make('span', 'aside', count(views.length)),
  );
  part.open = isSearch;
  return part;
}

/** @param {View} view */
function viewItem(view) {
  const item = make('li');
  item.append(opened(() => viewFacts(view), make('span', 'code', view.name)));
  return item;
}

/** @param {View} view @returns {readonly HTMLElement[]} */
function viewFacts({ schema, name, comment, columns }) {
  const full = `${schema}.${name}`;
  const buttons = make('p', 'bar');
  buttons.append(
    smallButton('Show rows', `Show rows of ${full}`, () => runStatement(`select *\n  from ${full}\n limit 100;`)),
    smallButton('Insert name', `Insert name ${full}`, () => insertInEditor(full)),
  );
  const list = make('ul', 'view-columns');
  list.append(
    ...columns.map((column) => {
      const item = make('li');
      const button = smallButton(column.name, `Insert ${full}.${column.name}`, () => insertInEditor(column.name));
      button.classList.add('code');
      item.append(button, make('span', 'soft', column.type));
      if (column.comment !== null) item.append(make('p', 'soft', column.comment));
      return item;
    }),
  );
  return [...(comment === null ? [] : [make('p', 'view-comment', comment)]), buttons, list];
}

/** @param {string} text @param {string} label @param {() => void} onClick */
function smallButton(text, label, onClick) {
  const button = make('button', '', text);
  button.type = 'button';
  button.setAttribute('aria-label', label);
  button.addEventListener('click', onClick);
  return button;
}

/** A part that is written when it is opened first. @param {() => readonly HTMLElement[]} contents @param {readonly HTMLElement[]} title */
function opened(contents, ...title) {
  const part = make('details');
  const summary = make('summary');
  summary.append(...title);
  part.append(summary);
  part.addEventListener('toggle', () => {
    if (part.open && part.childElementCount === 1) part.append(...contents());
  });
  return part;
}
