/** What is done beside the stream and takes long: one line and one bar for each. */
import { byId, make, setText } from './elements.js';
import { count, moment, rate, span } from './format.js';

/** @typedef {import('../../health/work-progress.ts').WorkStatus} WorkStatus */

/** @type {Readonly<Record<WorkStatus['name'], string>>} */
const titles = { widen: 'Wider filter', history: 'History of the wider filter', rebuild: 'Storage made anew' };

/** @param {readonly WorkStatus[]} works */
export function showWorks(works) {
  byId('works-card').hidden = works.length === 0;
  const list = byId('works');
  while (list.children.length > works.length) list.lastElementChild?.remove();
  works.forEach((work, nth) => {
    const item = list.children[nth] ?? list.appendChild(emptyItem());
    writeWork(item, work);
  });
}

function emptyItem() {
  const item = make('li');
  const head = make('p');
  head.append(make('span', 'code'), make('span', 'soft'));
  const bar = make('div', 'track');
  bar.setAttribute('role', 'progressbar');
  bar.setAttribute('aria-valuemin', '0');
  bar.setAttribute('aria-valuemax', '100');
  bar.append(make('span', 'fill'));
  item.append(head, bar, make('p'));
  return item;
}

/** @param {Element} item @param {WorkStatus} work */
function writeWork(item, work) {
  const [title, state] = item.querySelectorAll('p:first-child > span');
  const [bar, fill, text] = [item.querySelector('.track'), item.querySelector('.fill'), item.lastElementChild];
  if (!(title && state && bar && fill instanceof HTMLElement && text)) return;
  setText(title, titles[work.name]);
  setText(state, `  ${work.state} since ${moment(work.changedAt)}`);
  bar.setAttribute('aria-label', titles[work.name]);
  /** @type {HTMLElement} */ (bar).hidden = work.percent === null;
  if (work.percent !== null) {
    fill.style.width = `${work.percent}%`;
    bar.setAttribute('aria-valuenow', work.percent.toFixed(0));
  }
  setText(text, progressText(work));
}

/** @param {WorkStatus} work */
function progressText({ step, unit, done, total, perSecond, secondsLeft, problem }) {
  const counted = unit === null ? '' : `${count(done)}${total === null ? '' : ` of ${count(total)}`} ${unit}`;
  const speed = perSecond === null ? '' : `${rate(perSecond)}/s`;
  const left = secondsLeft === null ? '' : `${span(secondsLeft)} left`;
  return [step ?? '', counted, speed, left, problem ?? ''].filter((part) => part !== '').join(', ');
}
