/**
 * List of names below the caret. Focus stays in the editor: arrow keys choose, Tab inserts, Escape closes the list.
 * Enter inserts only after an arrow key, so that it usually begins a new line.
 */
import { byId, make, show } from '../elements.js';
import { caretPlace, editor, insertInEditor } from './editor.js';
import { suggestionsFor } from './suggest.js';

/** @typedef {import('./suggest.js').View} View @typedef {import('./suggest.js').Suggestion} Suggestion */

/** A longer list would hide the buttons below the editor. */
const mostOnNarrow = 3;

/** @type {readonly View[]} */
let knownViews = [];
/** @type {readonly Suggestion[]} */
let suggested = [];
let wordStart = 0;
let chosenAt = 0;
let hasChosen = false;

/** @param {readonly View[]} views */
export function completeWith(views) {
  knownViews = views;
}

/** @param {boolean} isRequested */
function suggest(isRequested) {
  const box = editor();
  if (box.selectionStart !== box.selectionEnd) return closeList();
  const { from, suggestions: all } = suggestionsFor(box.value, box.selectionEnd, knownViews, isRequested);
  const suggestions = matchMedia('(max-width: 560px)').matches ? all.slice(0, mostOnNarrow) : all;
  if (suggestions.length === 0) return closeList();
  [suggested, wordStart, chosenAt, hasChosen] = [suggestions, from, 0, false];
  byId('completions').replaceChildren(...suggestions.map(optionOf));
  openList();
  choosePlace(0);
  const names = suggestions.length === 1 ? '1 name' : `${suggestions.length} names`;
  show('completion-state', `${names}. ${suggestions[0]?.insert ?? ''}. Tab inserts it.`);
}

/** @param {Suggestion} suggestion @param {number} at */
function optionOf({ insert, detail, comment }, at) {
  const item = make('li');
  item.id = `completion-${at}`;
  item.setAttribute('role', 'option');
  item.append(make('span', 'code', insert), make('span', 'soft', detail));
  if (comment !== null) item.append(make('span', 'soft comment', comment));
  // The editor must keep the focus.
  item.addEventListener('pointerdown', (event) => event.preventDefault());
  item.addEventListener('click', () => accept(at));
  return item;
}

function openList() {
  const list = byId('completions');
  list.hidden = false;
  const { left, bottom } = caretPlace(wordStart);
  const room = byId('paint').clientWidth - list.offsetWidth;
  list.style.left = `${Math.max(0, Math.min(left, room))}px`;
  list.style.top = `${bottom + 4}px`;
  editor().setAttribute('aria-controls', 'completions');
}

function closeList() {
  if (suggested.length === 0) return;
  suggested = [];
  byId('completions').hidden = true;
  byId('completions').replaceChildren();
  editor().removeAttribute('aria-controls');
  editor().removeAttribute('aria-activedescendant');
  show('completion-state', '');
}

/** @param {number} at */
function choosePlace(at) {
  chosenAt = (at + suggested.length) % suggested.length;
  byId('completions')
    .querySelectorAll('li')
    .forEach((item, place) => {
      item.setAttribute('aria-selected', String(place === chosenAt));
    });
  editor().setAttribute('aria-activedescendant', `completion-${chosenAt}`);
}

/** @param {number} at */
function accept(at) {
  const insert = suggested[at]?.insert ?? '';
  const from = wordStart;
  closeList();
  insertInEditor(insert, from, editor().selectionEnd);
  closeList();
  show('completion-state', `Inserted ${insert}.`);
}

/** @param {KeyboardEvent} event @returns {boolean} whether the list has used the key */
function useKey({ key, ctrlKey, metaKey, shiftKey, altKey }) {
  if (key === ' ' && ctrlKey) suggest(true);
  else if (suggested.length === 0 || ctrlKey || metaKey || altKey) return false;
  else if (key === 'ArrowDown' || key === 'ArrowUp') {
    hasChosen = true;
    choosePlace(chosenAt + (key === 'ArrowDown' ? 1 : -1));
  } else if ((key === 'Tab' && !shiftKey) || (key === 'Enter' && hasChosen)) accept(chosenAt);
  else if (key === 'Escape') closeList();
  else return false;
  return true;
}

/** Call it once, after the page has loaded. */
export function prepareCompletion() {
  const box = editor();
  box.addEventListener('keydown', (event) => {
    if (!useKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener('input', (event) => {
    // Texts that were pasted or filled in need no names.
    if (event instanceof InputEvent && event.inputType !== 'insertFromPaste') suggest(false);
    else closeList();
  });
  for (const kind of ['blur', 'click']) box.addEventListener(kind, closeList);
  box.addEventListener('keyup', ({ key }) => {
    if (['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(key)) closeList();
  });
}
