/**
 * Identifies the sender of requests: this machine, or a reader token. The token is kept only for this tab, until it is
 * closed. The policy of the page allows no script but ours, and no data to any server but the indexer.
 */
import { byId, setText } from '../elements.js';

const stored = 'token';

/** @returns {Record<string, string>} headers of a question */
export function whoAsks() {
  const token = sessionStorage.getItem(stored);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/**
 * Reloads the page, because results of one user must not remain visible to another.
 * @param {string | undefined} token
 */
function askAs(token) {
  if (token === undefined) sessionStorage.removeItem(stored);
  else sessionStorage.setItem(stored, token);
  location.reload();
}

/** Call it once, after the page has loaded. */
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
