/** Search of views, templates and parties by part of their names; choosing one inserts a statement. */
import { byId, make, show } from '../elements.js';
import { count } from '../format.js';
import { post } from './questions.js';
import { filterViews } from './views.js';

/** @typedef {import('ledger-indexer/page').ConsoleRows} ConsoleRows */

const pauseMs = 250;
const shortest = 2;

/** @type {AbortController | undefined} */
let looking;

/** @param {string} explore name of the schema `explore` @param {(statement: string) => void} choose */
export function prepareSearch(explore, choose) {
  const input = /** @type {HTMLInputElement} */ (byId('search'));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause;
  input.addEventListener('input', () => {
    clearTimeout(pause);
    filterViews(input.value.trim());
    pause = setTimeout(() => void look(input.value.trim(), explore, choose), pauseMs);
  });
}

/** @param {string} text @param {string} explore @param {(statement: string) => void} choose */
async function look(text, explore, choose) {
  looking?.abort();
  const mine = new AbortController();
  looking = mine;
  if (text.length < shortest) {
    byId('found').replaceChildren();
    return show('search-state', '');
  }
  /** @type {import('./questions.js').Posted<ConsoleRows>} */
  const { found, failure } = await post('query/search', { text }, mine.signal);
  if (mine.signal.aborted) return;
  const rows = found?.rows ?? [];
  show('search-state', failure ?? (rows.length === 0 ? 'No template and no party has this in its name.' : ''));
  byId('found').replaceChildren(...rows.map(([kind, name, active]) => choice(kind ?? '', name ?? '', active ?? null)));

  /** @param {string} kind @param {string} name @param {string | null} active */
  function choice(kind, name, active) {
    const item = make('li');
    const button = make(
      'button',
      '',
      active === null ? `${kind} ${name}` : `${name} (${count(Number(active))} active)`,
    );
    button.type = 'button';
    button.addEventListener('click', () => choose(statementOf(explore, kind, name)));
    item.append(button);
    return item;
  }
}

/** @param {string} explore @param {string} kind @param {string} name */
function statementOf(explore, kind, name) {
  const literal = `'${name.replaceAll("'", "''")}'`;
  if (kind === 'interface') {
    return `select contract_id, template_fqn, created_at, view
  from ${explore}.interface_views
 where interface_fqn = ${literal} and is_active
 order by "offset" desc limit 100;`;
  }
  const those = kind === 'party' ? `${literal} = any (signatories || observers)` : `template_fqn = ${literal}`;
  return `select contract_id, template_fqn, created_at_offset, created_at, signatories, payload
  from ${explore}.active_contracts
 where ${those}
 order by created_at_offset desc limit 100;`;
}
