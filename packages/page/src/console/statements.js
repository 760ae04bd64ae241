/** History of statements, in the storage of this browser. It contains no results and no tokens. */
import { byId, make, setHint, show } from '../elements.js';
import { count } from '../format.js';
import { holdsToken } from './address.js';

/** Each path has its own history, because several indexers may have the same host name. */
const historyKey = `ledger-indexer statements ${location.pathname}`;
const mostStatements = 50;
const longestStatement = 10_000;

/** The newest first. @returns {readonly string[]} */
function earlierStatements() {
  try {
    const kept = JSON.parse(localStorage.getItem(historyKey) ?? '[]');
    return Array.isArray(kept) ? kept.filter((entry) => typeof entry === 'string').slice(0, mostStatements) : [];
  } catch {
    return [];
  }
}

/** Adds a statement, or moves it to the top. @param {string} statement */
export function rememberStatement(statement) {
  const text = statement.trim();
  if (text === '' || text.length > longestStatement || holdsToken(text)) return;
  const others = earlierStatements().filter((earlier) => onOneLine(earlier) !== onOneLine(text));
  try {
    localStorage.setItem(historyKey, JSON.stringify([text, ...others].slice(0, mostStatements)));
  } catch {
    // The storage is full, or the user has turned it off.
  }
}

/** @param {string} statement */
function onOneLine(statement) {
  return statement.replaceAll(/\s+/g, ' ').trim();
}

/** @param {(statement: string) => void} fill */
export function showStatements(fill) {
  const statements = earlierStatements();
  byId('history-card').hidden = statements.length === 0;
  show('history-count', count(statements.length));
  byId('statements').replaceChildren(
    ...statements.map((statement) => {
      const item = make('li');
      const button = make('button');
      button.append(make('span', '', onOneLine(statement)));
      button.type = 'button';
      setHint(button, statement);
      button.addEventListener('click', () => fill(statement));
      item.append(button);
      return item;
    }),
  );
}

/** Call it once, after the page has loaded. @param {(statement: string) => void} fill */
export function prepareStatements(fill) {
  showStatements(fill);
  byId('clear-history').addEventListener('click', () => {
    localStorage.removeItem(historyKey);
    showStatements(fill);
  });
  // Another tab has changed it.
  window.addEventListener('storage', ({ key }) => {
    if (key === historyKey || key === null) showStatements(fill);
  });
}
