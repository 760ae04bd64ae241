/**
 * Identity of the requests: this machine, or a reader token. The token is kept for this tab only, until it is closed; the policy of the page runs no
 * script but ours, and sends data to no server but the indexer.
 */
import { byId, setText } from '../elements.js';

const stored = 'token';

/** @returns {Record<string, string>} headers of a question */
export function whoAsks() {
  const token = sessionStorage.getItem(stored);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** Results of one user must not stay visible to another: reloads the page. @param {string | undefined} token */
function askAs(token) {
  if (token === undefined) sessionStorage.removeItem(stored);
  else sessionStorage.setItem(stored, token);
  location.reload();
}

/** To be called once, after the page has loaded. */
export function prepareToken() {
  const isShown = sessionStorage.getItem(stored) !== null;
  const field = /** @type {HTMLInputElement} */ (byId('token'));
  setText(byId('asks-as'), isShown ? 'Querying with a token.' : 'Querying as this machine.');
  byId('forget').hidden = !isShown;
  byId('forget').addEventListener('click', () => askAs(undefined));
  byId('who').addEventListener('submit', (event) => {
    event.preventDefault();
    const token = field.value.trim();
    if (/^lir_[\w-]{43}$/.test(token)) askAs(token);
    else setText(byId('asks-as'), 'Not a token: expected lir_ and 43 characters.');
  });
}
