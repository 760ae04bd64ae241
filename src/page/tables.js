/** Templates, updates and errors. Rows stay where they are: as many as there is room for, empty ones included. */
import { byId, make, setText } from './elements.js';
import { clock, count, moment, rate, templateName } from './format.js';

const rows = 8;

/** @param {readonly { name: string, active: number, rate: number }[]} templates */
export function showTemplates(templates) {
  fill(byId('templates'), 3, templates, ([name, active, perSecond], template) => {
    showTemplate(name, template.name);
    showNumber(active, count(template.active));
    showNumber(perSecond, rate(template.rate));
  });
}

/** @param {readonly { offset: number, kind: string, recordTime: string | null, events: number, templates: readonly string[] }[]} updates */
export function showUpdates(updates) {
  fill(byId('updates'), 5, updates, ([offset, kind, recorded, templates, events], update) => {
    setText(offset, count(update.offset));
    setText(kind, update.kind.replaceAll('_', ' '));
    setText(recorded, update.recordTime === null ? '–' : clock(update.recordTime));
    recorded.title = update.recordTime ?? '';
    setText(templates, update.templates.map((name) => templateName(name).entity).join(', ') || '–');
    templates.title = update.templates.join('\n');
    showNumber(events, count(update.events));
  });
}

/** @param {readonly { code: string, message: string, remedy: string | null, count: number, at: string }[]} errors */
export function showErrors(errors) {
  byId('no-errors').hidden = errors.length > 0;
  const list = byId('errors');
  const written = JSON.stringify(errors);
  // A text that somebody reads or selects is not made anew each second.
  if (list.dataset.written === written) return;
  list.dataset.written = written;
  list.replaceChildren(...errors.map(errorItem));
}

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

function fill(body, columns, entries, write) {
  while (body.children.length < rows) {
    const row = make('tr');
    for (let column = 0; column < columns; column += 1) row.append(make('td'));
    body.append(row);
  }
  [...body.children].forEach((row, nth) => {
    const cells = [...row.children];
    if (nth < entries.length) write(cells, entries[nth]);
    else for (const cell of cells) setText(cell, '');
    row.setAttribute('aria-hidden', String(nth >= entries.length));
  });
}

function showNumber(cell, text) {
  cell.className = 'num';
  setText(cell, text);
}

function showTemplate(cell, name) {
  if (cell.title === name && cell.textContent !== '') return;
  cell.title = name;
  const { entity, rest } = templateName(name);
  cell.replaceChildren(make('span', '', entity), make('span', 'soft', `  ${rest}`));
}
