/** Runs the statement in the editor, displays the response, and cancels running queries. */
import { byId, make, setText, show } from '../elements.js';
import { count, milliseconds } from '../format.js';
import { drawChart, followWindow, prepareChart } from './chart.js';
import { prepareExplained } from './explained.js';
import { inWords, post, send } from './questions.js';
import { showRows } from './results.js';
import { prepareSearch } from './search.js';
import { prepareToken } from './token.js';

/**
 * @typedef {import('../../console-messages.ts').ConsoleGuide} ConsoleGuide
 * @typedef {import('../../console-messages.ts').ConsoleRows} ConsoleRows
 * @typedef {import('../../console-messages.ts').ReadyQuery} ReadyQuery
 */

/** @type {AbortController | undefined} */
let running;

/** @returns {HTMLTextAreaElement} */
function editor() {
  return /** @type {HTMLTextAreaElement} */ (byId('statement'));
}

/** @param {string} text @param {'calm' | 'bad'} [tone] */
function tell(text, tone = 'calm') {
  byId('outcome').dataset.tone = tone;
  setText(byId('outcome'), text);
}

/**
 * Runs one query; a running query is cancelled first.
 * @param {(statement: string, signal: AbortSignal) => Promise<void>} work
 */
async function ask(work) {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  tell('Running.');
  setStoppable(true);
  await work(editor().value, mine.signal);
  if (running !== mine) return;
  running = undefined;
  setStoppable(false);
  if (mine.signal.aborted) tell('Stopped.');
}

/** @param {boolean} can */
function setStoppable(can) {
  /** @type {HTMLButtonElement} */ (byId('stop')).disabled = !can;
}

/** Closes the connection, which cancels the statement in the database. */
function stop() {
  running?.abort();
}

/** @param {string} statement @param {AbortSignal} signal */
async function rows(statement, signal) {
  /** @type {import('./questions.js').Posted<ConsoleRows>} */
  const { found, failure } = await post('query', { statement }, signal);
  if (signal.aborted) return;
  if (failure !== undefined) tell(failure, 'bad');
  byId('shown-as').hidden = found === undefined;
  if (found === undefined) return showAs('nothing');
  const number = found.rows.length === 1 ? '1 row' : `${count(found.rows.length)} rows`;
  tell(`${found.complete ? number : `The first ${number}, there are more`}, ${milliseconds(found.milliseconds)}.`);
  showRows(found);
  const canDraw = prepareChart(found);
  const chart = /** @type {HTMLButtonElement} */ (byId('as-chart'));
  chart.disabled = !canDraw;
  chart.title = canDraw ? '' : 'The result has no numeric column';
  showAs(canDraw && chart.getAttribute('aria-pressed') === 'true' ? 'chart' : 'table');
}

/** @param {'table' | 'chart' | 'nothing'} what */
function showAs(what) {
  byId('rows-box').hidden = what !== 'table';
  byId('chart-box').hidden = what !== 'chart';
  if (what === 'nothing') return;
  byId('as-table').setAttribute('aria-pressed', String(what === 'table'));
  byId('as-chart').setAttribute('aria-pressed', String(what === 'chart'));
  if (what === 'chart') drawChart();
}

/** @param {string} statement @param {AbortSignal} signal */
async function exportCsv(statement, signal) {
  try {
    const response = await send('query/csv', { statement }, signal);
    if (!response.ok) return tell(inWords(await response.json()), 'bad');
    const link = make('a');
    link.href = URL.createObjectURL(await response.blob());
    link.download = 'query.csv';
    link.click();
    URL.revokeObjectURL(link.href);
    tell('Exported to query.csv.');
  } catch {
    if (!signal.aborted) tell('The indexer does not respond.', 'bad');
  }
}

/** @param {string} statement */
function choose(statement) {
  editor().value = statement;
  void ask(rows);
}

/**
 * Runs the prepared query whose number is in the address. Addresses contain no statements, because a link on another
 * page could then run any statement.
 * @param {readonly ReadyQuery[]} queries
 */
function runNamed(queries) {
  const number = /^#ready\/(\d+)$/.exec(location.hash)?.[1];
  const named = number === undefined ? undefined : queries[Number(number) - 1];
  if (named !== undefined) choose(named.statement);
}

async function prepare() {
  /** @type {import('./questions.js').Posted<ConsoleGuide>} */
  const { found, failure } = await post('query/guide', {});
  if (found === undefined) return tell(failure ?? '', 'bad');
  show('most-seconds', count(found.maxSeconds));
  const ready = found.queries.map(({ title, statement }) => {
    const item = make('li');
    const button = make('button', '', title);
    button.type = 'button';
    button.title = statement;
    button.addEventListener('click', () => choose(statement));
    item.append(button);
    return item;
  });
  byId('ready').replaceChildren(...ready);
  prepareSearch(found.explore, choose);
  window.addEventListener('hashchange', () => runNamed(found.queries));
  runNamed(found.queries);
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  void ask(rows);
});
byId('stop').addEventListener('click', stop);
byId('export').addEventListener('click', () => void ask(exportCsv));
byId('as-table').addEventListener('click', () => showAs('table'));
byId('as-chart').addEventListener('click', () => showAs('chart'));
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') stop();
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  void ask(rows);
});
followWindow();
prepareExplained();
prepareToken();
void prepare();
