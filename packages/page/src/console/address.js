/**
 * The statement in the address of the page, after the number sign, which browsers never send. A link with a statement
 * only fills the editor, because a link on another page must not run a statement.
 */

const statementPrefix = '#sql/';
/** Maximum number of characters of an address that other programs accept in a link. */
const longestAddress = 16_000;

let keptStatement = '';

/** Whether a text contains something in the form of a reader token or of a JSON Web Token. @param {string} text */
export function holdsToken(text) {
  return /lir_[\w-]{40}|eyJ[\w-]{5,}\.[\w-]+\.[\w-]*/.test(text);
}

/** The address of the page with the statement, or without it if it is empty, too long, or contains a token. */
export function addressNow() {
  const hash = `${statementPrefix}${encodeURIComponent(keptStatement.toWellFormed?.() ?? '')}`;
  const isKept = keptStatement.trim() !== '' && hash.length <= longestAddress && !holdsToken(keptStatement);
  return location.pathname + location.search + (isKept ? hash : '');
}

/** Replaces the statement in the address, without a new entry in the history of the tab. @param {string} statement */
export function keepInAddress(statement) {
  keptStatement = statement;
  // The address of an open explanation is replaced when it is closed.
  if (location.hash.startsWith('#explain/')) return;
  try {
    history.replaceState(null, '', addressNow());
  } catch {
    // Browsers limit the number of changes in a time. The next change contains the whole statement.
  }
}

/** The statement in the address; undefined if there is none. */
export function statementInAddress() {
  if (!location.hash.startsWith(statementPrefix)) return undefined;
  return decodedPart(location.hash.slice(statementPrefix.length));
}

/** Undefined if the text was not encoded for an address. @param {string} text */
export function decodedPart(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
