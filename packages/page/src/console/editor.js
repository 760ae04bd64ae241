/**
 * The editor: a text area with transparent text above a layer that has the same text in colors. Both have the same
 * size, so neither scrolls. The layer also knows where the caret is.
 */
import { byId } from '../elements.js';
import { wordsOf } from './words.js';

/** Longer statements have no colors, because each key would take too long. Characters. */
const mostPainted = 20_000;

/** @returns {HTMLTextAreaElement} */
export function editor() {
  return /** @type {HTMLTextAreaElement} */ (byId('statement'));
}

/** Replaces the statement. Undo works as after typing. @param {string} text */
export function fillEditor(text) {
  editor().value = text;
  editor().dispatchEvent(new Event('input'));
}

/** Inserts a text in place of a part of the statement, and sets the caret after it. @param {string} text @param {number} [from] @param {number} [to] */
export function insertInEditor(text, from = editor().selectionStart, to = editor().selectionEnd) {
  const box = editor();
  box.focus();
  box.setRangeText(text, from, to, 'end');
  box.dispatchEvent(new Event('input'));
}

function paint() {
  const { value } = editor();
  const words = value.length <= mostPainted ? wordsOf(value) : [{ kind: 'other', text: value }];
  const parts = words.map(({ kind, text }) => {
    if (kind === 'other' || kind === 'name') return text;
    // Not the function of elements.js, because the layer must have the same characters as the text area.
    const span = document.createElement('span');
    span.className = `sql-${kind}`;
    span.textContent = text;
    return span;
  });
  // A last empty line has no height without a character.
  byId('paint').replaceChildren(...parts, '\u200b');
}

/** Position of the caret, in pixels from the top left corner of the layer. @param {number} caret characters before it */
export function caretPlace(caret) {
  const layer = byId('paint');
  const { left, top } = layer.getBoundingClientRect();
  const texts = document.createTreeWalker(layer, NodeFilter.SHOW_TEXT);
  let rest = caret;
  while (texts.nextNode()) {
    const { length } = /** @type {Text} */ (texts.currentNode);
    if (rest <= length) break;
    rest -= length;
  }
  const range = document.createRange();
  range.setStart(texts.currentNode, Math.min(rest, texts.currentNode.textContent?.length ?? 0));
  const place = range.getBoundingClientRect();
  return { left: place.left - left, bottom: place.bottom - top };
}

/** Call it once, after the page has loaded. */
export function prepareEditor() {
  editor().addEventListener('input', paint);
  paint();
}
