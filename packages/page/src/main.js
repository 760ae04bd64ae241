/** Follows the indexer's events and keeps the page up to date. */
import { announce, byId, setText, show, snippet } from './elements.js';
import { clock, count, milliseconds, percent, rate, span, stateWords } from './format.js';
import { prepareOutline } from './outline.js';
import { drawPlot } from './plot.js';
import { showJobs } from './jobs.js';
import { showErrors, showNotFollowed, showProjections, showTemplates, showUnknown, showUpdates } from './tables.js';

/**
 * @typedef {import('ledger-indexer/page').HelloMessage} Hello
 * @typedef {import('ledger-indexer/page').TickMessage} Tick
 * @typedef {import('ledger-indexer/page').Recent} Recent
 * @typedef {Tick['status']} Status
 * @typedef {import('./plot.js').Sample} Sample
 * @typedef {import('./plot.js').Series} Series
 */

/** @type {readonly (Series & { readonly id: string })[]} */
const plots = [
  { id: 'plot-updates', at: 1, name: 'Updates per second', format: rate },
  { id: 'plot-events', at: 2, name: 'Events per second', format: rate },
  { id: 'plot-commit', at: 3, name: 'Time of a commit', format: milliseconds },
  { id: 'plot-lag', at: 4, name: 'Lag', format: span },
];
/** Placeholder for a missing value. */
const none = '–';
const keptSamples = 300;
/** Delay before reconnecting, because a browser whose connection was refused does not reconnect automatically. */
const againMs = 3_000;
/** Messages arrive every second. If none arrives for this long, the connection counts as lost. */
const silentMs = 5_000;
const oldAfterSeconds = 10;
/** States in which the ledger is known to be reachable. */
const following = new Set(['live', 'idle', 'catching_up', 'seeding']);

/** @type {readonly Sample[]} */
let samples = [];
let heardAt = Date.now();
let lost = false;

/** @param {Hello} hello */
function onHello({ guide, mayQuery, samples: earlier }) {
  samples = [...earlier];
  byId('to-query').hidden = !mayQuery;
  byId('guide').hidden = guide === null;
  if (guide === null) return;
  // The snippets are the first prepared queries of the query page.
  const addressOf = (/** @type {number} */ nth) => (mayQuery ? `query#ready/${nth + 1}` : undefined);
  const lines = guide.queries.map((query, nth) => snippet(query, `query ${nth + 1}`, addressOf(nth)));
  byId('snippets').replaceChildren(snippet(guide.connect, 'the command that connects'), ...lines);
  show('password', guide.password);
}

/** @param {Tick} tick */
function onTick({ status, sample, recent }) {
  found();
  const before = samples.at(-1);
  if (sample !== undefined && (before === undefined || sample[0] > before[0])) {
    samples = [...samples.slice(1 - keptSamples), sample];
  }
  showState(status);
  showFacts(status);
  showWork(status.timeShares);
  for (const plot of plots) drawPlot(byId(plot.id), samples, plot);
  if (recent.templates !== null) showTemplates(recent.templates);
  const held = recent.updates !== null && showUpdates(recent.updates);
  show('read-at', held ? 'held while you are here' : ageOf(recent));
  showNotFollowed(status);
  showProjections(status.projections);
  showJobs(status.jobs);
  showUnknown(status.unknown);
  showErrors(status.errors);
  show('about', about(status));
}

/** @param {Status} status */
function showState({ state, delay, remedy }) {
  const { words, tone } = stateWords(state);
  show('state', words);
  show('why', delay.message);
  byId('remedy').hidden = remedy === null;
  show('remedy', `What to do: ${remedy ?? 'nothing'}.`);
  document.body.dataset.tone = tone;
  document.title = `${words} · Ledger Indexer`;
  const held = ['source', 'decode', 'database'].includes(delay.cause) ? `, held up by the ${delay.cause}` : '';
  announce(`State: ${words}${held}.`);
}

/** @param {Status} status */
function showFacts(status) {
  const { checkpoint, seed, catchUp } = status;
  const seeding = status.state === 'seeding';
  // The ledger end is polled every few seconds, so newer updates may be past it.
  const end = status.ledgerEnd === null ? checkpoint : Math.max(status.ledgerEnd, checkpoint ?? 0);
  const old = isOld(status);
  const age = old ? `, ${span(status.ledgerEndAgeSeconds)} ago` : '';
  byId('main').dataset.age = old ? 'old' : 'new';
  showOrHide('checkpoint', count(checkpoint));
  showOrHide('ledger-end', end === null ? none : `${count(end)}${age}`);
  showOrHide('distance', status.offsetsBehind === null ? none : `${count(status.offsetsBehind)}${age}`);
  showOrHide('eta', timeLeft(status));
  showOrHide(
    'seed',
    seed === null
      ? none
      : seeding
        ? `${count(seed.contracts)}, ${rate(status.seedContractsPerSecond)}/s`
        : count(seed.contracts),
  );
  const reached = checkpoint === null || end === null || end === 0 ? 0 : (100 * checkpoint) / end;
  showProgress(seeding ? undefined : (catchUp?.percent ?? reached), timeLeft(status));
}

/** A fact without a value takes no space. @param {string} id @param {string} text */
function showOrHide(id, text) {
  show(id, text);
  const { parentElement: fact } = byId(id);
  if (fact !== null) fact.hidden = text === none;
}

/** @param {Status} status */
function timeLeft(status) {
  const { state, catchUp } = status;
  if (state === 'seeding') return 'not known';
  if (catchUp === null) return none;
  if (isOld(status)) return 'not known';
  if (catchUp.offsetsPerSecond === null) return 'measuring';
  return catchUp.etaSeconds === null ? 'not shrinking' : span(catchUp.etaSeconds);
}

/** Whether the ledger end is out of date, because polls have failed. @param {Status} status */
function isOld({ state, ledgerEndAgeSeconds }) {
  return !following.has(state) && ledgerEndAgeSeconds !== null && ledgerEndAgeSeconds > oldAfterSeconds;
}

/** @param {number | undefined} reached percent @param {string} left */
function showProgress(reached, left) {
  const bar = byId('progress');
  byId('fill').style.width = `${reached ?? 0}%`;
  if (reached === undefined) {
    bar.removeAttribute('aria-valuenow');
    bar.setAttribute('aria-valuetext', 'not known while the active contracts are read');
    return;
  }
  bar.setAttribute('aria-valuenow', reached.toFixed(0));
  const more = left === none ? '' : `, time left: ${left}`;
  bar.setAttribute('aria-valuetext', `${reached.toFixed(1)} %${more}`);
}

/** @param {Status['timeShares']} work */
function showWork(work) {
  byId('work').hidden = work === null || work.source + work.decode + work.database === 0;
  for (const part of /** @type {const} */ (['source', 'decode', 'database'])) {
    byId(`bar-${part}`).style.width = `${100 * (work?.[part] ?? 0)}%`;
    show(`share-${part}`, work === null ? none : percent(work[part]));
  }
}

/** @param {Recent} recent */
function ageOf({ readAt, failure }) {
  if (failure === null) return 'newest first';
  return readAt === null ? `not readable: ${failure}` : `as of ${clock(readAt)}: ${failure}`;
}

/** @param {Status} status */
function about({ version, schema, participantId, startedAt }) {
  const of = participantId === null ? '' : ` of participant ${participantId}`;
  return `Version ${version}, schema ${schema}${of}. Started ${new Date(startedAt).toLocaleString('en-GB')}.`;
}

function found() {
  heardAt = Date.now();
  lost = false;
  document.body.dataset.link = 'good';
}

function lose() {
  if (lost) return;
  lost = true;
  document.body.dataset.link = 'lost';
  document.body.dataset.tone = 'bad';
  document.title = 'No connection · Ledger Indexer';
  show('state', 'No connection');
  const since = clock(heardAt);
  // The last remedy was for another failure.
  byId('remedy').hidden = true;
  setText(
    byId('why'),
    `The indexer has not responded since ${since}. The values below are from then; this page keeps trying.`,
  );
  announce('The connection to the indexer is lost.');
}

function follow() {
  const events = new EventSource('events');
  events.addEventListener('hello', ({ data }) => onHello(JSON.parse(data)));
  events.addEventListener('tick', ({ data }) => onTick(JSON.parse(data)));
  events.addEventListener('error', () => {
    lose();
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, againMs);
  });
}

setInterval(() => {
  if (Date.now() - heardAt > silentMs) lose();
}, 1000);
prepareOutline();
follow();
