/** Suggests names of schemas, views and columns for the word before the caret. Pure. */
import { endsInText, isKeyword, wordsOf } from './words.js';

/**
 * Names are quoted where SQL requires it.
 *
 * @typedef {{ readonly name: string, readonly type: string, readonly comment: string | null }} ViewColumn
 * @typedef {{ readonly schema: string, readonly name: string, readonly comment: string | null, readonly columns: readonly ViewColumn[] }} View
 * @typedef {{ readonly insert: string, readonly detail: string, readonly comment: string | null }} Suggestion
 */

const mostSuggestions = 8;
/** Characters after which names are suggested without a request. */
const leastTyped = 2;

/**
 * @param {string} statement
 * @param {number} caret
 * @param {readonly View[]} views
 * @param {boolean} isRequested whether the user asked for names, so that no character needs to be typed first
 * @returns {{ readonly from: number, readonly suggestions: readonly Suggestion[] }} where the word begins, and its suggestions, the best first
 */
export function suggestionsFor(statement, caret, views, isRequested) {
  const before = statement.slice(0, caret);
  const [, owner, typed = ''] = /(?:([\w$]+|"[^"]*")\.)?("?[\w$]*)$/.exec(before) ?? [];
  const from = caret - typed.length;
  const isExpected = isRequested || owner !== undefined || (typed.length >= leastTyped && !isKeyword(typed));
  if (!isExpected || endsInText(before)) return { from, suggestions: [] };
  const others = `${statement.slice(0, from)} ${statement.slice(caret)}`;
  const named = viewsIn(others, views);
  const found = owner === undefined ? anyName(views, named) : namesIn(owner, views, named);
  const ranked = found.flatMap((entry) => {
    const rank = rankOf(entry.insert.toLowerCase(), typed.toLowerCase());
    return rank === undefined ? [] : [{ entry, rank }];
  });
  const sorted = ranked.toSorted((one, other) => one.rank - other.rank).map(({ entry }) => entry);
  const distinct = sorted.filter(({ insert }, at) => sorted.findIndex((other) => other.insert === insert) === at);
  const isComplete = distinct[0]?.insert === typed && !isRequested;
  return { from, suggestions: isComplete ? [] : distinct.slice(0, mostSuggestions) };
}

/** The views that a statement names, with the aliases of each. @param {string} statement @param {readonly View[]} views */
function viewsIn(statement, views) {
  const words = wordsOf(statement).filter(
    ({ kind, text }) => kind !== 'comment' && kind !== 'string' && text.trim() !== '',
  );
  const texts = words.map(({ text }) => text.toLowerCase());
  return views.flatMap((view) => {
    const places = texts.flatMap((text, at) => {
      if (text !== view.name.toLowerCase()) return [];
      return texts[at - 1] !== '.' || texts[at - 2] === view.schema.toLowerCase() ? [at] : [];
    });
    if (places.length === 0) return [];
    const aliases = places.flatMap((at) => {
      const next = texts[at + 1] === 'as' ? at + 2 : at + 1;
      const alias = texts[next];
      return alias !== undefined && /^["a-z_]/.test(alias) && !isKeyword(alias) ? [alias] : [];
    });
    return [{ view, aliases: [view.name.toLowerCase(), ...aliases] }];
  });
}

/** @param {readonly View[]} views @param {ReturnType<typeof viewsIn>} named */
function anyName(views, named) {
  return [...named.flatMap(({ view }) => columnNames(view)), ...views.map(qualifiedName)];
}

/** Names after `owner.`: of a schema, a view or an alias. @param {string} owner @param {readonly View[]} views @param {ReturnType<typeof viewsIn>} named */
function namesIn(owner, views, named) {
  const lower = owner.toLowerCase();
  const ofAlias = named.filter(({ aliases }) => aliases.includes(lower)).flatMap(({ view }) => columnNames(view));
  const ofSchema = views
    .filter(({ schema }) => schema.toLowerCase() === lower)
    .map((view) => ({ ...qualifiedName(view), insert: view.name }));
  return [...ofAlias, ...ofSchema];
}

/** @param {View} view @returns {Suggestion} */
function qualifiedName({ schema, name, comment, columns }) {
  return { insert: `${schema}.${name}`, detail: `${columns.length} columns`, comment };
}

/** @param {View} view @returns {readonly Suggestion[]} */
function columnNames({ columns }) {
  return columns.map(({ name, type, comment }) => ({ insert: name, detail: type, comment }));
}

/** 0 if a name begins with the text, 1 if a part of it does, 2 if it contains the text. @param {string} name @param {string} typed */
function rankOf(name, typed) {
  const plain = name.replaceAll('"', '');
  const text = typed.replaceAll('"', '');
  if (plain.startsWith(text)) return 0;
  if (plain.split(/[._]+/).some((part) => part.startsWith(text)) || plain.includes(`.${text}`)) return 1;
  return text.length > 1 && plain.includes(text) ? 2 : undefined;
}
