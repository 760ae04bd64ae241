/** What touches the document. Whatever comes from the ledger becomes text, never markup. */

/** An element that page.html has. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no ${id}`);
  return element;
}

/** An element that page.html has inside of another. @param {Element} element @param {string} selector @returns {Element} */
export function inside(element, selector) {
  const found = element.querySelector(selector);
  if (found === null) throw new Error(`the page has no ${selector} in ${element.id}`);
  return found;
}

/**
 * Format characters as `\u202e`: shown as they are, what stands between them has another order, or is not seen, and a name
 * could look like another one. @param {string} text
 */
export function visible(text) {
  return text.replaceAll(/[\p{Cf}\u2028\u2029]/gu, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}

/** Writes only what changes. @param {Element} element @param {string} text */
export function setText(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** What is shown over an element that is pointed at. @param {HTMLElement} element @param {string} text */
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

/** Says it to those who listen to the page; the same words are not said again. @param {string} text */
export function announce(text) {
  show('announced', text);
}

/**
 * A line with a button that copies it and, where the query page answers who looks, a link that runs it there.
 * @param {string} text @param {string} what for those who hear the buttons @param {string} [address] of it on the query page
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

/** Browsers have a clipboard on https and on this machine only; elsewhere the text is selected. @param {string} text @param {HTMLElement} element */
async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(element);
    return false;
  }
}
