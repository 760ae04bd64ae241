/**
 * Templates, updates and errors. Rows do not move, because a table has a fixed number of rows, including empty ones.
 */
import { byId, make, setHint, setText, visible } from './elements.js';
import { clock, count, moment, rate, templateName } from './format.js';
import { offsetButton } from './outline.js';

/**
 * @typedef {import('ledger-indexer/page').RatedTemplate} RatedTemplate
 * @typedef {import('ledger-indexer/page').UpdateFacts} UpdateFacts
 * @typedef {import('ledger-indexer/page').RecentError} RecentError
 * @typedef {import('ledger-indexer/page').UnknownNameCount} UnknownName
 */

const rows = 8;

/** @param {readonly RatedTemplate[]} templates */
export function showTemplates(templates) {
  showTable('templates', templates.length > 0);
  fill(byId('templates'), 3, templates, (cell, template) => {
    showTemplate(cell(0), template.name);
    showNumber(cell(1), count(template.active));
    showNumber(cell(2), rate(template.rate));
  });
}

/**
 * Writes the updates, unless the user is about to open one.
 * @param {readonly UpdateFacts[]} updates
 * @returns whether the rows were kept
 */
export function showUpdates(updates) {
  const body = byId('updates');
  if (body.textContent !== '' && body.matches(':hover, :focus-within')) return true;
  showTable('updates', updates.length > 0);
  fill(body, 5, updates, (cell, update) => {
    const [recorded, templates] = [cell(2), cell(3)];
    offsetButton(cell(0), update.offset);
    setText(cell(1), update.kind.replaceAll('_', ' '));
    setText(recorded, update.recordTime === null ? '–' : clock(update.recordTime));
    setHint(recorded, update.recordTime ?? '');
    const names = update.templates.map((name) => templateName(name).entity).join(', ') || '–';
    // The span can be limited to two lines on narrow screens, a cell cannot.
    setText(templates.firstElementChild ?? templates.appendChild(make('span')), names);
    setHint(templates, update.templates.join('\n'));
    showNumber(cell(4), count(update.events));
  });
  return false;
}

/** Shows a table, or a text in place of its empty rows. @param {string} id @param {boolean} hasRows */
function showTable(id, hasRows) {
  const table = byId(id).parentElement;
  if (table !== null) table.hidden = !hasRows;
  byId(`no-${id}`).hidden = hasRows;
}

/** @param {readonly RecentError[]} errors */
export function showErrors(errors) {
  byId('no-errors').hidden = errors.length > 0;
  showList(byId('errors'), errors, errorItem);
}

/** @param {readonly UnknownName[]} names */
export function showUnknown(names) {
  byId('unknown-card').hidden = names.length === 0;
  showList(byId('unknown'), names, unknownItem);
}

/** @param {Pick<import('ledger-indexer/page').StatusDocument, 'interfacesWaiting' | 'interfacesBackfilling' | 'partiesUnknown'>} status */
export function showNotFollowed({ interfacesWaiting, interfacesBackfilling: gathering, partiesUnknown }) {
  const waiting = [...partiesUnknown, ...interfacesWaiting];
  byId('interfaces-card').hidden = waiting.length + gathering.length === 0;
  const known = gathering.map((name) => ({ name, what: 'views are being backfilled' }));
  const unknown = waiting.map((name) => ({ name, what: 'the participant does not know it yet' }));
  showList(byId('interfaces'), [...known, ...unknown], ({ name, what }) => {
    const item = make('li');
    item.append(make('span', 'code', name), make('span', 'soft', `  ${what}`));
    return item;
  });
}

/**
 * Projections with a problem. Their views are complete, but slow.
 * @param {readonly import('ledger-indexer/page').ProjectionStatus[]} projections
 */
export function showProjections(projections) {
  const parked = projections.filter(({ problem }) => problem !== null);
  byId('projections-card').hidden = parked.length === 0;
  showList(byId('projections'), parked, ({ name, problem }) => {
    const item = make('li');
    item.append(
      make('span', 'code', name),
      make('p', '', `${problem?.code}: ${problem?.message}`),
      make('p', 'soft', problem?.remedy),
    );
    return item;
  });
}

/**
 * Avoids replacing text each second that a user is reading or selecting.
 * @template Entry
 * @param {HTMLElement} list
 * @param {readonly Entry[]} entries
 * @param {(entry: Entry) => HTMLElement} itemOf
 */
function showList(list, entries, itemOf) {
  const written = JSON.stringify(entries);
  if (list.dataset.written === written) return;
  list.dataset.written = written;
  list.replaceChildren(...entries.map(itemOf));
}

/** @param {UnknownName} entry */
function unknownItem({ kind, name, firstOffset, count: times }) {
  const item = make('li');
  const head = make('p');
  const since = firstOffset === null ? 'among the active contracts' : `first at offset ${count(firstOffset)}`;
  const kept = kind === 'field' ? 'not stored' : 'stored raw';
  head.append(make('span', 'code', name), make('span', 'soft', `  ${count(times)} times`));
  item.append(head, make('p', '', `${kind.replaceAll('_', ' ')}, ${kept}, ${since}`));
  return item;
}

/** @param {RecentError} error */
function errorItem({ code, message, remedy, count: times, at }) {
  const item = make('li');
  const head = make('p');
  const time = make('time', 'soft', `  ${moment(at)}${times > 1 ? `, ${count(times)} times` : ''}`);
  time.dateTime = at;
  head.append(make('span', 'code', code), time);
  item.append(head, make('p', '', message));
  if (remedy !== null) item.append(make('p', 'remedy', `What to do: ${remedy}`));
  return item;
}

/**
 * @template Entry
 * @param {HTMLElement} body
 * @param {number} columns
 * @param {readonly Entry[]} entries
 * @param {(cell: (nth: number) => HTMLTableCellElement, entry: Entry) => void} write
 */
function fill(body, columns, entries, write) {
  const table = rowsOf(body, columns);
  table.forEach(({ row, cells }, nth) => {
    const entry = entries[nth];
    if (entry !== undefined) write((column) => cellAt(cells, column), entry);
    else for (const cell of cells) setText(cell, '');
    row.setAttribute('aria-hidden', String(entry === undefined));
  });
}

/** @param {readonly HTMLTableCellElement[]} cells @param {number} column */
function cellAt(cells, column) {
  const cell = cells[column];
  if (cell === undefined) throw new Error(`a row has ${cells.length} columns, there is no ${column}`);
  return cell;
}

/** @type {WeakMap<HTMLElement, readonly { readonly row: HTMLElement, readonly cells: readonly HTMLTableCellElement[] }[]>} */
const tables = new WeakMap();

/** The rows of a table, created when it is first filled. @param {HTMLElement} body @param {number} columns */
function rowsOf(body, columns) {
  const known = tables.get(body);
  if (known !== undefined) return known;
  const made = Array.from({ length: rows }, () => {
    const row = make('tr');
    const cells = Array.from({ length: columns }, () => make('td'));
    row.append(...cells);
    body.append(row);
    return { row, cells };
  });
  tables.set(body, made);
  return made;
}

/** @param {HTMLElement} cell @param {string} text */
function showNumber(cell, text) {
  cell.className = 'num';
  setText(cell, text);
}

/** @param {HTMLElement} cell @param {string} name */
function showTemplate(cell, name) {
  if (cell.title === visible(name) && cell.textContent !== '') return;
  setHint(cell, name);
  const { entity, rest } = templateName(name);
  cell.replaceChildren(make('span', '', entity), make('span', 'soft', `  ${rest}`));
}
