/** Functions that touch the document. Content from the ledger becomes text, never markup. */

/** Returns an element of page.html. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no ${id}`);
  return element;
}

/** Returns an element inside another one. @param {Element} element @param {string} selector @returns {Element} */
export function inside(element, selector) {
  const found = element.querySelector(selector);
  if (found === null) throw new Error(`the page has no ${selector} in ${element.id}`);
  return found;
}

/**
 * Replaces format characters by escapes such as `\u202e`. Unescaped, they reorder or hide the text around them, so a
 * name could look like another one.
 * @param {string} text
 */
export function visible(text) {
  return text.replaceAll(/[\p{Cf}\u2028\u2029]/gu, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}

/** Writes the text only if it has changed. @param {Element} element @param {string} text */
export function setText(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** Sets the text that appears when the pointer is over an element. @param {HTMLElement} element @param {string} text */
export function setHint(element, text) {
  element.title = visible(text);
}

/** @param {string} id @param {string} text */
export function show(id, text) {
  setText(byId(id), text);
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [className]
 * @param {string} [text]
 */
export function make(tag, className = '', text = '') {
  const element = document.createElement(tag);
  if (className !== '') element.className = className;
  element.textContent = visible(text);
  return element;
}

/** Announces text to screen readers; the same text is not announced twice in a row. @param {string} text */
export function announce(text) {
  show('announced', text);
}

/**
 * A line of text with a button that copies it. If the viewer may use the query page, a link runs the text there.
 * @param {string} text
 * @param {string} what label of the buttons for screen readers
 * @param {string} [address] address of the text on the query page
 */
export function snippet(text, what, address) {
  const line = make('li');
  const code = make('code', '', text);
  const button = make('button', '', 'Copy');
  button.type = 'button';
  button.setAttribute('aria-label', `Copy ${what}`);
  button.addEventListener('click', () => void pressed(button, text, code, what));
  line.append(code, button);
  if (address !== undefined) line.append(runLink(address, what));
  return line;
}

/** @param {string} address @param {string} what */
function runLink(address, what) {
  const link = make('a', 'button', 'Run in /query');
  link.href = address;
  link.setAttribute('aria-label', `Run in /query: ${what}`);
  return link;
}

/** @param {HTMLElement} button @param {string} text @param {HTMLElement} code @param {string} what */
async function pressed(button, text, code, what) {
  const copied = await copy(text, code);
  setText(button, copied ? 'Copied' : 'Press Ctrl C');
  if (copied) announce(`Copied ${what}.`);
  setTimeout(() => setText(button, 'Copy'), 2000);
}

/** The clipboard API works on https and localhost only; otherwise the text is selected. @param {string} text @param {HTMLElement} element */
async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(element);
    return false;
  }
}
