/** Runs the statement in the editor, displays the response, and cancels running queries. */
import { byId, make, setText, show } from '../elements.js';
import { count, milliseconds } from '../format.js';
import { keepInAddress, statementInAddress } from './address.js';
import { drawChart, followWindow, prepareChart } from './chart.js';
import { completeWith, prepareCompletion } from './completion.js';
import { editor, fillEditor, prepareEditor } from './editor.js';
import { prepareExplained } from './explained.js';
import { prepareLabels, showLabels } from './labels.js';
import { inWords, post, send } from './questions.js';
import { showRows } from './results.js';
import { prepareSearch } from './search.js';
import { prepareStatements, rememberStatement, showStatements } from './statements.js';
import { prepareToken, requestToken, showCaller } from './token.js';
import { readViews } from './views.js';

/**
 * @typedef {import('ledger-indexer/page').ConsoleGuide} ConsoleGuide
 * @typedef {import('ledger-indexer/page').ConsoleRows} ConsoleRows
 * @typedef {import('ledger-indexer/page').ReadyQuery} ReadyQuery
 */

/** Time without a key after which the address is changed, milliseconds. */
const quietMs = 400;
/** The result is brought into view if it begins below this share of the window. */
const lowestStart = 0.6;

/** @type {AbortController | undefined} */
let running;
let isFollowed = false;

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
  const { value } = editor();
  tell('Running…');
  setStoppable(true);
  isFollowed = isResultBelow();
  followResult();
  keepInAddress(value);
  rememberStatement(value);
  showStatements(fill);
  await work(value, mine.signal);
  if (running !== mine) return;
  running = undefined;
  followResult();
  setStoppable(false);
  if (mine.signal.aborted) tell('Stopped.');
}

function isResultBelow() {
  const { top } = byId('result').getBoundingClientRect();
  return top < 0 || top > lowestStart * innerHeight;
}

/** Brings the result into view. With its rows the page is longer, so it is called again when they have arrived. */
function followResult() {
  if (isFollowed) byId('result').scrollIntoView({ block: 'start' });
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
  if (found === undefined) return showAs('nothing');
  const number = found.rows.length === 1 ? '1 row' : `${count(found.rows.length)} rows`;
  tell(`${found.complete ? number : `The first ${number}, there are more`}, ${milliseconds(found.milliseconds)}.`);
  showRows(found);
  void showLabels(found, signal);
  const canDraw = prepareChart(found);
  byId('shown-as').hidden = !canDraw;
  showAs(canDraw && byId('as-chart').getAttribute('aria-pressed') === 'true' ? 'chart' : 'table');
}

/** @param {'table' | 'chart' | 'nothing'} what */
function showAs(what) {
  byId('rows-box').hidden = what !== 'table';
  byId('chart-box').hidden = what !== 'chart';
  if (what === 'nothing') byId('shown-as').hidden = true;
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
  fillEditor(statement);
  void ask(rows);
}

/** Puts a statement into the editor, without running it. @param {string} statement */
function fill(statement) {
  fillEditor(statement);
  editor().focus();
}

/** A link with a statement fills the editor. A user must run it, because any other page may contain such a link. */
function fillFromAddress() {
  const statement = statementInAddress();
  if (statement === undefined || statement === editor().value) return;
  fillEditor(statement);
  const hidden = /[\p{Cf}\u2028\u2029]/u.test(statement) ? ' It contains invisible characters.' : '';
  tell(`This statement is from the address. It has not run.${hidden}`);
}

/**
 * Runs the prepared query whose number is in the address. Only the number is passed, so such a link runs no other
 * statement.
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
  if (found === undefined) {
    requestToken();
    return tell(failure ?? '', 'bad');
  }
  showCaller(found.caller);
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
  prepareLabels(found.explore);
  prepareSearch(found.explore, choose);
  window.addEventListener('hashchange', () => runNamed(found.queries));
  runNamed(found.queries);
  completeWith(await readViews(choose));
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let quiet;
editor().addEventListener('input', () => {
  clearTimeout(quiet);
  quiet = setTimeout(() => keepInAddress(editor().value), quietMs);
});
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
window.addEventListener('hashchange', fillFromAddress);
followWindow();
prepareEditor();
prepareCompletion();
prepareStatements(fill);
fillFromAddress();
prepareExplained();
prepareToken();
void prepare();
