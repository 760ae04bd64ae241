/** Background jobs: one line of text and one bar for each. */
import { byId, make, setText } from './elements.js';
import { count, moment, rate, span } from './format.js';

/** @typedef {import('ledger-indexer/page').RequestedJobStatus} RequestedJobStatus */

/** @type {Readonly<Record<RequestedJobStatus['name'], string>>} */
const titles = { 'filter-extend': 'Extended filter', history: 'History of the extended filter', rebuild: 'New schema' };

/** @param {readonly RequestedJobStatus[]} jobs */
export function showJobs(jobs) {
  byId('jobs-card').hidden = jobs.length === 0;
  const list = byId('jobs');
  while (list.children.length > jobs.length) list.lastElementChild?.remove();
  jobs.forEach((job, nth) => {
    const item = list.children[nth] ?? list.appendChild(emptyItem());
    writeJob(item, job);
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

/** @param {Element} item @param {RequestedJobStatus} job */
function writeJob(item, job) {
  const [title, state] = item.querySelectorAll('p:first-child > span');
  const [bar, fill, text] = [item.querySelector('.track'), item.querySelector('.fill'), item.lastElementChild];
  if (!(title && state && bar && fill instanceof HTMLElement && text)) return;
  setText(title, titles[job.name]);
  setText(state, `  ${job.state} since ${moment(job.updatedAt)}`);
  bar.setAttribute('aria-label', titles[job.name]);
  /** @type {HTMLElement} */ (bar).hidden = job.percent === null;
  if (job.percent !== null) {
    fill.style.width = `${job.percent}%`;
    bar.setAttribute('aria-valuenow', job.percent.toFixed(0));
  }
  setText(text, progressText(job));
}

/** @param {RequestedJobStatus} job */
function progressText({ step, unit, done, total, perSecond, etaSeconds, problem }) {
  const counted = unit === null ? '' : `${count(done)}${total === null ? '' : ` of ${count(total)}`} ${unit}`;
  const speed = perSecond === null ? '' : `${rate(perSecond)}/s`;
  const left = etaSeconds === null ? '' : `${span(etaSeconds)} left`;
  return [step ?? '', counted, speed, left, problem ?? ''].filter((part) => part !== '').join(', ');
}
