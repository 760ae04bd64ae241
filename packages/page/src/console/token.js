/**
 * Identifies the sender of requests: this machine, or a token. The token is kept only for this tab, until it is closed.
 * The policy of the page allows no script but ours, and no data to any server but the indexer.
 */
import { byId, setText, show } from '../elements.js';

const stored = 'token';
/** The server refuses longer headers. Characters. */
const longestToken = 7_000;

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

/** Whether the server accepts tokens of the participant; it always accepts reader tokens. */
function takesNodeTokens() {
  return document.body.dataset.tokens?.includes('participant') === true;
}

/** The reason why the server would refuse the text; undefined if it may be a token. @param {string} text */
function tokenProblem(text) {
  if (/^lir_[\w-]{43}$/.test(text)) return undefined;
  const isNodeToken = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);
  if (!takesNodeTokens()) {
    return isNodeToken
      ? 'Tokens of the participant are turned off here (INDEXER_NODE_TOKENS). Enter a reader token.'
      : 'Not a token: expected lir_ and 43 characters.';
  }
  if (!isNodeToken) return 'Not a token: expected lir_ and 43 characters, or a JSON Web Token (eyJ…).';
  if (text.length > longestToken)
    return `The token is longer than ${longestToken} characters, which the server refuses.`;
  const expiry = expiryOf(text);
  return expiry !== undefined && expiry <= Date.now() ? 'This token has expired.' : undefined;
}

/** Expiry of a JSON Web Token, milliseconds since 1970; undefined if it cannot be read. @param {string} token */
function expiryOf(token) {
  try {
    const { exp } = JSON.parse(atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')));
    return typeof exp === 'number' ? 1000 * exp : undefined;
  } catch {
    return undefined;
  }
}

/** Removes a token of the participant that has expired. @returns whether it was removed */
function dropExpired() {
  const token = sessionStorage.getItem(stored);
  const expiry = token === null ? undefined : expiryOf(token);
  if (expiry === undefined || expiry > Date.now()) return false;
  sessionStorage.removeItem(stored);
  return true;
}

/** @param {import('ledger-indexer/page').ConsoleCallerName} caller */
export function showCaller(caller) {
  if (caller.kind === 'machine') return show('asks-as', 'Querying as this machine');
  show('asks-as', `Querying as ${caller.kind} ${caller.name}${caller.kind === 'user' ? ' of the participant' : ''}`);
}

/** Opens the token card, because the server wants a token, or another one. */
export function requestToken() {
  /** @type {HTMLDetailsElement} */ (byId('who-card')).open = true;
}

/** Call it once, after the page has loaded. */
export function prepareToken() {
  if (dropExpired()) {
    requestToken();
    show('token-state', 'The token has expired and was forgotten.');
  }
  const isShown = sessionStorage.getItem(stored) !== null;
  const field = /** @type {HTMLInputElement} */ (byId('token'));
  const kinds = takesNodeTokens()
    ? 'Reader token (lir_…), or token of the participant (a JSON Web Token)'
    : 'Reader token';
  show('token-kinds', kinds);
  if (isShown) show('asks-as', 'Querying with a token');
  byId('forget').hidden = !isShown;
  byId('forget').addEventListener('click', () => askAs(undefined));
  byId('who').addEventListener('submit', (event) => {
    event.preventDefault();
    const token = field.value.trim().replace(/^bearer\s+/i, '');
    const problem = tokenProblem(token);
    if (problem === undefined) askAs(token);
    else setText(byId('token-state'), problem);
  });
}
