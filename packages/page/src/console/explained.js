/**
 * Output of the command `explain` for an id, in a dialog over the page. Its address is part of the page's, so going
 * back closes it.
 */
import { byId, make, setHint, show } from '../elements.js';
import { addressNow, decodedPart } from './address.js';
import { post } from './questions.js';

/** @typedef {import('ledger-indexer/page').ConsoleExplained} ConsoleExplained */

const prefix = '#explain/';

/** @param {string} id */
export function explainLink(id) {
  const link = make('a', '', id.length <= 24 ? id : `${id.slice(0, 10)}…${id.slice(-6)}`);
  link.href = prefix + encodeURIComponent(id);
  setHint(link, id);
  return link;
}

/** @returns {HTMLDialogElement} */
function dialog() {
  return /** @type {HTMLDialogElement} */ (byId('explained'));
}

/** Opens the id in the address, or closes the dialog. */
async function follow() {
  const box = dialog();
  if (!location.hash.startsWith(prefix)) return box.close();
  const id = decodedPart(location.hash.slice(prefix.length));
  if (id === undefined) return box.close();
  box.dataset.id = id;
  show('explained-heading', id.length <= 48 ? id : `${id.slice(0, 24)}…${id.slice(-12)}`);
  show('explained-state', 'Reading.');
  show('explained-text', '');
  if (!box.open) box.showModal();
  /** @type {import('./questions.js').Posted<ConsoleExplained>} */
  const answer = await post('query/explain', { id });
  // The user may have opened another id meanwhile.
  if (box.dataset.id !== id) return;
  show('explained-state', answer.failure ?? '');
  show('explained-text', answer.found?.text ?? '');
}

/** Call it once, after the page has loaded. */
export function prepareExplained() {
  const box = dialog();
  byId('explained-close').addEventListener('click', () => box.close());
  box.addEventListener('close', () => {
    if (location.hash.startsWith(prefix)) history.pushState(null, '', addressNow());
  });
  window.addEventListener('hashchange', () => void follow());
  void follow();
}
