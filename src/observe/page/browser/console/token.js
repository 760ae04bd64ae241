/**
 * Who asks: this machine, or whoever has a token. It is kept for this tab alone, until that is closed; the policy of the page runs no
 * script but ours, and sends nothing to anybody but the indexer.
 */
import { byId, setText } from '../elements.js';

const stored = 'token';

/** @returns {Record<string, string>} headers of a question */
export function whoAsks() {
  const token = sessionStorage.getItem(stored);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** What was shown to one is not left there for another: the page begins anew. @param {string | undefined} token */
function askAs(token) {
  if (token === undefined) sessionStorage.removeItem(stored);
  else sessionStorage.setItem(stored, token);
  location.reload();
}

/** Once, when the page is there. */
export function prepareToken() {
  const isShown = sessionStorage.getItem(stored) !== null;
  const field = /** @type {HTMLInputElement} */ (byId('token'));
  setText(byId('asks-as'), isShown ? 'Asking with a token.' : 'Asking as this machine.');
  byId('forget').hidden = !isShown;
  byId('forget').addEventListener('click', () => askAs(undefined));
  byId('who').addEventListener('submit', (event) => {
    event.preventDefault();
    const token = field.value.trim();
    if (/^lir_[\w-]{43}$/.test(token)) askAs(token);
    else setText(byId('asks-as'), 'This is no token: one has lir_ and 43 characters.');
  });
}
