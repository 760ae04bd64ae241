/** One update, in a dialog over the page: its tree by names and ids. */
import { byId, make, setHint, setText, show, snippet } from './elements.js';
import { count, templateName } from './format.js';

/**
 * @typedef {import('ledger-indexer/page').UpdateOutline} UpdateOutline
 * @typedef {import('ledger-indexer/page').OutlineNode} OutlineNode
 */

/** Maximum depth of the tree that is indented. */
const mostLevels = 12;

/** @type {Readonly<Record<string, string>>} */
const signs = { created: '+', assigned: '+', archived: '−', unassigned: '−' };

/** @returns {HTMLDialogElement} */
function dialog() {
  return /** @type {HTMLDialogElement} */ (byId('outline'));
}

/** Opens the update at an offset, and closes the open one. @param {number} offset */
export async function openUpdate(offset) {
  const box = dialog();
  box.dataset.offset = String(offset);
  show('outline-heading', `Update ${count(offset)}`);
  show('outline-state', 'Reading.');
  byId('outline-body').hidden = true;
  if (!box.open) box.showModal();
  const answer = await read(offset);
  // The user may have opened another update meanwhile.
  if (box.dataset.offset !== String(offset)) return;
  if (typeof answer === 'string') return show('outline-state', answer);
  show('outline-state', '');
  byId('outline-body').hidden = false;
  write(answer);
}

/** @param {number} offset @returns {Promise<UpdateOutline | string>} the update, or why there is none */
async function read(offset) {
  try {
    const response = await fetch(`update?offset=${offset}`);
    const body = await response.json();
    return response.ok ? body : String(body.error);
  } catch {
    return 'The indexer does not respond.';
  }
}

/** @param {UpdateOutline} update */
function write(update) {
  /** @type {readonly (readonly [string, string | null])[]} */
  const facts = [
    ['Kind', update.kind],
    ['Update id', update.updateId],
    ['Ledger time', update.effectiveAt],
    ['Recorded', update.recordTime],
    ['Stored here', update.indexedAt],
    ['Traffic paid', update.paidTrafficCost === null ? null : count(update.paidTrafficCost)],
    ['Trace', update.traceId],
  ];
  const pairs = facts.flatMap(([name, value]) => (value === null ? [] : [pair(name, value)]));
  byId('outline-facts').replaceChildren(...pairs);
  const more = update.omitted === 0 ? '' : `, ${count(update.omitted)} not shown`;
  show('outline-events', `${count(update.events)}${more}`);
  byId('outline-tree').replaceChildren(...update.nodes.map(nodeItem));
  step('outline-before', 'Before', update.previousOffset);
  step('outline-after', 'After', update.nextOffset);
  const address = byId('to-query').hidden ? undefined : `query#explain/${update.offset}`;
  const command = snippet(`ledger-indexer explain ${update.offset}`, 'the command that explains it', address);
  byId('outline-command').replaceChildren(command);
}

/** @param {string} name @param {string} value */
function pair(name, value) {
  const both = make('div');
  both.append(make('dt', '', name), make('dd', '', value));
  return both;
}

/** @param {OutlineNode} node */
function nodeItem({ depth, event, template, choice, contractId, otherContractId }) {
  const item = make('li');
  item.dataset.event = event;
  item.dataset.depth = String(Math.min(depth, mostLevels));
  const name = template === null ? '' : templateName(template);
  const what = choice === null ? event : event === 'topology' ? choice : `${choice} on`;
  const title = make('span', '', `${what} ${name === '' ? '' : name.entity}`);
  if (template !== null) setHint(title, template);
  item.append(make('span', 'sign', signs[event] ?? '›'), title);
  if (contractId !== null) item.append(idOf(contractId, ''));
  if (otherContractId !== null) item.append(idOf(otherContractId, event === 'created' ? 'in place of ' : 'became '));
  if (depth > mostLevels) item.append(make('span', 'soft', `level ${count(depth)}`));
  return item;
}

/** @param {string} id @param {string} before */
function idOf(id, before) {
  const short = id.length <= 20 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`;
  const shown = make('span', 'soft', `${before}${short}`);
  setHint(shown, id);
  return shown;
}

/** Call it once, after the page has loaded. */
export function prepareOutline() {
  byId('outline-close').addEventListener('click', () => dialog().close());
  for (const id of ['outline-before', 'outline-after']) {
    const button = byId(id);
    button.addEventListener('click', () => void openUpdate(Number(button.dataset.offset)));
  }
}

/** @param {string} id @param {string} name @param {number | null} offset */
function step(id, name, offset) {
  const button = /** @type {HTMLButtonElement} */ (byId(id));
  button.disabled = offset === null;
  button.textContent = offset === null ? `${name}: none` : `${name}: ${count(offset)}`;
  button.dataset.offset = String(offset);
}

/** The offset as a button that opens its update. @param {HTMLElement} cell @param {number} offset */
export function offsetButton(cell, offset) {
  /** @type {HTMLButtonElement | null} */
  const known = cell.querySelector('button');
  const button = known ?? make('button', 'opens');
  if (known === null) {
    button.type = 'button';
    button.addEventListener('click', () => void openUpdate(Number(button.dataset.offset)));
    cell.replaceChildren(button);
  }
  button.dataset.offset = String(offset);
  button.setAttribute('aria-label', `Open update ${count(offset)}`);
  setText(button, count(offset));
}
